//! Names against patterns, as the engine compares them.
//! Texts come in, yes or no goes out.
//! Touches nothing. `*` stands for any text, dots included.

use std::net::IpAddr;

/// Tells whether a text fits a pattern with `*` in it.
pub(super) fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

/// Tells whether a name could be a host's, or a domain's. Letters outside ASCII are left to the server's IDNA.
pub(super) fn is_hostname(name: &str) -> bool {
    let fits = |label: &str| {
        let inner = |c: char| c.is_alphanumeric() || c == '-';
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(inner)
            && label.len() < 64
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    name.len() < 254 && name.split('.').all(fits)
}

/// Tells whether the first label of a name with `*` is a sound one: `*`, `a*`, `*a` or `a*b`.
pub(super) fn is_wildcard_label(label: &str) -> bool {
    let rest = label.replacen('*', "", 1);
    label.contains('*') && (rest.is_empty() || is_hostname(&rest))
}

/// Tells whether an address lies in a network like `10.0.0.0/8`; `None` if that is none.
pub(super) fn is_in(network: &str, address: IpAddr) -> Option<bool> {
    let (base, bits) = network.split_once('/')?;
    let bits: u32 = bits.parse().ok()?;
    match (base.parse().ok()?, address) {
        (IpAddr::V4(base), IpAddr::V4(address)) if bits <= 32 => {
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
            Some(u32::from(base) & mask == u32::from(address) & mask)
        }
        (IpAddr::V6(base), IpAddr::V6(address)) if bits <= 128 => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            Some(u128::from(base) & mask == u128::from(address) & mask)
        }
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, text, fits) in [
            ("*", "", true),
            ("spiffe://corp/*", "spiffe://corp/a/b", true),
            ("spiffe://corp/*", "spiffe://evil/a", false),
            ("a*c*e", "abcde", true),
            ("a*c", "abcd", false),
            ("ab", "ab", true),
            ("ab", "abc", false),
            ("a*a", "a", false),
        ] {
            assert_eq!(glob(pattern, text), fits, "{pattern} {text}");
        }
    }

    #[test]
    fn hostnames_and_networks() {
        assert!(is_hostname("build-07.corp.example") && is_hostname("a.") && is_hostname("café.example"));
        assert!(!is_hostname("") && !is_hostname("a..b") && !is_hostname("-a") && !is_hostname("Alice Smith"));
        assert!(
            is_wildcard_label("*") && is_wildcard_label("a*b") && !is_wildcard_label("**") && !is_wildcard_label("a")
        );
        let address = |text: &str| text.parse().unwrap();
        assert_eq!(is_in("10.0.0.0/8", address("10.1.2.3")), Some(true));
        assert_eq!(is_in("10.0.0.0/8", address("11.1.2.3")), Some(false));
        assert_eq!(is_in("0.0.0.0/0", address("11.1.2.3")), Some(true));
        assert_eq!(is_in("2001:db8::/32", address("2001:db8::7")), Some(true));
        assert_eq!(is_in("2001:db8::/32", address("10.0.0.1")), Some(false));
        assert_eq!((is_in("x", address("10.0.0.1")), is_in("10.0.0.0/99", address("10.0.0.1"))), (None, None));
    }
}
