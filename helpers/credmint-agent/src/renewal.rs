//! What happens to entries while nobody asks: renewed while in use, dropped when over, revoked when dropped.
//! The agent's entries come in; issuers are asked and told.
//! Wakes at least every half minute and reads the wall clock anew, so that a sleeping laptop is noticed.

use std::rc::Rc;
use std::time::{Duration, Instant};

use credmint_local_machine::clock;
use credmint_vocabulary::{Deadline, Timestamp};
use tokio::time::{sleep, timeout};

use crate::agent::Agent;
use crate::entries::Entry;
use crate::{get, sessions};

/// Runs for as long as the agent does.
pub(crate) async fn run(agent: Rc<Agent>) {
    loop {
        tokio::select! {
            () = sleep(until_one_ends(&agent, clock::now())) => {}
            () = agent.changed.notified() => {}
        }
        // Also while all is locked: what landed too late to be encrypted is in the clear until it is revoked.
        revoke_dropped(&agent).await;
        if agent.lock.is_shut() {
            continue;
        }
        agent.bridge.iter().for_each(|bridge| bridge.keep_in_use(&agent.entries, clock::now()));
        agent.superseded.borrow_mut().retain(|entry| entry.is_alive(clock::now()));
        for entry in agent.entries.all() {
            look_after(&agent, &entry, clock::now());
        }
        sessions::look_after(&agent, clock::now());
        agent.bridge.iter().for_each(|bridge| bridge.sweep(|key| agent.entries.get(key).is_some()));
    }
}

/// Says how long nothing that is kept comes to its end: what is over is wiped then, not half a minute later.
fn until_one_ends(agent: &Agent, now: Timestamp) -> Duration {
    let mut kept = agent.entries.all();
    kept.extend(agent.superseded.borrow().iter().cloned());
    let chosen = agent.sessions.all().into_iter().filter_map(|session| session.chosen_end());
    let ends = kept.iter().filter_map(|entry| entry.expires()).chain(chosen);
    let next = ends.chain(sessions::next_of_those_that_end(agent, now)).min();
    next.map_or(LONGEST_SLEEP, |end| end.remaining(now)).clamp(SHORTEST_SLEEP, LONGEST_SLEEP)
}

/// Renews what is due and in use, drops what is over.
fn look_after(agent: &Rc<Agent>, entry: &Rc<Entry>, now: Timestamp) {
    if !entry.is_alive(now) {
        if let Some(over) = agent.entries.remove(entry.recipe.key) {
            agent.drop_entry(over);
        }
    } else if entry.is_to_be_renewed(now, Instant::now()) {
        let (agent, recipe) = (Rc::clone(agent), Rc::clone(&entry.recipe));
        let deadline = Deadline::after(Instant::now(), RENEWAL);
        // A failure leaves the last good value in place; the next round tries again.
        tokio::task::spawn_local(async move { get::make(&agent, &recipe, deadline).await.is_ok() });
    }
}

/// Revokes what was dropped. What cannot be revoked ends by itself.
pub(crate) async fn revoke_dropped(agent: &Agent) {
    let _under_way = Rc::clone(&agent.revoking);
    let deadline = Deadline::after(Instant::now(), REVOCATION);
    let dropped = agent.dropped.take();
    if dropped.is_empty() {
        return;
    }
    for lease in dropped {
        let _ = credmint_issuers::revoke(lease, &agent.https, deadline).await;
    }
    agent.https.forget();
}

/// Says what becomes of tokens that a run may still hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandedOut {
    /// They end by themselves: nobody asked for their end, and a run may be longer than our patience.
    LeftAlone,
    /// Somebody wants the end of everything.
    Revoked,
}

/// Drops every session and every entry, and revokes of them (of the sessions, those at a Vault) what can be revoked in two seconds, what is just being made included.
pub(crate) async fn drop_everything(agent: &Agent, handed_out: HandedOut) {
    agent.entries.close();
    if handed_out == HandedOut::Revoked {
        let leases = agent.sessions.all().into_iter().filter_map(|session| session.lease());
        agent.dropped.borrow_mut().extend(leases);
    }
    agent.sessions.clear();
    agent.stored.clear();
    agent.requests.clear();
    let kept = agent.entries.all().into_iter().filter_map(|entry| agent.entries.remove(entry.recipe.key));
    let all: Vec<_> = kept.chain(agent.superseded.take()).collect();
    let ours = |entry: &Rc<Entry>| handed_out == HandedOut::Revoked || !entry.is_handed_out();
    all.into_iter().filter(ours).for_each(|entry| agent.drop_entry(entry));
    let _ = timeout(REVOCATION, revoke_until_landed(agent)).await;
}

async fn revoke_until_landed(agent: &Agent) {
    revoke_dropped(agent).await;
    while agent.entries.has_flights() {
        sleep(BETWEEN_LANDINGS).await;
        revoke_dropped(agent).await;
    }
}

const SHORTEST_SLEEP: Duration = Duration::from_secs(1);
const LONGEST_SLEEP: Duration = Duration::from_secs(30);
const BETWEEN_LANDINGS: Duration = Duration::from_millis(20);
const RENEWAL: Duration = Duration::from_secs(10);
const REVOCATION: Duration = Duration::from_secs(2);
