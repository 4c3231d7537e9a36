//! `credmint lock` and `unlock`: everything secret that is kept is encrypted where it stands, under a passphrase's key.
//! A passphrase comes in; whether it is locked, or unlocked, goes out. The key is kept nowhere.
//! While it is locked nothing is minted, renewed, revoked or handed out. `protocol-spec/agent-protocol.md`, section 12.

mod lent;
mod packing;
mod passphrase;
mod sealing;
mod tries;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use credmint_agent_protocol::{LockStatus, Passphrase, Reply};
use credmint_client_identity::{PrivateKey, PublicAuthority};
use credmint_local_machine::clock;
use credmint_vocabulary::{Failure, FailureKind, Secret, Timestamp};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::agent::Agent;
use crate::entries::Entry;
use crate::{failure, renewal};
pub(crate) use lent::Lent;
pub(crate) use packing::PackedTokens;
use passphrase::Salt;
pub(crate) use sealing::{Pack, Sealable, Sealed, SealingKey};
use tries::Tries;

/// Says whether it is locked.
#[derive(Default)]
pub(crate) struct Lock {
    state: RefCell<State>,
    tries: Tries,
    /// Ends what holds secrets and waits for somebody else: sign-ins, connections of the bridge.
    pub(crate) closing: Notify,
}

#[derive(Default)]
enum State {
    #[default]
    Open,
    /// What is under way is waited for; nothing new begins.
    Closing,
    Locked(Rc<Locked>),
}

/// What is needed to unlock.
struct Locked {
    salt: Salt,
    /// Tells the right key from others.
    proof: Sealed,
    authorities: RefCell<Vec<(String, PublicAuthority, Sealed)>>,
    /// Keys of certification requests that wait for people.
    requests: Vec<([u8; 32], Sealed)>,
    since: Timestamp,
}

impl Lock {
    /// Refuses, while it is locked or about to be.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if matches!(&*self.state.borrow(), State::Open) { Ok(()) } else { Err(failure::locked()) }
    }

    /// Tells whether it is locked or about to be.
    pub(crate) fn is_shut(&self) -> bool {
        self.check().is_err()
    }

    /// Says since when, and how often a wrong passphrase was tried.
    pub(crate) fn status(&self) -> Option<LockStatus> {
        let locked = self.locked()?;
        Some(LockStatus { since: locked.since.to_string(), wrong_tries: self.tries.count() })
    }

    fn locked(&self) -> Option<Rc<Locked>> {
        if let State::Locked(locked) = &*self.state.borrow() { Some(Rc::clone(locked)) } else { None }
    }
}

/// Locks.
pub(crate) async fn lock(agent: &Rc<Agent>, asked: Passphrase) -> Result<Reply, Failure> {
    let passphrase = asked.passphrase.into_secret();
    may_lock(agent, &passphrase)?;
    let salt = passphrase::salt()?;
    agent.lock.state.replace(State::Closing);
    agent.lock.closing.notify_waiters();
    agent.terraform_login.end_all();
    let (key, ()) = tokio::join!(passphrase::key(passphrase, salt), settle(agent));
    let locked = key.and_then(|key| seal_all(agent, &key, salt));
    let state = locked.map(|locked| State::Locked(Rc::new(locked)));
    let outcome = state.as_ref().map(|_| Reply::Done).map_err(Clone::clone);
    agent.lock.state.replace(state.unwrap_or_default());
    agent.changed.notify_one();
    outcome
}

fn may_lock(agent: &Agent, passphrase: &Secret<String>) -> Result<(), Failure> {
    if agent.lock.is_shut() {
        return Err(Failure::new(FailureKind::Refused, "credmint is locked already").hint("credmint unlock"));
    }
    if agent.bridge.is_none() {
        let what = "an agent that answers one question and ends keeps nothing that could be locked";
        return Err(Failure::new(FailureKind::Settings, what).hint("do not ask for CREDMINT_AGENT=once"));
    }
    if passphrase.is_empty() {
        return Err(Failure::new(FailureKind::Usage, "an empty passphrase locks nothing").hint("credmint lock"));
    }
    Ok(())
}

/// Waits for what is under way, so that no new refresh token and no lease is lost; each flight has its own, shorter deadline.
async fn settle(agent: &Agent) {
    let landed = async {
        sleep(BETWEEN_LANDINGS).await;
        while is_under_way(agent) {
            sleep(BETWEEN_LANDINGS).await;
        }
        renewal::revoke_dropped(agent).await;
    };
    // What has not landed by then lands as nobody's.
    let _ = timeout(WHOLE_SETTLING, landed).await;
}

fn is_under_way(agent: &Agent) -> bool {
    agent.entries.has_flights()
        || agent.sessions.restoring.is_under_way()
        || agent.sessions.all().iter().any(|session| session.is_being_renewed())
        || Rc::strong_count(&agent.revoking) > 1
}

