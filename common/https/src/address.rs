//! Where a request may go: `https` anywhere, `http` to this machine only.
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
