//! From a subject token to a credential: the one door of this room.
//! Issuer, subject token and the world around come in, a credential with notes and lease goes out.
//! Refuses an expired subject token before anything is sent anywhere.

use std::sync::Arc;
use std::time::Duration;

use credmint_client_identity::ClientIdentity;
use credmint_https::Https;
use credmint_identities::{Caller, SubjectToken};
use credmint_settings::Issuer;
use credmint_vocabulary::{Deadline, Expiry, Secret, Timestamp};

use crate::access_keys::AccessKeys;
use crate::error::GrantError;
use crate::lease::Lease;
use crate::local_ca::Authorities;
use crate::pending::PendingRequests;
use crate::vault_pki::Finding;
use crate::{
    aws_sts, azure, est, github_app, google_sts, kubernetes_token, local_ca, oidc, roles_anywhere, spiffe, step_ca,
    token_exchange, vault_pki, vault_secret, vault_token,
};

/// Holds what an issuer needs around it.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// The way out.
    pub https: &'a Https,
    /// What the caller sent along.
    pub caller: &'a Caller,
    /// The authorities of `local-ca`.
    pub authorities: &'a Authorities,
    /// What the issuer's `certificate_issuer` granted; none where the settings name none.
    pub certificate: Option<&'a Arc<ClientIdentity>>,
    /// What there is of earlier times.
    pub before: Before<'a>,
    /// The wall clock's time.
    pub now: Timestamp,
    /// When an answer is of no use any more.
    pub deadline: Deadline,
}

/// Holds what the agent still has of earlier times for the same entry.
#[derive(Clone, Copy)]
pub struct Before<'a> {
    /// Requests that were sent and are not answered yet.
    pub requests: &'a PendingRequests,
    /// Name of the entry among them.
    pub entry: [u8; 32],
    /// The certificate that is to be replaced; it is alive.
    pub present: Option<&'a Arc<ClientIdentity>>,
}

/// Holds what an issuer granted.
#[derive(Debug)]
pub struct Grant {
    /// The credential.
    pub credential: Granted,
    /// What a person may want to know: warnings, differences to what was asked, the clock.
    pub notes: Vec<String>,
    /// What must be revoked when the credential is dropped.
    pub lease: Option<Lease>,
}

/// Holds a credential of one of three kinds.
#[derive(Debug)]
pub enum Granted {
    /// A bearer token.
    Token(BearerToken),
    /// A private key with its certification path.
    Identity(ClientIdentity),
    /// Keys that requests to AWS are signed with.
    Keys(AccessKeys),
}

/// Holds a bearer token.
#[derive(Debug)]
pub struct BearerToken {
    /// The token.
    pub token: Secret<String>,
    /// When it ends, if anybody said so.
    pub expires: Option<Expiry>,
}

/// Tells whether a token can be a bearer token: it stands in a header.
pub(crate) fn stands_in_a_header(token: &Secret<String>) -> bool {
    !token.is_empty() && token.expose().bytes().all(|byte| byte.is_ascii_graphic())
}

impl Granted {
    /// Gives the time at which the credential ends, if it is known.
    #[must_use]
    pub fn expires(&self) -> Option<Expiry> {
        match self {
            Self::Token(token) => token.expires,
            Self::Identity(identity) => Some(identity.not_after()),
            Self::Keys(keys) => Some(keys.expires),
        }
    }
}

/// Asks the issuer for a credential.
///
/// # Errors
/// [`GrantError`] says whose turn it is and what to do next.
pub async fn grant(
    issuer_name: &str,
    issuer: &Issuer,
    subject: Option<&SubjectToken>,
    world: &World<'_>,
) -> Result<Grant, GrantError> {
    match issuer {
        // A certificate that is alive renews itself, whatever became of the token that it was got with.
        Issuer::Est(est) => return est::grant(est, subject, world).await,
        Issuer::StepCa(step) => return step_ca::grant(step, subject, world).await,
        _ => refuse_expired(subject, world.now)?,
    }
    match issuer {
        Issuer::VaultPki(pki) => vault_pki::grant(pki, subject, world).await,
        Issuer::VaultToken(token) => vault_token::grant(token, subject, world).await,
        Issuer::VaultSecret(secret) => vault_secret::grant(secret, subject, world).await,
        Issuer::Oidc(oidc) => oidc::grant(oidc, subject, world),
        Issuer::TokenExchange(exchange) => token_exchange::grant(exchange, subject, world).await,
        Issuer::Spiffe(workload) => spiffe::grant(workload, world).await,
        Issuer::LocalCa(authority) => local_ca::grant(issuer_name, authority, subject, world).await,
        Issuer::AwsSts(sts) => aws_sts::grant(sts, subject, world).await,
        Issuer::RolesAnywhere(anywhere) => roles_anywhere::grant(anywhere, subject, world).await,
        Issuer::GoogleSts(sts) => google_sts::grant(sts, subject, world).await,
        Issuer::Azure(azure) => azure::grant(azure, subject, world).await,
        Issuer::KubernetesToken(token) => kubernetes_token::grant(token, subject, world).await,
        Issuer::GithubApp(app) => github_app::grant(app, world).await,
        Issuer::Offline(_) => Err(GrantError::Offline),
        _ => Err(GrantError::Settings("an issuer of a kind that this version does not know".to_owned())),
    }
}

/// Tells what the issuer's rules do to the request that [`grant`] would make, as far as the issuer lets them be read. Makes
/// nothing; issuers without such rules have no findings.
///
/// # Errors
/// [`GrantError`] when nobody could be asked.
pub async fn preflight(
    issuer: &Issuer,
    subject: Option<&SubjectToken>,
    world: &World<'_>,
) -> Result<Vec<Finding>, GrantError> {
    refuse_expired(subject, world.now)?;
    match issuer {
        Issuer::VaultPki(pki) => vault_pki::preflight(pki, subject, world).await,
        _ => Ok(Vec::new()),
    }
}

/// How far our clock may be ahead of an issuer's before we refuse a token that it would still take.
const LEEWAY: Duration = Duration::from_secs(120);

/// Refuses a subject token that is over, before it is sent anywhere.
pub(crate) fn refuse_expired(subject: Option<&SubjectToken>, now: Timestamp) -> Result<(), GrantError> {
    let ended = subject.and_then(|subject| subject.claims.as_ref()?.exp());
    match ended {
        Some(ended) if ended.plus(LEEWAY) <= now => {
            Err(GrantError::Expired { ended, seconds: now.remaining(ended).as_secs() })
        }
        _ => Ok(()),
    }
}

/// Takes the subject token that most issuers cannot do without, if they may see it.
pub(crate) fn needed(subject: Option<&SubjectToken>) -> Result<&SubjectToken, GrantError> {
    let subject = subject.ok_or(GrantError::Nobody)?;
    match subject.home {
        Some(_) => Err(GrantError::Settings("a token of a Vault is sent to that Vault alone, and not here".to_owned())),
        None => Ok(subject),
    }
}
