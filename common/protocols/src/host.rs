//! The host in what a client calls a server: an address, or a name alone.
//! A text comes in, the host in comparison form goes out: lower case, and without the port 443 of https.
//! Pure. Settings name the hosts of a provider in this form.

/// Finds the host in an address, of https or http, or in a name alone; `None` when there is none.
#[must_use]
pub(crate) fn comparison_form(server: &str) -> Option<String> {
    let server = server.trim();
    let bare = match server.split_once("://") {
        // What stands further behind, in a path or a query, is no beginning of an address.
        Some((scheme, rest)) if !scheme.contains(OF_A_PATH) => {
            Some(rest).filter(|_| ["https", "http"].iter().any(|known| scheme.eq_ignore_ascii_case(known)))?
        }
        _ => server,
    };
    of_name(bare.split(OF_A_PATH).next()?)
}

/// Takes a name alone, with its port at most. Git decodes what an address has in the place of a host, so that there may be
/// anything in it: what is more than a name is no host, and no part of it is one.
#[must_use]
pub(crate) fn of_name(name: &str) -> Option<String> {
    let host = name.to_ascii_lowercase();
    let host = host.strip_suffix(":443").unwrap_or(&host);
    let can_be = |character: char| character.is_alphanumeric() || ".-_:[]".contains(character);
    (!host.is_empty() && host.chars().all(can_be)).then(|| host.to_owned())
}

const OF_A_PATH: [char; 3] = ['/', '?', '#'];

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

    #[test]
    fn no_part_of_what_is_more_than_a_name_is_a_host() {
        for text in [
            "good.example/.evil.example",
            "good.example?.evil.example",
            "good.example#.evil.example",
            "evil.example://good.example",
            "evil.example\\@good.example",
            "user@good.example",
            "good.example ",
            "good.example%2f.evil.example",
            "good.example\nhost=evil.example",
            "good.example\0",
        ] {
            assert_eq!(of_name(text), None, "{text}");
        }
        assert_eq!(of_name("Good.Example:443").as_deref(), Some("good.example"));
        for text in ["evil.example://good.example", "user@good.example", "https://a b/", "https://evil\\@good.example"]
        {
            assert_eq!(comparison_form(text), None, "{text}");
        }
        // A sign that Unicode takes for a k is not one to DNS.
        assert_ne!(of_name("\u{212a}.example").as_deref(), Some("k.example"));
        let path = comparison_form("evil.example/x://good.example");
        assert_eq!(path.as_deref(), Some("evil.example"));
    }
}
