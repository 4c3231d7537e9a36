//! Going on with a sign-in that an agent before this one left in the operating system's store.
//! An identity that nobody is signed in for comes in; its session goes out, or nothing, or why it cannot be had.
//! One flight an identity: it goes to its end whoever goes away, because the issuer may have taken the old refresh token.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::time::{Duration, Instant};

use credmint_agent_protocol::SessionStatus;
use credmint_identities::{Caller, Provider, Tokens};
use credmint_os_store::StoreError;
use credmint_settings::{OidcIdentity, Person};
use credmint_vocabulary::{Deadline, Failure, FailureKind};
use tokio::sync::watch;
use tokio::time::timeout_at;

use super::SessionKey;
use super::keyring::PATIENCE;
use super::remembering::{Remembering, Stored, item, why};
use super::renewing::renewed;
use super::session::{Session, WHOLE_FLIGHT};
use super::source::{NotRenewed, Source};
use crate::agent::Agent;
use crate::{failure, late_renewal};

type Outcome = Result<Option<Rc<Session>>, Failure>;
type Landing = watch::Receiver<Option<Outcome>>;

/// Who is being restored, and for whom it is not to be tried again.
#[derive(Default)]
pub(crate) struct Restoring {
    flights: RefCell<HashMap<SessionKey, Landing>>,
    /// Had a session in this agent: what is in the store is that one's, or was put there by nobody that we know.
    known: RefCell<HashSet<SessionKey>>,
    /// When there was nothing.
    nothing: RefCell<HashMap<SessionKey, Instant>>,
}

impl Restoring {
    /// Restores nobody any more for this identity.
    pub(super) fn no_more(&self, key: SessionKey) {
        self.known.borrow_mut().insert(key);
    }

    /// Waits for all flights, and lets nobody wait any longer for what has not landed by then: it lands as nobody's. Who signs out
    /// must not be signed in by what was under way.
    pub(crate) async fn rest_all(&self, deadline: Deadline) {
        let keys: Vec<_> = self.flights.borrow().keys().copied().collect();
        for key in keys {
            self.rest(key, deadline).await;
        }
        self.flights.take();
    }

    /// Ends a flight and tells whether anybody still wants what it brings.
    fn land(&self, key: SessionKey, flight: &Landing) -> bool {
        let mut flights = self.flights.borrow_mut();
        let wanted = flights.get(&key).is_some_and(|known| known.same_channel(flight));
        if wanted {
            flights.remove(&key);
        }
        wanted
    }

    /// Waits for a flight that is under way.
    pub(crate) async fn rest(&self, key: SessionKey, deadline: Deadline) {
        let flight = self.flights.borrow().get(&key).cloned();
        if let Some(mut flight) = flight {
            let _ = timeout_at(deadline.instant().into(), flight.wait_for(Option::is_some)).await;
        }
    }

    /// Tells whether one is under way.
    pub(crate) fn is_under_way(&self) -> bool {
        !self.flights.borrow().is_empty()
    }

    fn is_in_vain(&self, key: SessionKey) -> bool {
        let lately = |then: &Instant| then.elapsed() < NOTHING_FOR;
        self.known.borrow().contains(&key) || self.nothing.borrow().get(&key).is_some_and(lately)
    }
}

/// Takes up the sign-in of an identity, if its settings want that, the store has one, and this agent never had one.
pub(crate) async fn restore(
    agent: &Rc<Agent>,
    (name, key): (&str, SessionKey),
    person: Person<'_>,
    caller: &Caller,
    deadline: Deadline,
) -> Outcome {
    let (Some(item), Person::Oidc(identity)) = (item(name, person), person) else { return Ok(None) };
    if !may_be(agent, identity) || agent.sessions.restoring.is_in_vain(key) {
        return Ok(None);
    }
    let flying = agent.sessions.restoring.flights.borrow().get(&key).cloned();
    let mut landing = flying.unwrap_or_else(|| {
        let (sender, landing) = watch::channel(None);
        agent.sessions.restoring.flights.borrow_mut().insert(key, landing.clone());
        let one = One { name: name.to_owned(), key, item, identity: identity.clone() };
        let own = caller.of_identity(identity);
        tokio::task::spawn_local(fly(Rc::clone(agent), one, own, sender));
        landing
    });
    let landed = timeout_at(deadline.instant().into(), landing.wait_for(Option::is_some)).await;
    match landed {
        Ok(Ok(outcome)) => outcome.clone().unwrap_or(Ok(None)),
        _ => Err(failure::not_renewed(name)),
    }
}

/// Tells whether this agent stays to keep it, and nobody wants an end to it that the store does not know.
fn may_be(agent: &Agent, identity: &OidcIdentity) -> bool {
    agent.bridge.is_some() && identity.lifetime.is_none()
}

/// Whose sign-in is taken up.
struct One {
    name: String,
    key: SessionKey,
    item: String,
    identity: OidcIdentity,
}

