//! `kind = "local-ca"`: an authority in the agent's memory, for trying things out and for `credmint demo`.
//! An issuer's name and a template come in, a client identity signed on the spot goes out.
//! Touches no network and no disk; the authority dies with the agent.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use credmint_client_identity::{Asked, Authority, AuthorityError, ClientIdentity, Names, SigningRequest};
use credmint_identities::SubjectToken;
use credmint_settings::LocalCa;
use credmint_vocabulary::Timestamp;

use crate::error::GrantError;
use crate::grant::{Grant, Granted, World};
use crate::prepared::{generate_key, known};
use crate::template::{fill, fill_list};

/// Keeps the authorities by the name of their issuer.
#[derive(Debug, Default)]
pub struct Authorities(Mutex<BTreeMap<String, Authority>>);

/// How long an authority lives: longer than any agent.
const LIFE: Duration = Duration::from_secs(365 * 24 * 3600);

impl Authorities {
    /// Takes all of them out, with the names of their issuers.
    #[must_use]
    pub fn take(&self) -> BTreeMap<String, Authority> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts one in.
    pub fn put(&self, issuer_name: String, authority: Authority) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(issuer_name, authority);
    }

    /// Lends the authority of an issuer; makes it when there is none yet, or when it is over.
    pub(crate) fn with<T>(
        &self,
        issuer_name: &str,
        now: Timestamp,
        use_it: impl FnOnce(&Authority) -> Result<T, AuthorityError>,
    ) -> Result<T, AuthorityError> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, authority| authority.not_after() > now);
        if let Some(authority) = all.get(issuer_name) {
            return use_it(authority);
        }
        let authority = Authority::new(&format!("credmint local-ca {issuer_name}"), LIFE, now)?;
        let done = use_it(&authority);
        all.insert(issuer_name.to_owned(), authority);
        done
    }
}

/// Signs a fresh key with the names that the templates give.
pub(crate) async fn grant(
    issuer_name: &str,
    settings: &LocalCa,
    subject: Option<&SubjectToken>,
    world: &World<'_>,
) -> Result<Grant, GrantError> {
    let known = known(subject);
    let uris = fill_list(&settings.uris, known)?;
    let names = Names { common_name: Some(fill(&settings.common_name, known)?), uris, ..Names::default() };
    let key = generate_key(settings.key).await?;
    let request = SigningRequest::new(&key, &names)?;
    let sign = |authority: &Authority| {
        let certificate = authority.sign(&request, settings.ttl, world.now)?;
        Ok((certificate, authority.certificate_pem().to_owned()))
    };
    let (certificate, anchor) = world.authorities.with(issuer_name, world.now, sign)?;
    let asked = Asked { names, ttl: Some(settings.ttl) };
    let (identity, differences) = ClientIdentity::assemble(key, &certificate, &[anchor], &asked, world.now)?;
    let notes = differences.iter().map(ToString::to_string).collect();
    Ok(Grant { credential: Granted::Identity(identity), notes, lease: None })
}
