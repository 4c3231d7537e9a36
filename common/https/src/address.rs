//! Where a request may go: `https` anywhere, `http` to this machine only, and to its platform where that is meant.
//! A URL comes in, host and port go out.
//! Touches nothing. Terraform's own rule is the same; RFC 8252 §8.3 for loopback.

use url::{Host, Url};

use crate::error::HttpsError;

/// Names a checked address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// Host (IPv6 in brackets) and port, for messages and for `CONNECT`.
    pub(crate) peer: String,
    /// Whether TLS is spoken.
    pub(crate) tls: bool,
    /// Whether the host is this machine; no proxy can reach it for us.
    pub(crate) loopback: bool,
}

impl Address {
    /// Checks a URL that something is to be sent to.
    pub(crate) fn of(url: &Url) -> Result<Self, HttpsError> {
        let refuse = |why| Err(HttpsError::Address { address: shown(url), why });
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return refuse("it has no host");
        };
        if !url.username().is_empty() || url.password().is_some() {
            return refuse("user names and passwords do not belong into it");
        }
        let loopback = is_loopback(&host);
        match url.scheme() {
            "https" => {}
            "http" if loopback => {}
            "http" => return refuse("http without TLS is for loopback only"),
            _ => return refuse("it is not an https address"),
        }
        Ok(Self { peer: format!("{host}:{port}"), tls: url.scheme() == "https", loopback })
    }

    /// Checks a URL that the platform gave; its own addresses speak no TLS, and no proxy can reach them for us.
    pub(crate) fn of_platform(url: &Url) -> Result<Self, HttpsError> {
        match (url.host().filter(is_platform), url.port_or_known_default()) {
            (Some(host), Some(port)) if url.scheme() == "http" && url.username().is_empty() => {
                Ok(Self { peer: format!("{host}:{port}"), tls: false, loopback: true })
            }
            _ => Self::of(url),
        }
    }
}

/// Tells the addresses at which a cloud's machine and its containers ask for their keys: none of them is on the way to somebody else.
fn is_platform(host: &Host<&str>) -> bool {
    let named = match host {
        Host::Ipv4(ip) => ip.to_string(),
        Host::Ipv6(ip) => ip.to_string(),
        Host::Domain(_) => return false,
    };
    ["169.254.169.254", "169.254.170.2", "169.254.170.23", "fd00:ec2::254", "fd00:ec2::23"].contains(&named.as_str())
}

fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Ipv4(ip) => ip.is_loopback(),
        Host::Ipv6(ip) => ip.is_loopback(),
        Host::Domain(name) => *name == "localhost",
    }
}

/// Shows scheme, host and port only.
fn shown(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}", url.scheme(), url.host_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Address, HttpsError> {
        Address::of(&Url::parse(text).unwrap())
    }

    fn of_platform(text: &str) -> Result<Address, HttpsError> {
        Address::of_platform(&Url::parse(text).unwrap())
    }

    #[test]
    fn http_is_for_loopback_only() {
        for text in ["http://127.0.0.1:80/", "http://127.8.9.1/", "http://[::1]:8200/", "http://localhost:1/"] {
            assert!(of(text).unwrap().loopback, "{text}");
        }
        for text in
            ["http://vault.corp.example/", "http://10.0.0.1/", "http://localhost.evil.example/", "ftp://127.0.0.1/"]
        {
            assert!(of(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_machine_and_its_containers_are_asked_without_tls() {
        for text in ["http://169.254.169.254/", "http://169.254.170.2/v2", "http://[fd00:ec2::254]/"] {
            assert!(of(text).is_err(), "only where it is meant: {text}");
            assert!(of_platform(text).unwrap().loopback, "{text}");
        }
        for text in [
            "http://169.254.169.1/",
            "http://169.254.169.254.evil.example/",
            "http://[fd00:ec2::1]/",
            "http://a.example/",
        ] {
            assert!(of_platform(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_error_shows_no_path_and_no_password() {
        let error = of("https://me:canary@a.example/canary?canary").unwrap_err().to_string();
        assert!(error.contains("https://a.example") && !error.contains("canary"), "{error}");
    }

    #[test]
    fn peer_has_the_port() {
        assert_eq!(of("https://a.example/x").unwrap().peer, "a.example:443");
        assert_eq!(of("https://[2001:db8::1]:8443").unwrap().peer, "[2001:db8::1]:8443");
    }
}
