//! A hostname as people type it becomes one in comparison form, or a failure that says how it is written.
//! Text comes in, a [`Hostname`] and perhaps a note on what was changed go out.
//! Touches nothing. Only `credmint` is this lenient: the helpers take comparison form and nothing else.

use credmint_vocabulary::{Failure, FailureKind, Hostname, HostnameError, RouteName};

/// A hostname, and what had to be done to it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PeopleHost {
    /// In comparison form.
    pub(crate) hostname: Hostname,
    /// What was changed, for the person to see.
    pub(crate) note: Option<String>,
}

/// Reads a hostname as people type it: scheme, slash at the end, upper case and `:443` are forgiven.
pub(crate) fn read(text: &str) -> Result<PeopleHost, Failure> {
    let bare = strip(text.trim());
    let name = bare.to_ascii_lowercase();
    let hostname = Hostname::from_comparison_form(&name).map_err(|error| refuse(text, &error))?;
    let note = (name != text).then(|| format!("{} is taken as {name}", text.trim()));
    Ok(PeopleHost { hostname, note })
}

/// Reads `provider/NAME` as it is, and a hostname as people type it.
pub(crate) fn read_route(text: &str) -> Result<(RouteName, Option<String>), Failure> {
    if text.starts_with("provider/") {
        let name = RouteName::from_text(text).map_err(|error| {
            Failure::new(FailureKind::Usage, error.to_string()).hint("provider/NAME, for a table [provider.NAME]")
        })?;
        return Ok((name, None));
    }
    read(text).map(|host| (host.hostname.into(), host.note))
}

fn strip(text: &str) -> &str {
    let scheme = text.get(..8).filter(|start| start.eq_ignore_ascii_case("https://"));
    let text = scheme.map_or(text, |scheme| text.get(scheme.len()..).unwrap_or_default());
    let text = text.strip_suffix('/').unwrap_or(text);
    text.strip_suffix(":443").unwrap_or(text)
}

fn refuse(text: &str, error: &HostnameError) -> Failure {
    let hint = match error {
        HostnameError::Unicode => {
            "write it in Punycode, the form that Terraform gives to helpers, for example xn--caf-dma.example"
        }
        HostnameError::Url => "write the hostname alone; of the schemes, only https:// may stand before it",
        HostnameError::Path => "the hostname alone, as it stands before the first slash of a module address",
        _ => "the hostname as it stands in a module or provider address, for example registry.corp.example",
    };
    Failure::new(FailureKind::Usage, format!("`{text}`: {error}")).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Result<(String, bool), Failure> {
        read(text).map(|host| (host.hostname.to_string(), host.note.is_some()))
    }

    #[test]
    fn what_people_type_is_taken_in_comparison_form() {
        assert_eq!(name("registry.corp.example"), Ok(("registry.corp.example".into(), false)));
        assert_eq!(name("Registry.Corp.Example:443"), Ok(("registry.corp.example".into(), true)));
        assert_eq!(name("HTTPS://registry.corp.example/"), Ok(("registry.corp.example".into(), true)));
        assert_eq!(name("registry.corp.example:8443"), Ok(("registry.corp.example:8443".into(), false)));
    }

    #[test]
    fn what_is_no_hostname_is_refused_with_the_way_to_write_it() {
        let hint = |text: &str| read(text).expect_err("refused").hint.expect("hint");
        assert!(hint("café.example").contains("Punycode"));
        assert!(hint("http://a.example").contains("https://"));
        assert!(hint("a.example/v1/modules").contains("alone"));
        assert!(read("a\x1bb").expect_err("refused").what.contains("control character"));
    }
}