async fn fly(agent: Rc<Agent>, one: One, caller: Caller, sender: watch::Sender<Option<Outcome>>) {
    let flight = sender.subscribe();
    let outcome = taken_up(&agent, &one, &caller).await;
    if !agent.sessions.restoring.land(one.key, &flight) {
        if let Ok(Some(session)) = outcome {
            late_renewal::drop_late(&agent, &session).await;
        }
        return;
    }
    // What was renewed is in the store: after `credmint unlock` it is taken up again.
    let outcome = if agent.lock.is_shut() { Err(failure::locked()) } else { outcome };
    // Who has signed in meanwhile is newer than anything that was kept.
    let outcome = outcome.map(|session| match (agent.sessions.get(one.key), session) {
        (Some(present), _) => Some(present),
        (None, Some(session)) => {
            agent.signed_in(&session);
            Some(session)
        }
        (None, None) => {
            agent.sessions.restoring.nothing.borrow_mut().insert(one.key, Instant::now());
            None
        }
    });
    sender.send_replace(Some(outcome));
}

async fn taken_up(agent: &Agent, one: &One, caller: &Caller) -> Outcome {
    let stored = match Stored::read(&agent.keyring, &one.item).await {
        Ok(Some(stored)) => stored,
        // No store here: nothing was ever kept.
        Ok(None) | Err(StoreError::Absent { .. }) => return Ok(None),
        Err(error) => return Err(unreadable(&one.name, &error)),
    };
    let deadline = Deadline::after(Instant::now(), WHOLE_FLIGHT);
    let provider = Provider::discover(&one.identity, caller, &agent.https, deadline).await;
    let provider = provider.map_err(|error| failure::of_session(&error.into()))?;
    let remembering = Remembering::of(one.item.clone(), &stored);
    let tokens = Tokens::of_refresh(stored.refresh, provider.who());
    let source = Source::Provider(Box::new(provider));
    let tokens = renewed(&source, &tokens, Some(&remembering), agent).await.map_err(|error| ended(&one.name, error))?;
    tokens.subject(one.identity.token).map_err(|error| failure::of_session(&error.into()))?;
    // Number 0: of an agent before this one. Runs that began before it was taken up go on with it.
    let session = Session::new(&one.name, (one.key, 0), one.identity.token, source, tokens);
    let _ = session.remembering.set(remembering);
    Ok(Some(session))
}

fn unreadable(name: &str, error: &StoreError) -> Failure {
    let what = format!("the remembered sign-in of `{name}` cannot be read: {error}");
    Failure::new(FailureKind::Refused, what).hint(format!("{}; or credmint login {name}", error.remedy()))
}

fn ended(name: &str, error: NotRenewed) -> Failure {
    match error {
        NotRenewed::Over(why) => {
            let what = format!("the remembered sign-in of `{name}` is over: {why}");
            Failure::new(FailureKind::Refused, what).hint(format!("credmint login {name}"))
        }
        NotRenewed::NotNow(failure) => failure,
    }
}

/// Takes up a new sign-in: kept beyond this agent, where the settings want that, before anybody uses it. What an agent before
/// this one left is renewed to its end first, or it would be written over what comes now.
pub(crate) async fn sign_in(agent: &Rc<Agent>, session: &Rc<Session>) {
    if let Some(before) = agent.sessions.get(session.sign_in.0).as_ref().and_then(|before| before.remembering.get()) {
        before.close();
    }
    if let (Some(remembering), Ok(kept)) = (session.remembering.get(), session.kept()) {
        let older = Deadline::after(Instant::now(), WHOLE_FLIGHT + PATIENCE);
        agent.sessions.restoring.rest(session.sign_in.0, older).await;
        remembering.begin(&agent.keyring, kept.tokens.refresh.as_ref()).await;
    }
    agent.signed_in(session);
}

/// Describes what the store keeps for an identity that nobody is signed in for, without asking the issuer.
pub(crate) async fn kept(agent: &Agent, name: &str, key: SessionKey, person: Person<'_>) -> Option<SessionStatus> {
    let (item, Person::Oidc(identity)) = (item(name, person)?, person) else { return None };
    let status =
        SessionStatus { identity: name.to_owned(), issuer: identity.issuer.clone(), ..SessionStatus::default() };
    if !may_be(agent, identity) || agent.sessions.restoring.is_in_vain(key) {
        return None;
    }
    match Stored::read(&agent.keyring, &item).await {
        Ok(None) | Err(StoreError::Absent { .. }) => None,
        Ok(Some(stored)) => Some(SessionStatus {
            since: stored.since.to_string(),
            how_it_ends: NOT_YET.to_owned(),
            remembered: Some(stored.place.to_owned()),
            ..status
        }),
        Err(error) => Some(SessionStatus { how_it_ends: why(&error), over: true, ..status }),
    }
}

const NOT_YET: &str = "taken up at its next use, unless the issuer has ended it meanwhile";
/// How long nothing is nothing: a person who signs in elsewhere waits no longer.
const NOTHING_FOR: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::tests::key;

    #[tokio::test]
    async fn what_lands_after_a_sign_out_is_nobodys() {
        let (restoring, soon) = (Restoring::default(), || Deadline::after(Instant::now(), Duration::from_millis(20)));
        let (_sender, flight) = watch::channel(None);
        restoring.flights.borrow_mut().insert(key(), flight.clone());
        restoring.rest_all(soon()).await;
        assert!(!restoring.land(key(), &flight) && !restoring.is_under_way());
        restoring.flights.borrow_mut().insert(key(), flight.clone());
        assert!(restoring.land(key(), &flight) && !restoring.is_under_way());
    }
}
