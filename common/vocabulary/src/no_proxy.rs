//! Which hosts are reached without a proxy, as the environment says it: `NO_PROXY`.
//! The text of the variable comes in; whether a host is exempted goes out, and the text without what exempts some hosts.
//! Touches nothing. The reading is that of Go's `httpproxy`, which Terraform follows.

use std::net::IpAddr;

/// Lists the exemptions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoProxy(Vec<String>);

impl NoProxy {
    /// Reads the variable: entries that are separated by commas.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self(text.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(str::to_owned).collect())
    }

    /// Tells whether a host is reached without a proxy. An IPv6 literal may stand in brackets.
    #[must_use]
    pub fn exempts(&self, name: &str, port: u16) -> bool {
        self.0.iter().any(|entry| exempts(entry, name, port))
    }

    /// Gives the text without the entries that exempt one of these hosts.
    #[must_use]
    pub fn without(&self, ours: &[(&str, u16)]) -> String {
        let stays = |entry: &&String| !ours.iter().any(|(name, port)| exempts(entry, name, *port));
        self.0.iter().filter(stays).map(String::as_str).collect::<Vec<_>>().join(",")
    }
}

/// Tells whether a host is this machine as it is written: no client sends that to a proxy.
#[must_use]
pub fn is_loopback(name: &str) -> bool {
    name == "localhost" || address(name).is_some_and(|ip| ip.to_canonical().is_loopback())
}

fn exempts(entry: &str, name: &str, port: u16) -> bool {
    if entry == "*" {
        return true;
    }
    let entry = entry.to_ascii_lowercase();
    let name = name.to_ascii_lowercase();
    if let Some((network, length)) = entry.split_once('/') {
        return is_within(&name, network, length);
    }
    let (pattern, wanted) = split_port(&entry);
    let is_port = wanted.is_none_or(|wanted| wanted == port);
    is_port && (is_same_address(pattern, &name) || is_same_name(pattern, &name))
}

/// Splits `name:port`; an IPv6 address without brackets has no port.
fn split_port(entry: &str) -> (&str, Option<u16>) {
    match entry.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => match port.parse() {
            Ok(port) => (name, Some(port)),
            Err(_) => (entry, None),
        },
        _ => (entry, None),
    }
}

fn is_same_address(pattern: &str, name: &str) -> bool {
    address(pattern).is_some_and(|ip| address(name) == Some(ip))
}

/// `name` is the name and all below it, `.name` and `*.name` only those below it.
fn is_same_name(pattern: &str, name: &str) -> bool {
    let pattern = pattern.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(pattern);
    let (bare, alone) = pattern.strip_prefix('.').map_or((pattern, true), |below| (below, false));
    let is_below = || name.strip_suffix(bare).is_some_and(|rest| rest.ends_with('.'));
    !bare.is_empty() && ((alone && name == bare) || is_below())
}

fn is_within(name: &str, network: &str, length: &str) -> bool {
    let (Some(name), Some(network), Ok(length)) = (address(name), address(network), length.parse::<u32>()) else {
        return false;
    };
    match (name, network) {
        (IpAddr::V4(name), IpAddr::V4(network)) => {
            length <= 32 && (name.to_bits() ^ network.to_bits()).leading_zeros() >= length
        }
        (IpAddr::V6(name), IpAddr::V6(network)) => {
            length <= 128 && (name.to_bits() ^ network.to_bits()).leading_zeros() >= length
        }
        _ => false,
    }
}

fn address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(text);
    bare.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_exempts_what_go_takes_it_for() {
        let exempts = |text: &str, name: &str, port| NoProxy::of(text).exempts(name, port);
        for (text, name, port) in [
            ("*", "a.example", 443),
            ("corp.example", "corp.example", 443),
            ("corp.example", "Registry.corp.example", 443),
            ("x, .corp.example", "registry.corp.example", 443),
            ("*.corp.example", "registry.corp.example", 443),
            ("CORP.example:8443", "corp.example", 8443),
            ("10.0.0.0/8", "10.1.2.3", 443),
            ("2001:db8::/32", "[2001:db8::1]", 443),
            ("2001:db8::1", "[2001:db8:0::1]", 443),
            ("[2001:db8::1]:8443", "2001:db8::1", 8443),
            ("10.1.2.3", "10.1.2.3", 1),
        ] {
            assert!(exempts(text, name, port), "{text} exempts {name}:{port}");
        }
        for (text, name, port) in [
            ("", "corp.example", 443),
            (",.", "corp.example", 443),
            (".corp.example", "corp.example", 443),
            ("corp.example", "evilcorp.example", 443),
            ("corp.example:8443", "corp.example", 443),
            ("10.0.0.0/8", "11.1.2.3", 443),
            ("10.0.0.0/33", "10.0.0.0", 443),
            ("0.0.0.0/0", "registry.corp.example", 443),
            ("2001:db8::1", "2001:db8::2", 443),
        ] {
            assert!(!exempts(text, name, port), "{text} exempts no {name}:{port}");
        }
    }

    #[test]
    fn only_what_exempts_ours_is_taken_out() {
        let text = "localhost, .corp.example,10.0.0.0/8,registry.corp.example:8443";
        let without = |ours: &[(&str, u16)]| NoProxy::of(text).without(ours);
        assert_eq!(without(&[("registry.corp.example", 443)]), "localhost,10.0.0.0/8,registry.corp.example:8443");
        assert_eq!(without(&[("10.0.0.7", 443)]), "localhost,.corp.example,registry.corp.example:8443");
        assert_eq!(NoProxy::of("*").without(&[("a", 443)]), "");
    }

    #[test]
    fn this_machine_is_told_by_how_it_is_written() {
        assert!(["localhost", "127.0.0.9", "[::1]", "::1", "[::ffff:127.0.0.1]"].into_iter().all(is_loopback));
        assert!(!["x.localhost", "0.0.0.0", "corp.example"].into_iter().any(is_loopback));
    }
}
