//! Signing out of what the operating system's store keeps: at the issuer, then there, and read back to prove it.
//! A session that ends, or an identity that nobody is signed in for, comes in; what was ended, and what not, goes out in words.
//! Deletes whatever is there, damaged or not: what cannot be revoked is deleted all the same.

use std::rc::Rc;
use std::time::Instant;

use credmint_identities::{Caller, Provider, identity_reads};
use credmint_local_machine::clock;
use credmint_os_store::StoreError;
use credmint_settings::{CallerReads, Identity, OidcIdentity, Person};
use credmint_vocabulary::{Deadline, Secret};

use crate::agent::Agent;
use crate::logout::{Account, ONE_REVOCATION};
use crate::recipe::session_of;
use crate::sessions::{self, Session, Source, Stored};

/// An identity that may be remembered though nobody is signed in for it here.
pub(crate) struct Other {
    name: String,
    item: String,
    identity: OidcIdentity,
}

/// Lists those of some identities that have no session among these.
pub(crate) fn others<'a>(meant: impl Iterator<Item = (&'a str, &'a Identity)>, sessions: &[Rc<Session>]) -> Vec<Other> {
    let without = meant.filter(|(name, identity)| {
        let key = session_of(name, identity);
        !sessions.iter().any(|session| Some(session.sign_in.0) == key && session.remembering.get().is_some())
    });
    let other = |(name, identity): (&str, &Identity)| match identity {
        Identity::Oidc(person) => {
            let item = sessions::item(name, Person::Oidc(person))?;
            Some(Other { name: name.to_owned(), item, identity: (**person).clone() })
        }
        _ => None,
    };
    without.filter_map(other).collect()
}

/// Lists what revoking reads from the caller: secrets of clients.
pub(crate) fn reads(others: &[Other]) -> CallerReads {
    let mut all = CallerReads::default();
    for other in others {
        let reads = identity_reads(&Identity::Oidc(Box::new(other.identity.clone())));
        all.environment.extend(reads.environment);
        all.files.extend(reads.files);
    }
    all
}

/// Ends what is kept for an identity without a session.
pub(crate) async fn end(agent: &Agent, other: &Other, caller: &Caller, deadline: Deadline, account: &mut Account) {
    let read = Stored::read(&agent.keyring, &other.item).await;
    if let Ok(Some(stored)) = &read {
        let step = deadline.at_most(Instant::now(), ONE_REVOCATION);
        let own = caller.of_identity(&other.identity);
        let revoked = match Provider::discover(&other.identity, &own, &agent.https, step).await {
            Ok(provider) => provider.revoke_refresh(&stored.refresh, &agent.https, clock::now(), step).await,
            Err(error) => Err(error),
        };
        let name = &other.name;
        account.note(
            revoked
                .map(|()| format!("{name}: the remembered sign-in is revoked at the issuer"))
                .map_err(|error| format!("{name}: the remembered sign-in is not revoked at the issuer: {error}")),
        );
    }
    delete(agent, (&other.name, &other.item), read.err(), account).await;
}

/// Ends what is kept of a session, which is revoked already; a token that another process left there is revoked, too.
pub(crate) async fn forget(agent: &Agent, session: &Session, deadline: Deadline, account: &mut Account) {
    let Some(remembering) = session.remembering.get() else { return };
    let (item, was_kept) = (remembering.item(), remembering.words().0.is_some());
    remembering.close();
    let read = Stored::read(&agent.keyring, item).await;
    if let Ok(Some(stored)) = &read {
        let kept = session.kept().ok();
        let own = kept.as_ref().and_then(|kept| kept.tokens.refresh.as_ref());
        if own.map(sessions::token_digest) != Some(sessions::token_digest(&stored.refresh)) {
            account.note(revoked(agent, session, &stored.refresh, deadline).await);
        }
    }
    match read {
        Err(error @ StoreError::Absent { .. }) if was_kept => account.remains.push(not_deleted(&session.name, &error)),
        read => delete(agent, (&session.name, item), read.err(), account).await,
    }
}

async fn revoked(
    agent: &Agent,
    session: &Session,
    refresh: &Secret<String>,
    deadline: Deadline,
) -> Result<String, String> {
    let name = &session.name;
    match &session.source {
        Source::Provider(provider) => {
            let step = deadline.at_most(Instant::now(), ONE_REVOCATION);
            let revoked = provider.revoke_refresh(refresh, &agent.https, clock::now(), step).await;
            revoked
                .map(|()| format!("{name}: what another process had renewed is revoked, too"))
                .map_err(|error| format!("{name}: what another process had renewed is not revoked: {error}"))
        }
        // A Vault's token is never remembered.
        Source::Vault(_) => Ok(format!("{name}: there was nothing else to revoke")),
        #[cfg(test)]
        Source::Scripted(_) => Ok(format!("{name}: revoked")),
    }
}

async fn delete(agent: &Agent, (name, item): (&str, &str), unread: Option<StoreError>, account: &mut Account) {
    match sessions::forget(&agent.keyring, item).await {
        Ok(true) => {
            account.done.push(format!("{name}: what was remembered is deleted, and was looked for afterwards"));
            // What could not be read is not revoked either.
            let damaged = unread.map(|error| format!("{name}: {error}; it is deleted, but not revoked at the issuer"));
            account.failed.extend(damaged);
        }
        Ok(false) | Err(StoreError::Absent { .. }) => {}
        Err(error) => account.remains.push(not_deleted(name, &error)),
    }
}

fn not_deleted(name: &str, error: &StoreError) -> String {
    format!("{name}: what may be remembered is not deleted: {}", sessions::why(error))
}
