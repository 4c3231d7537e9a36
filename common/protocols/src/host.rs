//! The host in what a client calls a server: an address, or a name alone.
//! A text comes in, the host in comparison form goes out: lower case, and without the port 443 of https.
//! Pure. Settings name the hosts of a provider in this form.

/// Finds the host; `None` when there is none.
#[must_use]
pub(crate) fn comparison_form(server: &str) -> Option<String> {
    let server = server.trim();
    let bare = server.split_once("://").map_or(server, |(_, rest)| rest);
    let host = bare.split(['/', '?', '#']).next()?.to_ascii_lowercase();
    let host = host.strip_suffix(":443").unwrap_or(&host);
    (!host.is_empty()).then(|| host.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_say_a_host_is_one() {
        for text in [
            "vault.corp.example",
            "Vault.Corp.Example:443",
            "https://vault.corp.example/",
            "HTTPS://VAULT.corp.example:443/v2/?a=b",
            " https://vault.corp.example\n",
            "http://vault.corp.example/x",
            "vault.corp.example/v1/",
        ] {
            assert_eq!(comparison_form(text).as_deref(), Some("vault.corp.example"), "{text}");
        }
        assert_eq!(comparison_form("https://[::1]:8200/").as_deref(), Some("[::1]:8200"));
        assert_eq!(comparison_form("registry.example:4430").as_deref(), Some("registry.example:4430"));
        for text in ["", "https://", "https:///x", " ", "/"] {
            assert_eq!(comparison_form(text), None, "{text}");
        }
    }
}
