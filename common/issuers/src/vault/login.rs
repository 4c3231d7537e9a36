//! Logs in to Vault or OpenBao by one of its auth methods.
//! The settings' method, the subject token and what the caller sent come in, a client token with its life goes out.
//! Sends the subject token nowhere but to the login path. <https://openbao.org/api-docs/auth/>

use std::sync::Arc;

use credmint_client_identity::{Asked, ClientIdentity, Names, PrivateKey};
use credmint_identities::{AWS_METHOD, Claims, SubjectToken, read_source, source_name};
use credmint_settings::{Source, VaultAuth, VaultLogin};
use credmint_vocabulary::{Expiry, Secret};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use zeroize::Zeroizing;

use crate::error::GrantError;
use crate::grant::{World, needed};
use crate::lease::Lease;
use crate::vault::answer::{Reply, told};
use crate::vault::lease::Lent;
use crate::vault::metadata::{Metadata, metadata};
use crate::vault::server::{Server, check_path, check_role};
use crate::vault::transport::{Call, Line};
use crate::wiped::{secret, to_json};

/// Holds a client token.
#[derive(Debug)]
pub(crate) struct Session {
    /// The client token.
    pub(crate) token: Secret<String>,
    /// When it ends, if it does and we know.
    pub(crate) expires: Option<Expiry>,
    /// Whether we got it for ourselves and it can be given back.
    pub(crate) ours: bool,
    /// Warnings of the server.
    pub(crate) notes: Vec<String>,
}

impl Session {
    /// Makes what must be revoked when the credential is dropped; `None` for tokens that are not ours or cannot be revoked.
    pub(crate) fn lease(&self, server: &Server, lease_id: &str) -> Option<Lease> {
        let lease_id = Some(lease_id).filter(|id| !id.is_empty()).map(str::to_owned);
        let token = self.token.copied();
        (self.ours || lease_id.is_some()).then(|| Lent::lease(server.clone(), token, self.ours, lease_id))
    }
}

/// Holds the answer to a login.
#[derive(Deserialize)]
struct Answered {
    auth: Option<Auth>,
    #[serde(default)]
    warnings: Option<Vec<String>>,
}

/// Holds what a login gave.
#[derive(Deserialize)]
pub(crate) struct Auth {
    #[serde(deserialize_with = "secret")]
    pub(crate) client_token: Secret<String>,
    #[serde(default)]
    pub(crate) lease_duration: u64,
    #[serde(default)]
    pub(crate) renewable: bool,
    #[serde(default)]
    pub(crate) token_type: String,
    #[serde(default)]
    pub(crate) entity_id: String,
    /// What the auth method noted about who logged in.
    #[serde(default, deserialize_with = "metadata")]
    pub(crate) metadata: Metadata,
    /// Present when the login is only half done; vaultrs drops it.
    #[serde(default)]
    mfa_requirement: Option<IgnoredAny>,
}

/// Logs in; the server in the answer trusts and presents what the auth method needs.
pub(crate) async fn log_in(
    login: &VaultLogin,
    subject: Option<&SubjectToken>,
    world: &World<'_>,
) -> Result<(Server, Session), GrantError> {
    let mut server = Server::of(login)?;
    let session = match &login.auth {
        VaultAuth::Token { token } => given(token, world).await?,
        VaultAuth::Identity => of_identity(&server, subject)?,
        VaultAuth::Cert { mount, role, certificate, key } => {
            server.trust.client = Some(Arc::new(client_identity(certificate, key, world).await?));
            let body = role.as_ref().map_or_else(|| json!({}), |role| json!({"name": role}));
            role.as_deref().map(check_role).transpose()?;
            send(&server, mount, to_json(&body), world).await?
        }
        VaultAuth::Jwt { mount, role } | VaultAuth::Kubernetes { mount, role } => {
            send(&server, mount, with_jwt(role, needed(subject)?)?, world).await?
        }
        VaultAuth::Aws { mount, role } => send(&server, mount, with_request(role.as_deref(), subject)?, world).await?,
        VaultAuth::AppRole { mount, role_id, secret_id } => {
            let secret_id = read(secret_id, "the AppRole secret ID", world).await?;
            let body = to_json(&AppRole { role_id, secret_id: secret_id.expose() });
            send(&server, mount, body, world).await?
        }
        _ => return Err(GrantError::Settings("an auth method that this version does not know".to_owned())),
    };
    Ok((server, session))
}

#[derive(serde::Serialize)]
struct AppRole<'a> {
    role_id: &'a str,
    secret_id: &'a str,
}

#[derive(serde::Serialize)]
struct Jwt<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    role: &'a str,
    jwt: &'a str,
}

fn with_jwt(role: &str, subject: &SubjectToken) -> Result<Zeroizing<Vec<u8>>, GrantError> {
    if !role.is_empty() {
        check_role(role)?;
    }
    Ok(to_json(&Jwt { role, jwt: subject.token.expose() }))
}

