//! A renewal that lands after its session was signed out of: the new refresh token is nobody's, is revoked, and is not remembered.
//! A session whose renewal is under way comes in; nothing goes out.
//! Waits in the background, no longer than a renewal may take, and keeps the agent for that long.

use std::rc::Rc;
use std::time::{Duration, Instant};

use credmint_vocabulary::Deadline;

use crate::agent::Agent;
use crate::sessions::{Kept, Session, Source};

/// Revokes what the renewal brings, when it is there.
pub(crate) fn revoke_when_it_lands(agent: &Rc<Agent>, session: &Rc<Session>) {
    let (agent, session) = (Rc::clone(agent), Rc::clone(session));
    let before = session.kept().ok();
    // Taken at once: the agent is not idle until the task runs.
    let busy = Rc::clone(&agent.busy);
    tokio::task::spawn_local(async move {
        let _busy = busy;
        session.rest(Deadline::after(Instant::now(), LATEST)).await;
        let is_new = |kept: &Rc<Kept>| !before.as_ref().is_some_and(|before| Rc::ptr_eq(before, kept));
        if session.kept().ok().is_some_and(|kept| is_new(&kept)) {
            drop_late(&agent, &session).await;
        }
    });
}

/// Ends what came too late to be anybody's: in the store, and at the issuer.
pub(crate) async fn drop_late(agent: &Agent, session: &Session) {
    if let Ok(kept) = session.kept() {
        forget(agent, session, &kept).await;
        revoke(agent, session, &kept).await;
        agent.https.forget();
    }
}

/// A store that was slow may have got it after what it kept was deleted.
async fn forget(agent: &Agent, session: &Session, kept: &Kept) {
    if let (Some(remembering), Some(refresh)) = (session.remembering.get(), &kept.tokens.refresh) {
        remembering.forget_only(&agent.keyring, refresh).await;
    }
}

/// What cannot be revoked ends by itself: the person has been told that it may.
async fn revoke(agent: &Agent, session: &Session, kept: &Kept) {
    match &session.source {
        Source::Provider(provider) => {
            let step = Deadline::after(Instant::now(), ONE_REVOCATION);
            let now = credmint_local_machine::clock::now();
            let _ = provider.revoke(&kept.tokens, &agent.https, now, step).await;
        }
        // The same client token: a renewal that came later than the revocation was refused, unless that was not heard.
        Source::Vault(vault) => {
            if let Some(lease) = vault.lease(&kept.tokens) {
                let step = Deadline::after(Instant::now(), ONE_REVOCATION);
                let _ = credmint_issuers::revoke(lease, &agent.https, step).await;
            }
        }
        #[cfg(test)]
        Source::Scripted(script) => script.note_revoked(&kept.tokens),
    }
}

/// Longer than a renewal may take.
const LATEST: Duration = Duration::from_secs(30);
const ONE_REVOCATION: Duration = Duration::from_secs(4);
