//! A connection that somebody else speaks over: to a host of their choice, straight or through the proxy that they had.
//! Host and port come in, and maybe a proxy; an open connection goes out, on which nothing was said to the host yet.
//! Dials out, and speaks to nobody but the proxy. RFC 9110 §9.3.6 (CONNECT), RFC 7617 (how one proves oneself to it).

use std::net::SocketAddr;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use credmint_vocabulary::Secret;
use http::HeaderValue;
use tokio::net::TcpStream;
use tower_service::Service;
use url::Url;
use zeroize::Zeroizing;

use crate::dial::{CONNECT_TIMEOUT, Dial};
use crate::error::HttpsError;
use crate::explain;
use crate::upstream::{host_port, place};

/// Names a proxy as the environment does (`HTTPS_PROXY`): with a name and a password, if it wants one.
pub struct ProxyOfCaller {
    to: String,
    proof: Option<Secret<String>>,
}

impl ProxyOfCaller {
    /// Reads the variable; `host:port` alone is HTTP.
    ///
    /// # Errors
    /// A kind of proxy that no tunnel is asked of here.
    pub fn of(text: &Secret<String>) -> Result<Self, HttpsError> {
        let refuse = |why| HttpsError::Proxy { why };
        let text = text.expose();
        let whole = Zeroizing::new(if text.contains("://") { String::new() } else { format!("http://{text}") });
        let url = Url::parse(if whole.is_empty() { text } else { &whole }).map_err(|_| refuse("it is no URL"))?;
        if url.scheme() != "http" || !url.has_host() {
            return Err(refuse("it is not of the form http://host:port, and no other kind is gone through"));
        }
        Ok(Self { to: host_port(&url), proof: proof(&url) })
    }

    fn authorization(&self) -> Option<HeaderValue> {
        HeaderValue::from_str(self.proof.as_ref()?.expose()).ok()
    }
}

/// Makes `Basic` of name and password.
fn proof(url: &Url) -> Option<Secret<String>> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let mut pair = Zeroizing::new(decoded(url.username()));
    pair.push(b':');
    pair.extend_from_slice(&Zeroizing::new(decoded(url.password().unwrap_or_default())));
    Some(Secret::new(format!("Basic {}", BASE64_STANDARD.encode(&*pair))))
}

/// Takes the percent signs out (RFC 3986 §2.1).
fn decoded(text: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|_| *first == b'%').and_then(|two| std::str::from_utf8(two).ok());
        match hex.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

/// Opens a connection to `peer` (host and port, IPv6 in brackets), and says whom it leads to first: the host, or the proxy.
///
/// # Errors
/// Why there is none.
pub async fn passage(peer: &str, proxy: Option<&ProxyOfCaller>) -> Result<(TcpStream, SocketAddr), HttpsError> {
    let through = proxy.map(|proxy| place(&proxy.to)).transpose()?;
    let mut dial = Dial::new(place(peer)?, through);
    if let Some(authorization) = proxy.and_then(ProxyOfCaller::authorization) {
        dial = dial.proving(authorization);
    }
    let connecting = tokio::time::timeout(CONNECT_TIMEOUT, dial.call(http::Uri::default()));
    let connected = connecting.await.map_err(|_| HttpsError::Timeout { peer: peer.to_owned() })?;
    let stream = connected.map_err(|error| explain::connecting(peer, &*error))?.into_inner();
    let first = stream.peer_addr().map_err(|error| explain::connecting(peer, &error))?;
    Ok((stream, first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<ProxyOfCaller, HttpsError> {
        ProxyOfCaller::of(&Secret::from(text))
    }

    #[test]
    fn a_proxy_of_the_environment_may_have_a_password() {
        let proxy = of("http://ada:p%40ss%3A%25@proxy.corp.example:3128").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(proxy.to, "proxy.corp.example:3128");
        let proof = proxy.authorization().unwrap_or_else(|| panic!("a password"));
        assert_eq!(proof.as_bytes(), format!("Basic {}", BASE64_STANDARD.encode("ada:p@ss:%")).as_bytes());
        for (text, to) in [("proxy:1", "proxy:1"), ("http://proxy", "proxy:80"), ("http://[::1]:8", "[::1]:8")] {
            assert!(of(text).is_ok_and(|proxy| proxy.to == to && proxy.authorization().is_none()), "{text}");
        }
    }

    #[test]
    fn other_kinds_are_refused_without_their_password() {
        for text in ["socks5://u:canary@p:1", "https://u:canary@p:1", "http://", ""] {
            assert!(of(text).is_err_and(|error| !error.to_string().contains("canary")), "{text}");
        }
    }
}
