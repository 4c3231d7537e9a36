//! A certification authority that is reached over HTTPS and is no Vault: one request, one answer.
//! Address and trust of the settings come in, answers with a status that is a success go out.
//! Follows no redirect; shows of a refusal a cut of its words without anything that looks like a credential.

use std::sync::Arc;

use credmint_client_identity::ClientIdentity;
use credmint_https::{Answer, HttpsError, Trust, host_and_port};
use credmint_identities::{quotable, trust};
use credmint_settings::Peer;
use http::{Request, header};
use serde::Deserialize;
use url::Url;

use crate::error::GrantError;
use crate::grant::World;

/// Is the line to one authority for one grant.
pub(crate) struct Authority<'a> {
    /// Host and port, for messages.
    pub(crate) who: String,
    /// What paths are below.
    pub(crate) address: &'a str,
    trust: Trust,
    world: World<'a>,
}

impl<'a> Authority<'a> {
    /// Takes up the line.
    pub(crate) fn at(address: &'a str, peer: &Peer, world: &World<'a>) -> Result<Self, GrantError> {
        let no_url = || GrantError::Settings("the address of the authority is no URL".to_owned());
        let url = Url::parse(address).map_err(|_| no_url())?;
        let who = host_and_port(&url).ok_or_else(no_url)?;
        Ok(Self { who, address, trust: trust(peer), world: *world })
    }

    /// Begins a request for a path below the address.
    pub(crate) fn request(&self, method: &'static str, path: &str) -> http::request::Builder {
        Request::builder().method(method).uri(format!("{}{path}", self.address))
    }

    /// Sends a request, with a client certificate if there is one.
    pub(crate) async fn send(
        &self,
        request: http::Result<Request<Vec<u8>>>,
        client: Option<Arc<ClientIdentity>>,
    ) -> Result<Answer, GrantError> {
        let request = request.map_err(|_| GrantError::Settings(format!("no request can be made for {}", self.who)))?;
        let trust = Trust { client, ..self.trust.clone() };
        Ok(self.world.https.send(&trust, request, self.world.deadline).await?)
    }

    /// Tells a success from everything else; `what` is what was asked for.
    pub(crate) fn judge(&self, answer: Answer, what: &'static str) -> Result<Answer, GrantError> {
        let (who, status) = (self.who.clone(), answer.status.as_u16());
        match status {
            200..=299 => Ok(answer),
            300..=399 => Err(GrantError::Redirected { who, to: answer.location().as_ref().and_then(host_and_port) }),
            429 => Err(GrantError::Throttled { who, retry_after: answer.retry_after(self.world.now) }),
            500..=599 => Err(GrantError::Failing { who, status, reason: words(&answer) }),
            _ => Err(GrantError::Denied { who, what, status, reason: words(&answer), hint: hint(status) }),
        }
    }

    /// Makes an error about a success that cannot be used.
    pub(crate) fn malformed(&self, what: &str) -> GrantError {
        GrantError::Malformed { who: self.who.clone(), what: what.to_owned() }
    }

    /// Tells by how much our clock is ahead of the authority's, in seconds.
    pub(crate) fn clock_ahead(&self, answer: &Answer) -> Option<i64> {
        answer.date().map(|theirs| self.world.now.unix() - theirs.unix())
    }
}

/// Tells whether a first request may be granted where a renewal was not: the present certificate may be what was refused.
pub(crate) fn may_be_asked_anew(error: &GrantError) -> bool {
    match error {
        GrantError::Denied { .. } => true,
        GrantError::Failing { status, .. } => *status != 503,
        GrantError::Unreachable(error) => matches!(
            error,
            HttpsError::ClientCertificateRefused { .. } | HttpsError::Handshake { .. } | HttpsError::Stream { .. }
        ),
        _ => false,
    }
}

fn hint(status: u16) -> &'static str {
    match status {
        401 => "credmint explain HOST shows who asks; the authority has to know them",
        403 => "ask the authority's people whether this identity may have these names",
        404 | 405 => "check the address in the settings, its path, and the label of an EST server",
        400 | 422 => {
            "ask the authority's people which key and which names it signs; key and names stand in the settings"
        }
        _ => "ask the authority's people what it wants otherwise",
    }
}

/// Holds what step-ca and others say beside a refusal.
#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    message: String,
}

/// Makes a few words of a refusal's body; a page for browsers is named, not shown.
fn words(answer: &Answer) -> String {
    if is_page(answer) {
        return "an HTML page: perhaps a proxy or a portal answered".to_owned();
    }
    if let Ok(Message { message }) = serde_json::from_slice(&answer.body) {
        return quotable(&message);
    }
    let kind = media_type(answer);
    if kind.is_empty() || kind == "text/plain" {
        return quotable(&String::from_utf8_lossy(&answer.body));
    }
    String::new()
}

/// Tells a page that is meant for a browser.
pub(crate) fn is_page(answer: &Answer) -> bool {
    let start: Vec<u8> = answer.body.trim_ascii_start().iter().take(9).map(u8::to_ascii_lowercase).collect();
    media_type(answer) == "text/html" || start.starts_with(b"<!doctype") || start.starts_with(b"<html")
}

/// Gives the media type without its parameters, in lower case.
pub(crate) fn media_type(answer: &Answer) -> String {
    let value = answer.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
