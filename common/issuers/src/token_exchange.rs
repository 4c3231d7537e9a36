//! `kind = "token-exchange"`: a token for another audience, given for the subject token.
//! The exchange's settings and the subject token come in, a bearer token goes out.
//! Sends the subject token nowhere but to the token endpoint. RFC 8693 §2.1 (request), §2.2 (answers); RFC 8707 (`resource`).

use std::time::Duration;

use credmint_identities::{
    Claims, SubjectToken, TokenEndpoint, TokenEndpointError, prove, read_source, source_name, trust,
};
use credmint_settings::TokenExchange;
use credmint_vocabulary::{Secret, printable};
use serde::Deserialize;

use crate::error::GrantError;
use crate::grant::{BearerToken, Grant, Granted, World, needed, stands_in_a_header};
use crate::wiped::secret;

/// `grant_type` of RFC 8693 §2.1.
const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";

/// Holds the answer of RFC 8693 §2.2.1.
#[derive(Deserialize)]
struct Answered {
    #[serde(deserialize_with = "secret")]
    access_token: Secret<String>,
    #[serde(default)]
    token_type: String,
    #[serde(default)]
    issued_token_type: String,
    #[serde(default)]
    expires_in: Option<u64>,
    #[serde(default)]
    scope: Option<String>,
}

/// Exchanges the subject token.
pub(crate) async fn grant(
    settings: &TokenExchange,
    subject: Option<&SubjectToken>,
    world: &World<'_>,
) -> Result<Grant, GrantError> {
    let subject = needed(subject)?;
    let trust = trust(&settings.peer);
    let (issuer, given) = (settings.issuer.as_deref(), settings.token_endpoint.as_deref());
    let endpoint = TokenEndpoint::find(issuer, given, world.https, &trust, world.deadline).await?;
    let actor = actor(settings, world).await?;
    let proof = prove(&settings.client, &endpoint.audience, world.caller, world.now, world.deadline);
    let proof = proof.await.map_err(TokenEndpointError::from)?;
    let scope = settings.scopes.join(" ");
    let mut form = form(settings, subject, actor.as_ref());
    form.extend((!scope.is_empty()).then_some(("scope", scope.as_str())));
    let (way, time) = ((world.https, &trust), (world.now, world.deadline));
    let body = endpoint.post(&form, (&settings.client, &proof), way, time).await?;
    let answered: Answered =
        serde_json::from_slice(&body).map_err(|_| malformed(&endpoint, "access_token is missing"))?;
    granted(settings, answered, &endpoint, world)
}

async fn actor(settings: &TokenExchange, world: &World<'_>) -> Result<Option<Secret<String>>, GrantError> {
    let Some(source) = &settings.actor_token else { return Ok(None) };
    let found = read_source(source, world.caller, world.deadline).await?;
    found.map(Some).ok_or_else(|| GrantError::SourceAbsent { what: "the actor token", place: source_name(source) })
}

/// Lists the parameters of RFC 8693 §2.1.
fn form<'a>(
    settings: &'a TokenExchange,
    subject: &'a SubjectToken,
    actor: Option<&'a Secret<String>>,
) -> Vec<(&'static str, &'a str)> {
    let mut form = vec![
        ("grant_type", GRANT_TYPE),
        ("subject_token", subject.token.expose().as_str()),
        ("subject_token_type", settings.subject_token_type.as_str()),
    ];
    form.extend(settings.audience.iter().map(|audience| ("audience", audience.as_str())));
    form.extend(settings.resources.iter().map(|resource| ("resource", resource.as_str())));
    form.extend(settings.requested_token_type.iter().map(|kind| ("requested_token_type", kind.as_str())));
    if let Some(actor) = actor {
        form.push(("actor_token", actor.expose()));
        form.push(("actor_token_type", &settings.actor_token_type));
    }
    form
}

fn malformed(endpoint: &TokenEndpoint, what: &'static str) -> GrantError {
    TokenEndpointError::Malformed { who: endpoint.who(), what }.into()
}

/// Takes the token, if it is one that can be a bearer token.
fn granted(
    settings: &TokenExchange,
    answered: Answered,
    endpoint: &TokenEndpoint,
    world: &World<'_>,
) -> Result<Grant, GrantError> {
    let bearer = ["bearer", "n_a", ""].contains(&answered.token_type.to_ascii_lowercase().as_str());
    if !bearer {
        return Err(malformed(endpoint, "the token is not of type Bearer"));
    }
    if !stands_in_a_header(&answered.access_token) {
        return Err(malformed(endpoint, "access_token is empty or has characters that no token has"));
    }
    let notes = notes(settings, &answered, &endpoint.who());
    let lasts = answered.expires_in.map(|seconds| world.now.plus(Duration::from_secs(seconds)));
    let expires = lasts.into_iter().chain(Claims::of(&answered.access_token).and_then(|claims| claims.exp())).min();
    let token = BearerToken { token: answered.access_token, expires };
    Ok(Grant { credential: Granted::Token(token), notes, lease: None })
}

/// Tells in what the token is another than was asked for.
fn notes(settings: &TokenExchange, answered: &Answered, who: &str) -> Vec<String> {
    let mut notes = Vec::new();
    let issued = answered.issued_token_type.as_str();
    if let Some(asked) = settings.requested_token_type.as_deref().filter(|asked| *asked != issued && !issued.is_empty())
    {
        notes.push(format!("asked {who} for a token of type {asked}, got {}", printable(issued, 80)));
    }
    if let Some(scope) = &answered.scope {
        let granted: Vec<_> = scope.split_whitespace().collect();
        let missing: Vec<_> =
            settings.scopes.iter().map(String::as_str).filter(|asked| !granted.contains(asked)).collect();
        if !missing.is_empty() {
            notes.push(format!("{who} left out the scope {}", missing.join(" ")));
        }
    }
    notes
}