/// Puts the role in front of the signed request, which is an object in JSON.
fn with_request(role: Option<&str>, subject: Option<&SubjectToken>) -> Result<Zeroizing<Vec<u8>>, GrantError> {
    role.map(check_role).transpose()?;
    let subject = subject.ok_or(GrantError::Nobody)?;
    let own = subject.home.as_deref() == Some(AWS_METHOD);
    let Some(rest) = subject.token.expose().strip_prefix('{').filter(|_| own) else {
        return Err(GrantError::Settings("the aws method wants a signed request of AWS, and this is none".to_owned()));
    };
    let role = role.map(|role| format!("\"role\":{},", json!(role))).unwrap_or_default();
    let mut body = Zeroizing::new(Vec::with_capacity(role.len() + rest.len() + 1));
    [b"{", role.as_bytes(), rest.as_bytes()].into_iter().for_each(|part| body.extend_from_slice(part));
    Ok(body)
}

async fn send(
    server: &Server,
    mount: &str,
    body: Zeroizing<Vec<u8>>,
    world: &World<'_>,
) -> Result<Session, GrantError> {
    check_path("auth mount", mount)?;
    let line = Line::new(server, world.https, world.now, world.deadline);
    let path = format!("auth/{mount}/login");
    let answer = line.send(Call::post(path.clone(), body), None).await?;
    let reply = Reply::judge(&server.who, &path, answer, line.now()).map_err(at_login)?;
    let (auth, warnings) = authenticated(&reply, &server.who)?;
    Ok(Session {
        token: auth.client_token,
        expires: life(auth.lease_duration, &line),
        ours: auth.token_type != "batch",
        notes: told(&server.who, warnings.as_deref()),
    })
}

pub(crate) fn at_login(error: GrantError) -> GrantError {
    match error {
        GrantError::Refused { who, path, status, class, reason } => {
            GrantError::Refused { who, path, status, class: class.at_login(), reason }
        }
        other => other,
    }
}

/// Takes the token out of an answer to a login, with the server's warnings; one that is only half done is none.
pub(crate) fn authenticated(reply: &Reply, who: &str) -> Result<(Auth, Option<Vec<String>>), GrantError> {
    let Answered { auth, warnings } = reply.read()?;
    let auth = auth.ok_or_else(|| reply.malformed("a login answer without `auth`"))?;
    if auth.mfa_requirement.is_some() {
        return Err(GrantError::MfaRequired { who: who.to_owned() });
    }
    if auth.client_token.is_empty() {
        return Err(reply.malformed("a login answer without client token"));
    }
    if !auth.client_token.expose().bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(GrantError::UnfitToken);
    }
    Ok((auth, warnings))
}

/// Turns a life in seconds into a point in time; 0 means that there is no end.
pub(crate) fn life(seconds: u64, line: &Line<'_>) -> Option<Expiry> {
    (seconds > 0).then(|| line.now().plus(std::time::Duration::from_secs(seconds)))
}

/// Takes a client token that the user has; it is not ours to revoke.
async fn given(source: &Source, world: &World<'_>) -> Result<Session, GrantError> {
    let token = read(source, "the Vault token", world).await?;
    Ok(Session { token, expires: None, ours: false, notes: Vec::new() })
}

/// Takes the client token of a person's sign-in; the session gives it back, not the grant.
fn of_identity(server: &Server, subject: Option<&SubjectToken>) -> Result<Session, GrantError> {
    let subject = subject.ok_or(GrantError::Nobody)?;
    if subject.home.as_ref() != Some(&server.home()) {
        let what = format!("the identity's token is no token of {}, and is not sent there", server.who);
        return Err(GrantError::Settings(what));
    }
    let expires = subject.claims.as_ref().and_then(Claims::exp);
    Ok(Session { token: subject.token.copied(), expires, ours: false, notes: Vec::new() })
}

/// Reads a source that has to have something.
pub(crate) async fn read(source: &Source, what: &'static str, world: &World<'_>) -> Result<Secret<String>, GrantError> {
    let found = read_source(source, world.caller, world.deadline).await?;
    found.ok_or_else(|| GrantError::SourceAbsent { what, place: source_name(source) })
}

/// Puts a client identity together from its two sources.
pub(crate) async fn client_identity(
    certificate: &Source,
    key: &Source,
    world: &World<'_>,
) -> Result<ClientIdentity, GrantError> {
    let path = read(certificate, "the client certificate", world).await?;
    let key = PrivateKey::from_pkcs8_pem(&read(key, "the client's private key", world).await?)?;
    let (first, rest) = split_path(path.expose());
    let asked = Asked { names: Names::default(), ttl: None };
    let (identity, _) = ClientIdentity::assemble(key, first, &[rest.to_owned()], &asked, world.now)?;
    Ok(identity)
}

/// Splits a PEM file after its first certificate.
fn split_path(pem: &str) -> (&str, &str) {
    const END: &str = "-----END CERTIFICATE-----";
    pem.find(END).map_or((pem, ""), |at| pem.split_at(at + END.len()))
}
