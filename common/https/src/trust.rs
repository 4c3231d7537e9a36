//! How far a peer is trusted, and as whom we come.
//! Fields of the settings and a client identity come in; the other files of this room act on them.
//! Touches nothing.

use std::path::PathBuf;
use std::sync::Arc;

use credmint_client_identity::ClientIdentity;
use url::Url;

use crate::address::Address;
use crate::error::HttpsError;

/// Says which authorities are believed, through which proxy, and which client certificate is presented.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    /// PEM file of trust anchors, beside the system's.
    pub ca: Option<PathBuf>,
    /// Those alone.
    pub ca_only: bool,
    /// Keys of which one has to be on the server's certification path: `sha256//` and base64; with none, any will do.
    pub pins: Vec<String>,
    /// URL of an HTTP proxy (`http://host:port`); the environment is never asked.
    pub proxy: Option<String>,
    /// The client identity for mutual TLS.
    pub client: Option<Arc<ClientIdentity>>,
}

/// Refuses pins where no TLS is spoken: nothing would be judged by them.
pub(crate) fn pinnable(trust: &Trust, address: &Address) -> Result<(), HttpsError> {
    let why = "without TLS there is no key that pins could name";
    let refused = || HttpsError::Address { address: format!("http://{}", address.peer), why };
    if address.tls || trust.pins.is_empty() { Ok(()) } else { Err(refused()) }
}

/// Checks a proxy's URL: plain HTTP to the proxy, TLS goes through it.
pub(crate) fn proxy(text: &str) -> Result<Url, HttpsError> {
    let refuse = |why| Err(HttpsError::Proxy { why });
    let Ok(url) = Url::parse(text) else { return refuse("it is no URL") };
    if url.scheme() != "http" || !url.has_host() {
        return refuse("it is not of the form http://host:port");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refuse("user names and passwords do not belong into the settings");
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_proxies_without_password_are_taken() {
        assert!(proxy("http://proxy.corp.example:3128").is_ok());
        for text in ["socks5://p:1", "https://p:1", "p:1", "", "http://u:p@proxy:1"] {
            assert!(proxy(text).is_err(), "{text}");
        }
    }
}
