//! `kind = "kubernetes-token"`: a token of a service account, which the API server makes for who may ask for it.
//! The service account's settings and the subject token come in, a token with its end goes out.
//! Sends the subject token to the API server alone. Kubernetes API, `authentication.k8s.io/v1`, TokenRequest.

use credmint_identities::SubjectToken;
use credmint_settings::KubernetesToken;
use credmint_vocabulary::{Secret, Timestamp};
use serde::Deserialize;
use serde_json::json;

use crate::authority::Authority;
use crate::cloud::{Told, bearer, granted, judge, post};
use crate::error::GrantError;
use crate::grant::{Grant, World, needed};
use crate::oidc::check_audience;
use crate::wiped::secret;

#[derive(Deserialize)]
struct Answered {
    status: Status,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    #[serde(deserialize_with = "secret")]
    token: Secret<String>,
    expiration_timestamp: String,
}

/// Asks for the token.
pub(crate) async fn grant(
    settings: &KubernetesToken,
    subject: Option<&SubjectToken>,
    world: &World<'_>,
) -> Result<Grant, GrantError> {
    let subject = needed(subject)?;
    check_audience(subject, settings.token_audience.as_deref())?;
    let authority = Authority::at(&settings.address, &settings.peer, world)?;
    let (namespace, account) = (&settings.namespace, &settings.service_account);
    let mut spec = json!({ "audiences": settings.audiences });
    if let (Some(ttl), Some(spec)) = (settings.ttl, spec.as_object_mut()) {
        spec.insert("expirationSeconds".to_owned(), json!(ttl.as_secs()));
    }
    let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec});
    let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
    let answer = post(&authority, &path, &body, &subject.token).await?;
    let what = format!("a token of the service account {namespace}/{account}");
    let answer = judge(&authority, answer, (&what, "the service account's token"), REFUSALS)?;
    let malformed = || authority.malformed("no status with token and expirationTimestamp");
    let Answered { status } = serde_json::from_slice(&answer.body).map_err(|_| malformed())?;
    let expires = Timestamp::from_rfc3339(&status.expiration_timestamp).map_err(|_| malformed())?;
    let token = bearer(status.token, expires).ok_or_else(malformed)?;
    Ok(granted(token, notes(settings, expires, &authority.who, world)))
}

/// Tells of a life that is another than was asked for, by more than a minute.
fn notes(settings: &KubernetesToken, expires: Timestamp, who: &str, world: &World<'_>) -> Vec<String> {
    let got = expires.remaining(world.now).as_secs();
    let asked = settings.ttl.map(|ttl| ttl.as_secs()).filter(|asked| asked.abs_diff(got) > 60);
    asked.map(|asked| format!("asked {who} for {asked} s, got {got} s")).into_iter().collect()
}

const REFUSALS: &[Told] = &[
    (
        "401 ",
        "the API server does not know this identity",
        "the API server needs an authenticator for the token's iss and aud, or has it expired?",
    ),
    (
        "403 ",
        "this identity may not make tokens of the service account",
        "give it the verb create on serviceaccounts/token in that namespace: kubectl auth can-i create serviceaccounts/token",
    ),
    ("404 ", "there is no such service account", "check namespace and service_account in the settings"),
    ("422 ", "a value of the request is not allowed", "check ttl and audience in the settings"),
];
