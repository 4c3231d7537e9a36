//! `kind = "google-sts"`: an access token of Google for the subject token or a certificate, then perhaps one of a service account.
//! The provider's settings, the subject token or a client identity that another issuer made come in, an access token goes out.
//! Sends the subject token to the Security Token Service alone, and presents the certificate there alone. RFC 8693;
//! <https://cloud.google.com/iam/docs/reference/sts/rest>

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use credmint_client_identity::ClientIdentity;
use credmint_https::Trust;
use credmint_identities::{SubjectToken, TokenEndpoint, trust};
use credmint_settings::GoogleSts;
use credmint_vocabulary::{Secret, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::authority::Authority;
use crate::cloud::{Told, bearer, explained, granted, judge, post, token_of};
use crate::error::GrantError;
use crate::grant::{BearerToken, Grant, World, needed};
use crate::oidc::check_audience;
use crate::wiped::secret;

/// Exchanges the subject token, and the token that comes for it against the service account's.
pub(crate) async fn grant(
    settings: &GoogleSts,
    subject: Option<&SubjectToken>,
    world: &World<'_>,
) -> Result<Grant, GrantError> {
    let token = match &settings.certificate_issuer {
        Some(_) => {
            let own = world.certificate.ok_or(GrantError::NoCertificate)?;
            exchanged(settings, (&path_of(own), Some(Arc::clone(own))), world).await?
        }
        None => {
            let subject = needed(subject)?;
            check_audience(subject, settings.token_audience.as_deref())?;
            exchanged(settings, (subject.token.expose(), None), world).await?
        }
    };
    let token = match &settings.service_account {
        Some(account) => impersonated(settings, account, &token.token, world).await?,
        None => token,
    };
    Ok(granted(token, Vec::new()))
}

/// Writes the certificate and those above it as the service wants them: a list in JSON of base64 of DER.
fn path_of(own: &ClientIdentity) -> String {
    json!(own.certificates_der().iter().map(|der| STANDARD.encode(der)).collect::<Vec<_>>()).to_string()
}

/// Exchanges what stands for the subject; a certificate is presented, too.
async fn exchanged(
    settings: &GoogleSts,
    (subject, client): (&str, Option<Arc<ClientIdentity>>),
    world: &World<'_>,
) -> Result<BearerToken, GrantError> {
    let (trust, time) = (Trust { client, ..trust(&settings.peer) }, (world.now, world.deadline));
    let address = format!("{}/v1/token", settings.endpoint);
    let endpoint = TokenEndpoint::find(None, Some(&address), world.https, &trust, world.deadline).await?;
    let scope = if settings.service_account.is_some() { PLATFORM.to_owned() } else { settings.scopes.join(" ") };
    let options = settings.user_project.as_ref().map(|project| json!({"userProject": project}).to_string());
    let mut form = vec![
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("audience", settings.audience.as_str()),
        ("scope", scope.as_str()),
        ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
        ("subject_token_type", settings.subject_token_type.as_str()),
        ("subject_token", subject),
    ];
    form.extend(options.as_ref().map(|options| ("options", options.as_str())));
    let what = format!("the exchange for {}", settings.audience);
    let body = endpoint.post_form(&form, (world.https, &trust), time).await;
    token_of(&body.map_err(|error| explained(error, &what, EXCHANGE))?, &endpoint, world.now)
}

#[derive(Serialize)]
struct Wanted<'a> {
    delegates: [&'a str; 0],
    scope: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    lifetime: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Impersonated {
    #[serde(deserialize_with = "secret")]
    access_token: Secret<String>,
    expire_time: String,
}

async fn impersonated(
    settings: &GoogleSts,
    account: &str,
    token: &Secret<String>,
    world: &World<'_>,
) -> Result<BearerToken, GrantError> {
    let authority = Authority::at(&settings.iam_endpoint, &settings.peer, world)?;
    let lifetime = settings.lifetime.map(|life| format!("{}s", life.as_secs()));
    let wanted = Wanted { delegates: [], scope: &settings.scopes, lifetime };
    let path = format!("/v1/projects/-/serviceAccounts/{account}:generateAccessToken");
    let answer = post(&authority, &path, &wanted, token).await?;
    let what = format!("a token of {account}");
    let answer = judge(&authority, answer, (&what, "the service account's token"), IMPERSONATION)?;
    let malformed = || authority.malformed("no accessToken and expireTime");
    let given: Impersonated = serde_json::from_slice(&answer.body).map_err(|_| malformed())?;
    let expires = Timestamp::from_rfc3339(&given.expire_time).map_err(|_| malformed())?;
    bearer(given.access_token, expires).ok_or_else(malformed)
}

const PLATFORM: &str = "https://www.googleapis.com/auth/cloud-platform";

const EXCHANGE: &[Told] = &[
    (
        "certificate",
        "the provider does not take the certificate",
        "compare the trust store of the provider with the authority of certificate_issuer, and the certificate's names with the attribute mapping",
    ),
    (
        "attribute condition",
        "the provider's attribute condition does not let this identity in",
        "compare the token's claims with the attribute condition and the attribute mapping of the provider",
    ),
    (
        "invalid_target",
        "the pool or its provider does not exist, or is disabled",
        "check audience in the settings against the provider's full name",
    ),
    (
        "audience",
        "the provider does not take a token for this audience",
        "have the token issued for one of the provider's allowed audiences",
    ),
    (
        "issuer",
        "the provider does not take a token of this issuer, or Google does not reach it",
        "compare the token's iss with the provider's issuer URI, which has to be reachable or have its keys uploaded",
    ),
    ("stale", "the token has expired", "get a new token, and check this machine's clock"),
    ("expired", "the token has expired", "get a new token, and check this machine's clock"),
];

const IMPERSONATION: &[Told] = &[
    (
        "PERMISSION_DENIED",
        "this identity may not act as the service account",
        "give the identity roles/iam.workloadIdentityUser on the service account, and have the IAM Credentials API enabled",
    ),
    ("NOT_FOUND", "there is no such service account", "check service_account in the settings"),
    (
        "INVALID_ARGUMENT",
        "a value of the request is not allowed",
        "check scopes and lifetime in the settings; more than 1h needs a policy of the organisation",
    ),
];
