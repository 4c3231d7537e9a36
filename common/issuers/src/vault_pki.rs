//! `kind = "vault-pki"`: a certificate from a PKI secrets engine for a key that we make.
//! Templates and the subject token come in, a client identity that was checked against what was asked goes out.
//! The private key never leaves: a certification request is sent. <https://openbao.org/api-docs/secret/pki/#sign-certificate>

mod reading;
mod role;
mod rules;
mod second;

use std::time::{Duration, Instant};

use credmint_client_identity::{Asked, ClientIdentity, KeyAlgorithm, Names, PrivateKey, SigningRequest};
use credmint_identities::SubjectToken;
use credmint_settings::VaultPki;
use credmint_vocabulary::{Expiry, Secret};
use vaultrs::api::pki::requests::SignCertificateRequest;
use vaultrs::api::pki::responses::SignCertificateResponse;

use crate::error::GrantError;
use crate::grant::{Grant, Granted, World};
use crate::lease::revoke;
use crate::prepared::{clock_note, generate_key, known, names};
use crate::vault::{Envelope, Line, Reply, check_path, check_role, give_back, log_in, told};

pub use rules::{Effect, Finding};

use reading::Rules;
use rules::{Wanted, fit};

/// Holds what is ready before anybody is asked.
struct Prepared {
    algorithm: KeyAlgorithm,
    key: PrivateKey,
    request: SigningRequest,
    asked: Asked,
    /// What is asked for this time; `asked` has what the settings say.
    ttl: Option<Duration>,
}

impl Prepared {
    fn wanted(&self) -> Wanted<'_> {
        Wanted { key: self.algorithm, names: &self.asked.names, ttl: self.ttl }
    }
}

/// Holds what the engine signed, checked.
struct Signed {
    identity: ClientIdentity,
    notes: Vec<String>,
    leased: bool,
}

/// Logs in, has a fresh key signed, and checks what came back.
pub(crate) async fn grant(
    settings: &VaultPki,
    subject: Option<&SubjectToken>,
    world: &World<'_>,
) -> Result<Grant, GrantError> {
    let began = (world.now, Instant::now());
    let prepared = prepare(asked(settings, subject)?, settings.key.unwrap_or_default()).await?;
    let (server, session) = log_in(&settings.login, subject, world).await?;
    let line = Line { began, ..Line::new(&server, world.https, world.now, world.deadline) };
    match certify(settings, prepared, &line, &session.token).await {
        Ok(signed) => {
            let lease = session.lease(&server, "");
            let ends_early = ends_with_the_login(&signed, session.expires.filter(|_| session.ours));
            let notes = session.notes.into_iter().chain(signed.notes).chain(ends_early).collect();
            Ok(Grant { credential: Granted::Identity(signed.identity), notes, lease })
        }
        Err(error) => Err(give_back(error, &server, &session, world).await),
    }
}

/// Has the request signed; a refusal is explained by the role, and answered by one more try where that says what would do.
async fn certify(
    settings: &VaultPki,
    prepared: Prepared,
    line: &Line<'_>,
    token: &Secret<String>,
) -> Result<Signed, GrantError> {
    match sign(settings, &prepared, line, token).await {
        Ok(reply) => assemble(prepared, &reply, line),
        Err(refusal) if second::is_about_the_request(&refusal) => {
            second::second_try(settings, prepared, refusal, line, token).await
        }
        Err(error) => Err(error),
    }
}

/// Tells what the rules of role and authority do to a request, without making one.
pub(crate) async fn preflight(
    settings: &VaultPki,
    subject: Option<&SubjectToken>,
    world: &World<'_>,
) -> Result<Vec<Finding>, GrantError> {
    let asked = asked(settings, subject)?;
    let (server, session) = log_in(&settings.login, subject, world).await?;
    let line = Line::new(&server, world.https, world.now, world.deadline);
    let rules = Rules::read(settings, &line, &session.token).await;
    if let Some(lease) = session.lease(&server, "") {
        // What is not given back ends by itself.
        let _ = revoke(lease, world.https, world.deadline).await;
    }
    let preferred = settings.key.unwrap_or_default();
    let open = rules.role.as_ref().ok().filter(|_| settings.key.is_none()).and_then(|role| fit(role, preferred));
    let wanted = Wanted { key: open.unwrap_or(preferred), names: &asked.names, ttl: asked.ttl };
    Ok(rules.unread(&settings.mount).into_iter().chain(rules.judge(wanted, line.now())).collect())
}

