//! What hides the helper: Terraform asks it last.
//! A hostname and the places of a tool come in, notes for people go out.
//! Reads only. Terraform `CredentialsSource`: `TF_TOKEN_…`, then `credentials` blocks, then the helper.

use credmint_local_machine::environment;
use credmint_vocabulary::{Failure, Hostname};

use super::cli_configuration::shadow;
use super::configuration_file::{Places, read};

/// Lists what Terraform would use in place of the helper.
pub(crate) fn notes(host: &Hostname, places: &Places) -> Result<Vec<String>, Failure> {
    let mut notes = Vec::new();
    let variable = variable(host);
    if environment::read(&variable).is_some() {
        notes.push(format!("{variable} is set: as long as it is, Terraform uses that and does not ask credmint"));
    }
    for path in std::iter::once(places.configuration.clone()).chain(places.further()) {
        if let Some(line) = read(&path)?.and_then(|text| shadow(&text, host)) {
            let at = format!("{}:{line}", path.display());
            notes.push(format!(
                "{at} has a `credentials` block for {host}: Terraform uses that and does not ask credmint"
            ));
        }
    }
    if has_login(host, places)? {
        notes.push(format!("`terraform login` stored a token for {host}; `terraform logout {host}` removes it"));
    }
    Ok(notes)
}

/// Gives the variable by which Terraform takes a token for a host before it looks elsewhere.
pub(crate) fn variable(host: &Hostname) -> String {
    format!("TF_TOKEN_{}", host.as_str().replace('-', "__").replace('.', "_"))
}

fn has_login(host: &Hostname, places: &Places) -> Result<bool, Failure> {
    let text = if places.named { None } else { read(&places.directory.join("credentials.tfrc.json"))? };
    let object: Option<serde_json::Value> = text.and_then(|text| serde_json::from_str(&text).ok());
    Ok(object.is_some_and(|object| object.get("credentials").and_then(|all| all.get(host.as_str())).is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_is_spelled_as_terraform_does() {
        let host = Hostname::from_comparison_form("my-registry.corp.example").expect("a hostname");
        assert_eq!(variable(&host), "TF_TOKEN_my__registry_corp_example");
    }
}
