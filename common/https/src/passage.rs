//! A connection that somebody else speaks over: to a host of their choice, straight or through the proxy that they had.
//! Host and port come in, and maybe a proxy; an open connection goes out, on which nothing was said to the host yet, and what it said.
//! Dials out, and speaks to nobody but the proxy. RFC 9110 §9.3.6 (CONNECT), RFC 7617 (how one proves oneself to it).

use std::net::SocketAddr;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use credmint_vocabulary::Secret;
use http::{HeaderValue, Request, StatusCode, header};
use http_body_util::Empty;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;
use url::Url;
use zeroize::Zeroizing;

use crate::dial::{CONNECT_TIMEOUT, Dial};
use crate::error::{HttpsError, WANTS_PROOF};
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
        let mut authorization = HeaderValue::from_str(self.proof.as_ref()?.expose()).ok()?;
        authorization.set_sensitive(true);
        Some(authorization)
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

/// A connection for somebody else.
pub struct Passage {
    /// It leads to the host.
    pub stream: TcpStream,
    /// What the host has said already: some speak first, and a proxy sends that right behind its own answer.
    pub said: Bytes,
    /// Whom it leads to first: the host, or the proxy.
    pub first: SocketAddr,
}

/// Opens a connection to `peer` (host and port, IPv6 in brackets).
///
/// # Errors
/// Why there is none.
pub async fn passage(peer: &str, proxy: Option<&ProxyOfCaller>) -> Result<Passage, HttpsError> {
    let opening = async {
        match proxy {
            Some(proxy) => through(peer, proxy).await,
            None => straight(peer).await,
        }
    };
    let opened = tokio::time::timeout(CONNECT_TIMEOUT, opening).await;
    opened.map_err(|_| HttpsError::Timeout { peer: peer.to_owned() })?
}

async fn straight(peer: &str) -> Result<Passage, HttpsError> {
    let connected = Dial::new(place(peer)?, None).call(http::Uri::default()).await;
    let stream = connected.map_err(|error| explain::connecting(peer, &*error))?.into_inner();
    let first = stream.peer_addr().map_err(|error| explain::connecting(peer, &error))?;
    Ok(Passage { stream, said: Bytes::new(), first })
}

/// Asks the proxy. (hyper-util's own `Tunnel` drops what comes right behind the answer: good enough for TLS, where clients speak first.)
async fn through(peer: &str, proxy: &ProxyOfCaller) -> Result<Passage, HttpsError> {
    let refused = |why: String| HttpsError::Tunnel { peer: peer.to_owned(), why };
    let broken = |error: hyper::Error| refused(explain::deepest(&error));
    let Passage { stream, first, .. } = straight(&proxy.to).await.map_err(|error| refused(error.to_string()))?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    let connection = tokio::spawn(connection.with_upgrades());
    let answer = sender.send_request(wanted(peer, proxy)?).await.map_err(broken)?;
    if answer.status() != StatusCode::OK {
        // Whatever else it has to say.
        connection.abort();
        return Err(refused(no(answer.status())));
    }
    let upgraded = hyper::upgrade::on(answer).await.map_err(broken)?;
    let parts = upgraded.downcast::<TokioIo<TcpStream>>().map_err(|_| refused("it is no connection".to_owned()))?;
    Ok(Passage { stream: parts.io.into_inner(), said: parts.read_buf, first })
}

fn wanted(peer: &str, proxy: &ProxyOfCaller) -> Result<Request<Empty<Bytes>>, HttpsError> {
    let mut request = Request::connect(peer).header(header::HOST, peer);
    if let Some(authorization) = proxy.authorization() {
        request = request.header(header::PROXY_AUTHORIZATION, authorization);
    }
    request
        .body(Empty::new())
        .map_err(|_| HttpsError::Tunnel { peer: peer.to_owned(), why: "it is no host and port".to_owned() })
}

fn no(status: StatusCode) -> String {
    if status == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
        return WANTS_PROOF.to_owned();
    }
    format!("it answers {status}")
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