fn seal_all(agent: &Agent, key: &SealingKey, salt: Salt) -> Result<Locked, Failure> {
    let broken = |_| Failure::new(FailureKind::Internal, "the cryptographic library does not encrypt");
    let proof = key.seal(&PROOF).map_err(broken)?;
    agent.dropped.borrow_mut().clear();
    agent.https.forget();
    kept(agent).iter().for_each(|entry| seal_entry(entry, key));
    agent.entries.abandon_flights();
    agent.sessions.all().iter().for_each(|session| session.seal(key));
    agent.bridge.iter().for_each(|bridge| bridge.seal(key));
    agent.stored.seal(key);
    let authorities = RefCell::new(seal_authorities(agent, key));
    let requests = agent.requests.take_keys().into_iter();
    let requests = requests.filter_map(|(entry, private)| Some((entry, seal_key(&private, key)?))).collect();
    Ok(Locked { salt, proof, authorities, requests, since: clock::now() })
}

/// Lists the entries, and those that they replaced.
fn kept(agent: &Agent) -> Vec<Rc<Entry>> {
    let mut all = agent.entries.all();
    all.extend(agent.superseded.borrow().iter().cloned());
    all
}

fn seal_entry(entry: &Entry, key: &SealingKey) {
    entry.upstream.take();
    entry.held.seal(key);
    entry.lease.seal(key);
    entry.recipe.caller.seal(key);
}

fn seal_authorities(agent: &Agent, key: &SealingKey) -> Vec<(String, PublicAuthority, Sealed)> {
    let seal = |(name, authority): (String, credmint_client_identity::Authority)| {
        let (public, private) = authority.parts();
        Some((name, public, seal_key(&private, key)?))
    };
    agent.authorities.take().into_iter().filter_map(seal).collect()
}

fn seal_key(private: &PrivateKey, key: &SealingKey) -> Option<Sealed> {
    key.seal(&private.pkcs8_pem().pack()).ok()
}

fn open_key(sealed: &Sealed, key: &SealingKey) -> Option<PrivateKey> {
    let pem = Secret::unpack(key.open(sealed).ok()?)?;
    PrivateKey::from_pkcs8_pem(&pem).ok()
}

/// Unlocks, if the passphrase is the right one and its try does not come too early.
pub(crate) async fn unlock(agent: &Rc<Agent>, asked: Passphrase) -> Result<Reply, Failure> {
    let lock = &agent.lock;
    let not_locked = || Failure::new(FailureKind::Usage, "credmint is not locked").hint("credmint status");
    let locked = lock.locked().ok_or_else(not_locked)?;
    lock.tries.begin(Instant::now()).map_err(too_early)?;
    let key = passphrase::key(asked.passphrase.into_secret(), locked.salt).await;
    let key = key.inspect_err(|_| lock.tries.done(false))?;
    if key.open::<String>(&locked.proof).is_err() {
        return Err(wrong(lock.tries.wrong(Instant::now()), lock.tries.count()));
    }
    lock.tries.done(true);
    unseal_all(agent, &key, &locked);
    lock.state.replace(State::Open);
    agent.changed.notify_one();
    Ok(Reply::Done)
}

fn unseal_all(agent: &Agent, key: &SealingKey, locked: &Locked) {
    for entry in kept(agent) {
        entry.held.unseal(key);
        entry.lease.unseal(key);
        entry.recipe.caller.unseal(key);
    }
    agent.sessions.all().iter().for_each(|session| session.unseal(key));
    agent.bridge.iter().for_each(|bridge| bridge.unseal(key));
    agent.stored.unseal(key);
    for (name, public, sealed) in locked.authorities.take() {
        let private = open_key(&sealed, key);
        private.into_iter().for_each(|private| agent.authorities.put(name.clone(), public.clone().with_key(private)));
    }
    for (entry, sealed) in &locked.requests {
        open_key(sealed, key).into_iter().for_each(|private| agent.requests.give_key(*entry, private));
    }
}

fn too_early(wait: Duration) -> Failure {
    let what = "after a wrong passphrase the next try has to wait; this one was not looked at";
    Failure::new(FailureKind::Refused, what).hint(again_in(wait))
}

fn wrong(wait: Duration, count: u32) -> Failure {
    let times = if count == 1 { String::new() } else { format!(" ({count} wrong tries so far)") };
    Failure::new(FailureKind::Refused, format!("the passphrase is wrong{times}")).hint(again_in(wait))
}

fn again_in(wait: Duration) -> String {
    format!("wait {} s, then credmint unlock", wait.as_millis().div_ceil(1000))
}

const PROOF: &str = "the key is right";
const BETWEEN_LANDINGS: Duration = Duration::from_millis(20);
/// Longer than any flight may take.
const WHOLE_SETTLING: Duration = Duration::from_secs(10);
