//! Where a tunnel leads: a name and a port, however they are written.
//! The target of a `CONNECT`, a `Host` field or a host of the settings comes in; a place that can be compared goes out.
//! Pure. RFC 9110 §9.3.6 (authority form), RFC 5952 (IPv6 as text).

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use credmint_vocabulary::Hostname;

/// Names a host and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// In lower case; an IPv6 literal in brackets, in its shortest form.
    name: String,
    port: u16,
}

impl Place {
    /// Reads `host:port`; `None` without a port that can be dialled.
    pub(super) fn of(authority: &str) -> Option<Self> {
        let (name, port) = authority.rsplit_once(':')?;
        let port = port.parse().ok().filter(|port| *port != 0)?;
        Self::named(name, port)
    }

    /// Reads a `Host` field of a request by https: without a port it is 443.
    pub(super) fn of_field(host: &str) -> Option<Self> {
        let has_port = host.rfind(':') > host.rfind(']');
        if has_port { Self::of(host) } else { Self::named(host, 443) }
    }

    /// Gives the place of a host of the settings.
    pub(super) fn of_host(host: &Hostname) -> Self {
        let named = Self::named(host.name(), host.port());
        named.unwrap_or_else(|| Self { name: host.name().to_owned(), port: host.port() })
    }

    fn named(name: &str, port: u16) -> Option<Self> {
        if let Some(inner) = name.strip_prefix('[') {
            let ip: Ipv6Addr = inner.strip_suffix(']')?.parse().ok()?;
            return Some(Self { name: format!("[{ip}]"), port });
        }
        let is_sane = !name.is_empty() && !name.contains(['@', '[', ']', ':', '/', '?', '#', ' ']);
        is_sane.then(|| Self { name: name.to_ascii_lowercase(), port })
    }

    /// Gives the name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Gives the port.
    pub(super) fn port(&self) -> u16 {
        self.port
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.port)
    }
}

/// Gives the address that a name is, if it is one.
pub(super) fn address(name: &str) -> Option<IpAddr> {
    let bare = name.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(name);
    bare.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_the_same_however_it_is_written() {
        for (host, target, field) in [
            ("registry.corp.example", "Registry.corp.example:443", "registry.corp.example"),
            ("registry.corp.example:8443", "registry.corp.example:8443", "REGISTRY.corp.example:8443"),
            ("xn--caf-dma.example", "xn--caf-dma.example:443", "xn--caf-dma.example:443"),
            ("10.0.0.7", "10.0.0.7:443", "10.0.0.7"),
            ("[2001:db8::1]", "[2001:DB8:0::1]:443", "[2001:db8::1]"),
            ("[2001:db8::1]:8443", "[2001:db8::1]:8443", "[2001:db8:0:0::1]:8443"),
        ] {
            let place = Place::of_host(&Hostname::from_comparison_form(host).expect(host));
            assert_eq!(Some(&place), Place::of(target).as_ref(), "{target}");
            assert_eq!(Some(&place), Place::of_field(field).as_ref(), "{field}");
        }
    }

    #[test]
    fn what_is_no_place_or_another_one_is_not_taken_for_it() {
        for wrong in ["", "a.example", "a.example:", "a.example:0", "a.example:99999", "[::1", "u@a.example:1", ":443"]
        {
            assert_eq!(Place::of(wrong), None, "{wrong}");
        }
        let place = Place::of("registry.corp.example:443");
        for other in ["registry.corp.example:8443", "registry.corp.example.:443", "xregistry.corp.example:443"] {
            assert_ne!(Place::of(other), place, "{other}");
        }
    }
}
