//! What issuers of clouds have in common: tokens out of answers, JSON that is posted, refusals that become sentences.
//! Answers and errors come in, a bearer token or an error with the next step goes out.
//! Shows of a refusal a cut of its words without anything that looks like a credential.

use std::time::Duration;

use credmint_https::Answer;
use credmint_identities::{TokenEndpoint, TokenEndpointError, quotable};
use credmint_vocabulary::{Expiry, Secret, Timestamp};
use http::{HeaderValue, header};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::authority::Authority;
use crate::error::GrantError;
use crate::grant::{BearerToken, Grant, Granted, stands_in_a_header};
use crate::wiped::{secret, sensitive, to_json};

/// What to look for in a refusal's words or status, what it means, and the next step.
pub(crate) type Told = (&'static str, &'static str, &'static str);

/// Holds the answer of a token endpoint (RFC 6749 §5.1); Entra and others write numbers as text, too.
#[derive(Deserialize)]
struct Answered {
    #[serde(deserialize_with = "secret")]
    access_token: Secret<String>,
    expires_in: Seconds,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Seconds {
    Number(u64),
    Text(String),
}

impl Seconds {
    fn life(&self) -> Option<Duration> {
        let seconds = match self {
            Self::Number(seconds) => Some(*seconds),
            Self::Text(text) => text.parse().ok(),
        };
        seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs)
    }
}

/// Takes the token out of the answer of a token endpoint; one without an end is none.
pub(crate) fn token_of(body: &[u8], endpoint: &TokenEndpoint, now: Timestamp) -> Result<BearerToken, GrantError> {
    let malformed = |what| GrantError::from(TokenEndpointError::Malformed { who: endpoint.who(), what });
    let answered: Answered =
        serde_json::from_slice(body).map_err(|_| malformed("access_token or expires_in is missing"))?;
    let life = answered.expires_in.life().ok_or_else(|| malformed("expires_in is no length of time"))?;
    bearer(answered.access_token, now.plus(life)).ok_or_else(|| malformed("access_token is no token"))
}

/// Makes a bearer token of a text that can stand in a header.
pub(crate) fn bearer(token: Secret<String>, expires: Expiry) -> Option<BearerToken> {
    stands_in_a_header(&token).then_some(BearerToken { token, expires: Some(expires) })
}

/// Grants a token.
pub(crate) fn granted(token: BearerToken, notes: Vec<String>) -> Grant {
    Grant { credential: Granted::Token(token), notes, lease: None }
}

/// Puts what a refusal means in the place of its class, where it is known.
pub(crate) fn explained(error: TokenEndpointError, what: &str, table: &[Told]) -> GrantError {
    let TokenEndpointError::Refused { who, status, class, reason } = error else { return error.into() };
    match known(table, &reason) {
        Some((why, hint)) => {
            GrantError::Explained { who, what: what.to_owned(), status, why, reason, hint: Some(hint) }
        }
        None => TokenEndpointError::Refused { who, status, class, reason }.into(),
    }
}

fn known(table: &[Told], words: &str) -> Option<(&'static str, &'static str)> {
    table.iter().find(|(needle, ..)| words.contains(needle)).map(|(_, why, hint)| (*why, *hint))
}

/// Writes a bearer token as it stands in a request.
pub(crate) fn authorization(token: &Secret<String>) -> Result<HeaderValue, GrantError> {
    sensitive(&Zeroizing::new(format!("Bearer {}", token.expose())))
}

/// Posts JSON with a bearer token.
pub(crate) async fn post(
    authority: &Authority<'_>,
    path: &str,
    body: &impl Serialize,
    token: &Secret<String>,
) -> Result<Answer, GrantError> {
    let value = authorization(token)?;
    let request = authority.request("POST", path).header(header::CONTENT_TYPE, "application/json");
    let request = request.header(header::ACCEPT, "application/json").header(header::AUTHORIZATION, value);
    authority.send(request.body(std::mem::take(&mut *to_json(body))), None).await
}

/// Holds what the APIs of Google, Kubernetes and GitHub say beside a refusal.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Refusal {
    error: Inner,
    reason: String,
    message: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Inner {
    status: String,
    message: String,
}

/// Tells a success from everything else; `what` is what was asked for, and stands in front of the refusal.
pub(crate) fn judge(
    authority: &Authority<'_>,
    answer: Answer,
    (what, short): (&str, &'static str),
    table: &[Told],
) -> Result<Answer, GrantError> {
    let status = answer.status.as_u16();
    if !(400..500).contains(&status) || status == 429 {
        return authority.judge(answer, short);
    }
    let refusal: Refusal = serde_json::from_slice(&answer.body).unwrap_or_default();
    let words = [refusal.error.status, refusal.reason, refusal.error.message, refusal.message];
    let words: Vec<String> = words.iter().filter(|word| !word.is_empty()).map(|word| quotable(word)).collect();
    let reason = words.join(": ");
    match known(table, &format!("{status} {reason}")).filter(|_| !reason.is_empty()) {
        Some((why, hint)) => {
            let (who, what) = (authority.who.clone(), what.to_owned());
            Err(GrantError::Explained { who, what, status, why, reason, hint: Some(hint) })
        }
        None => authority.judge(answer, short),
    }
}
