//! What is still missing in the settings, with an example that is ready to be filled in.
//! What the settings say about a host comes in, lines for people go out.
//! Touches nothing.

use std::path::Path;

use credmint_vocabulary::Hostname;

use super::host_settings::HostSettings;

/// Says what to do next.
pub(crate) fn next(host: &Hostname, settings: &HostSettings, main: &Path) -> Vec<String> {
    let next = format!("Next: credmint explain {host}");
    match &settings.mistake {
        _ if settings.complete => vec![next],
        Some(mistake) if settings.issuer.is_some() => {
            let hint = mistake.hint().map(|hint| format!("  hint: {hint}"));
            let wrong = format!("The settings cannot be used yet: {mistake}");
            std::iter::once(wrong).chain(hint).chain([next]).collect()
        }
        _ => {
            let missing = format!("Still missing in {}:", main.display());
            let example_of = "who asks, and who grants. For example:".to_owned();
            [missing, example_of, String::new()].into_iter().chain(example(host)).chain([String::new(), next]).collect()
        }
    }
}

fn example(host: &Hostname) -> impl Iterator<Item = String> {
    let host = format!("[host.\"{host}\"]");
    EXAMPLE.lines().map(str::to_owned).chain([String::new(), host]).chain(HOST.lines().map(str::to_owned)).map(indent)
}

fn indent(line: String) -> String {
    if line.is_empty() { line } else { format!("    {line}") }
}

const EXAMPLE: &str = r#"[identity.job]
kind = "env"             # or file, kubernetes, command, client-credentials;
                         # a person who signs in: oidc, vault-oidc; a job: coder,
                         # gitlab, hcp-terraform, spacelift, env0, circleci,
                         # github-actions, azure-devops, buildkite
variable = "WORKLOAD_TOKEN"

[issuer.registry-cert]
kind = "vault-pki"       # or est, step-ca, offline, local-ca; for a token:
                         # oidc, token-exchange, vault-token, vault-secret
address = "https://vault.corp.example:8200"
auth = { method = "jwt", role = "terraform" }
role = "registry-client"
common_name = "{email}"  # from the claims of the identity's token
"#;

const HOST: &str = r#"identity = ["job"]       # in order: the first that has an answer
issuer = "registry-cert"
# ca = "/path/to/ca.pem" # if the registry's own CA is a private one
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_one_that_the_settings_accept() {
        let host = Hostname::from_comparison_form("registry.corp.example").expect("a hostname");
        let text: Vec<String> = example(&host).collect();
        let settings = credmint_settings::read(&[("example".into(), text.join("\n"))]).expect("accepted");
        assert!(settings.host_route(&host).is_some());
    }

    #[test]
    fn what_is_missing_is_said_with_the_next_command() {
        let host = Hostname::from_comparison_form("registry.corp.example").expect("a hostname");
        let settings = HostSettings::of(&host, &[]).expect("no settings");
        let lines = next(&host, &settings, Path::new("/home/me/.config/credmint/config.toml"));
        assert!(lines[0].starts_with("Still missing in /home/me/.config/credmint/config.toml"));
        assert_eq!(lines.last().map(String::as_str), Some("Next: credmint explain registry.corp.example"));
    }
}