/// Fills the templates in; what the settings name must be fit for a path.
fn asked(settings: &VaultPki, subject: Option<&SubjectToken>) -> Result<Asked, GrantError> {
    check_path("mount", &settings.mount)?;
    check_role(&settings.role)?;
    Ok(Asked { names: names(&settings.names, known(subject))?, ttl: settings.ttl })
}

async fn prepare(asked: Asked, algorithm: KeyAlgorithm) -> Result<Prepared, GrantError> {
    let key = generate_key(algorithm).await?;
    let request = SigningRequest::new(&key, &asked.names)?;
    Ok(Prepared { algorithm, key, request, ttl: asked.ttl, asked })
}

/// Asks for the signature. Names stand in the request and in the parameters: which of the two counts is the role's choice
/// (`use_csr_common_name`, `use_csr_sans`), and what the role ignores comes back as a warning.
async fn sign(
    settings: &VaultPki,
    prepared: &Prepared,
    line: &Line<'_>,
    token: &Secret<String>,
) -> Result<Reply, GrantError> {
    let names = &prepared.asked.names;
    let request = SignCertificateRequest {
        mount: settings.mount.clone(),
        role: settings.role.clone(),
        csr: Some(prepared.request.pem().to_owned()),
        common_name: names.common_name.clone(),
        alt_names: joined(names.dns_names.iter().chain(&names.email_addresses)),
        ip_sans: joined(names.ip_addresses.iter()),
        uri_sans: joined(names.uris.iter()),
        exclude_cn_from_sans: Some(!is_also_alternative(names)),
        ttl: prepared.ttl.map(|ttl| format!("{}s", ttl.as_secs())),
        ..SignCertificateRequest::default()
    };
    let path = format!("{}/sign/{}", settings.mount, settings.role);
    Reply::judge(&line.server.who, &path, line.send(request, Some(token)).await?, line.now())
}

fn joined(names: impl Iterator<Item = impl ToString>) -> Option<String> {
    let all: Vec<_> = names.map(|name| name.to_string()).collect();
    (!all.is_empty()).then(|| all.join(","))
}

/// Tells whether the common name is asked for as an alternative name too; else Vault must not add it by itself.
fn is_also_alternative(names: &Names) -> bool {
    let Some(common_name) = &names.common_name else { return false };
    names.dns_names.contains(common_name) || names.email_addresses.contains(common_name)
}

/// Checks the answer and tells all in which it is not what was asked.
fn assemble(prepared: Prepared, reply: &Reply, line: &Line<'_>) -> Result<Signed, GrantError> {
    let envelope: Envelope<SignCertificateResponse> = reply.read()?;
    let answer = envelope.data.ok_or_else(|| reply.malformed("an answer without `data`"))?;
    let mut chain = answer.ca_chain.unwrap_or_default();
    chain.push(answer.issuing_ca);
    let mut notes = told(&line.server.who, envelope.warnings.as_deref());
    let assembled = ClientIdentity::assemble(prepared.key, &answer.certificate, &chain, &prepared.asked, line.now());
    let (identity, differences) = assembled
        .map_err(|error| GrantError::Certificate { error, clock: clock_note(reply.clock_ahead, &line.server.who) })?;
    notes.extend(differences.iter().map(ToString::to_string));
    notes.extend(clock_note(reply.clock_ahead, &line.server.who));
    Ok(Signed { identity, notes, leased: !envelope.lease_id.is_empty() })
}

/// Tells a trap of roles with `generate_lease`: such a certificate is revoked when the token that asked for it ends.
fn ends_with_the_login(signed: &Signed, login_ends: Option<Expiry>) -> Option<String> {
    let end = login_ends.filter(|end| signed.leased && *end < signed.identity.not_after())?;
    Some(format!(
        "the role leases its certificates (generate_lease): this one is revoked when the login ends, at {end}"
    ))
}
