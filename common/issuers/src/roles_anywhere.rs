//! `kind = "aws-roles-anywhere"`: keys for a role, given for a certificate; then perhaps for other roles, given for those keys.
//! The settings, a client identity that another issuer made and the subject token come in, temporary keys go out.
//! The key signs here and stays here; the token is sent nowhere. Roles Anywhere user guide, "Signing process for IAM Roles Anywhere".

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use credmint_client_identity::{ClientIdentity, KeyError};
use credmint_https::Answer;
use credmint_identities::SubjectToken;
use credmint_settings::RolesAnywhere;
use credmint_vocabulary::{Secret, Timestamp};
use http::header;
use serde::{Deserialize, Serialize};

use crate::access_keys::{AccessKeys, account_of};
use crate::authority::{Authority, is_page};
use crate::aws::json_refusal;
use crate::aws::role::{Chain, Dated, Limits, ON_THE_WAY, granted, place, session_name};
use crate::error::GrantError;
use crate::grant::{Grant, World};
use crate::prepared::known;
use crate::template::fill;
use crate::wiped::{secret, to_json};
use credmint_identities::aws::signature::{Request, Scope, query, with_certificate};

const JSON: &str = "application/json";
const PATH: &str = "/sessions";
/// How far AWS lets two clocks differ, less a little.
const SKEW: u64 = 240;

/// Asks for a session of the role, then for the roles that follow it.
pub(crate) async fn grant(
    settings: &RolesAnywhere,
    subject: Option<&SubjectToken>,
    world: &World<'_>,
) -> Result<Grant, GrantError> {
    let identity = world.certificate.ok_or(GrantError::NoCertificate)?;
    let named = settings.session_name.as_ref().map(|template| fill(template, known(subject))).transpose()?;
    let named = named.map(|name| session_name(&name));
    let address = settings.address();
    let authority = Authority::at(&address, &settings.peer, world)?;
    let dated = session(settings, named.as_deref(), identity, &authority, world).await?;
    let sts_address = settings.sts_address();
    let sts = Authority::at(&sts_address, &settings.peer, world)?;
    let session = named.unwrap_or_else(|| session_name(&identity.serial().replace(':', "")));
    let limits = Limits { duration: settings.duration, policy: None, policy_arns: &[] };
    let chain = Chain { then: &settings.then, session: &session, limits, region: settings.region() };
    granted(chain.assume(dated, &sts, world).await?, &authority, world)
}

/// Asks for the session; once more with the server's time when the clocks differ too much for the first signature.
async fn session(
    settings: &RolesAnywhere,
    named: Option<&str>,
    identity: &ClientIdentity,
    authority: &Authority<'_>,
    world: &World<'_>,
) -> Result<Dated, GrantError> {
    let answer = ask(settings, named, identity, authority, world.now).await?;
    let theirs = answer.date().filter(|theirs| theirs.unix().abs_diff(world.now.unix()) > SKEW);
    let answer = match theirs.filter(|_| answer.status.is_client_error()) {
        Some(theirs) => ask(settings, named, identity, authority, theirs).await?,
        None => answer,
    };
    read(answer, settings, authority, world)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Wanted<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    role_session_name: Option<&'a str>,
}

async fn ask(
    settings: &RolesAnywhere,
    named: Option<&str>,
    identity: &ClientIdentity,
    authority: &Authority<'_>,
    now: Timestamp,
) -> Result<Answer, GrantError> {
    let own = settings.duration.map(|life| life.as_secs());
    let duration_seconds = if settings.then.is_empty() { own } else { Some(ON_THE_WAY) };
    let body = to_json(&Wanted { duration_seconds, role_session_name: named });
    let query = query(&[
        ("profileArn", settings.profile_arn.as_str()),
        ("roleArn", settings.role_arn.as_str()),
        ("trustAnchorArn", settings.trust_anchor_arn.as_str()),
    ]);
    let (host, prefix) = place(authority.address)?;
    let path = format!("{}{PATH}", prefix.trim_end_matches('/'));
    let scope = Scope { region: settings.region(), service: "rolesanywhere", now };
    let (leaf, above) = shown(identity);
    let time = scope.time();
    let mut headers = vec![("content-type", JSON), ("host", &host), ("x-amz-date", &time), ("x-amz-x509", &leaf)];
    headers.extend((!above.is_empty()).then_some(("x-amz-x509-chain", above.as_str())));
    let request = Request { method: "POST", path: &path, query: &query, headers: &headers, body: &body };
    let authorization = with_certificate(&request, identity, scope).map_err(|error| of_key(error, settings))?;
    let sent = authority.request("POST", &format!("{PATH}?{query}")).header(header::AUTHORIZATION, authorization);
    let own = headers.iter().filter(|(name, _)| *name != "host");
    let sent = own.fold(sent, |sent, (name, value)| sent.header(*name, *value));
    authority.send(sent.body(body.to_vec()), None).await
}

/// Writes the certificate, and those above it without the trust anchor, as base64 of DER.
fn shown(identity: &ClientIdentity) -> (String, String) {
    let mut path = identity.certificates_der().iter().map(|der| STANDARD.encode(der));
    (path.next().unwrap_or_default(), path.collect::<Vec<_>>().join(","))
}

fn of_key(error: KeyError, settings: &RolesAnywhere) -> GrantError {
    match error {
        KeyError::NoSignature => GrantError::Settings(format!(
            "Roles Anywhere takes RSA and ECDSA keys, and issuer `{}` certifies another: set `key` in its table",
            settings.certificate_issuer
        )),
        error => error.into(),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answered {
    credential_set: Vec<Given>,
}

#[derive(Deserialize)]
struct Given {
    credentials: Keys,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Keys {
    access_key_id: String,
    #[serde(deserialize_with = "secret")]
    secret_access_key: Secret<String>,
    #[serde(deserialize_with = "secret")]
    session_token: Secret<String>,
    expiration: String,
}

/// Takes the keys out of a success, and makes an error of everything else.
fn read(
    answer: Answer,
    settings: &RolesAnywhere,
    authority: &Authority<'_>,
    world: &World<'_>,
) -> Result<Dated, GrantError> {
    if !answer.status.is_success() {
        let what = format!("a session of {}", settings.role_arn);
        return match json_refusal::refused(&authority.who, &what, &answer, world.now) {
            Some(error) => Err(error),
            None => authority.judge(answer, "a session").and(Err(authority.malformed("a status of no meaning"))),
        };
    }
    let what = if is_page(&answer) { "an HTML page" } else { "no JSON with the keys in it" };
    let keys = keys(&answer, settings).filter(AccessKeys::are_fit).ok_or_else(|| authority.malformed(what))?;
    Ok((keys, answer.date()))
}

fn keys(answer: &Answer, settings: &RolesAnywhere) -> Option<AccessKeys> {
    let answered: Answered = serde_json::from_slice(&answer.body).ok()?;
    let Given { credentials } = answered.credential_set.into_iter().next()?;
    Some(AccessKeys {
        access_key_id: credentials.access_key_id,
        secret_access_key: credentials.secret_access_key,
        session_token: credentials.session_token,
        account_id: account_of(&settings.role_arn),
        expires: Timestamp::from_rfc3339(&credentials.expiration).ok()?,
    })
}
