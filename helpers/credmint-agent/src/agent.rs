//! The agent's memory, in one place: settings, entries, the network, the bridge.
//! Made once when the process starts; every request borrows it.
//! Opens nothing by itself.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use credmint_https::Https;
use credmint_issuers::{Authorities, Lease, PendingRequests};
use credmint_local_machine::{OwnProgram, clock};
use credmint_settings::Settings;
use credmint_vocabulary::Timestamp;
use tokio::sync::Notify;

use crate::absence::Placeholders;
use crate::bridge::{Bridge, RunNumber};
use crate::confirm::Confirmations;
use crate::entries::{Entries, Entry};
use crate::hook::Hooks;
use crate::lock::Lock;
use crate::material::SettingsCache;
use crate::metrics::Metrics;
use crate::offline;
use crate::recipe::EntryKey;
use crate::services::Discovered;
use crate::sessions::{Keyring, Session, SessionKey, Sessions};
use crate::stored::Stored;
use crate::terraform_login::TerraformLogin;

/// Holds everything that lives as long as the process.
pub(crate) struct Agent {
    /// Settings, read again when they change.
    pub(crate) settings: SettingsCache,
    /// What is kept.
    pub(crate) entries: Entries,
    /// What is run after renewals.
    pub(crate) hooks: Hooks,
    /// What hosts said they offer.
    pub(crate) discovered: Discovered,
    /// What is counted.
    pub(crate) metrics: Metrics,
    /// For whom a placeholder was given.
    pub(crate) placeholders: Placeholders,
    /// What people are asked, and did not want.
    pub(crate) confirmations: Confirmations,
    /// Whether all of it is encrypted.
    pub(crate) lock: Lock,
    /// Who is signed in.
    pub(crate) sessions: Sessions,
    /// What `terraform login` brought.
    pub(crate) stored: Stored,
    /// Who is signing in by `terraform login`.
    pub(crate) terraform_login: TerraformLogin,
    /// The operating system's store of secrets, where a sign-in is to be remembered.
    pub(crate) keyring: Keyring,
    /// The way out.
    pub(crate) https: Https,
    /// Authorities of `local-ca` issuers.
    pub(crate) authorities: Authorities,
    /// Certification requests that are not answered yet.
    pub(crate) requests: PendingRequests,
    /// The loopback bridge; `None` for `--once`, where nothing outlives the request.
    pub(crate) bridge: Option<Bridge>,
    /// What the hardening came to, in words.
    pub(crate) hardening: Vec<String>,
    /// When the process started.
    pub(crate) started: Timestamp,
    /// Until when it stays without anything in use: the latest that the settings of any caller say.
    pub(crate) stays_until: Cell<Option<Timestamp>>,
    /// The executable, which an update may replace while we run.
    pub(crate) program: OwnProgram,
    /// Shared by every conversation that is under way.
    pub(crate) busy: Rc<()>,
    /// Shared by every revocation that is under way.
    pub(crate) revoking: Rc<()>,
    /// Wakes the renewal task when entries change.
    pub(crate) changed: Notify,
    /// Ends the process.
    pub(crate) stop: Notify,
    /// What waits to be revoked; the credential that it was got for is wiped already.
    pub(crate) dropped: RefCell<Vec<Lease>>,
    /// Tokens that were renewed while a run may still hold them: left alone until they end or the agent does.
    pub(crate) superseded: RefCell<Vec<Rc<Entry>>>,
}

impl Agent {
    /// Makes an agent that keeps things, with a bridge; or, with `once`, one that keeps nothing.
    pub(crate) fn new(once: bool, hardening: Vec<String>) -> Rc<Self> {
        let now = clock::now();
        Rc::new(Self {
            settings: SettingsCache::default(),
            entries: Entries::default(),
            hooks: Hooks::default(),
            discovered: Discovered::default(),
            metrics: Metrics::default(),
            placeholders: Placeholders::default(),
            confirmations: Confirmations::default(),
            lock: Lock::default(),
            sessions: Sessions::default(),
            stored: Stored::default(),
            terraform_login: TerraformLogin::default(),
            keyring: Keyring::default(),
            https: Https::new(concat!("credmint/", env!("CARGO_PKG_VERSION"))),
            authorities: Authorities::default(),
            requests: PendingRequests::default(),
            bridge: (!once).then(Bridge::default),
            hardening,
            started: now,
            stays_until: Cell::default(),
            program: OwnProgram::now(),
            busy: Rc::default(),
            revoking: Rc::default(),
            changed: Notify::new(),
            stop: Notify::new(),
            dropped: RefCell::default(),
            superseded: RefCell::default(),
        })
    }

    /// Stays for at least this long; settings of one caller never shorten what another's say.
    pub(crate) fn stay(&self, at_least: Duration) {
        let until = Some(clock::now().plus(at_least));
        self.stays_until.set(self.stays_until.get().max(until));
    }

    /// Tells whether nobody needs it any more: no conversation is under way, nobody is signed in for the day, nothing is stored
    /// that only we have, and the time of the last request is over.
    pub(crate) fn is_idle(&self, now: Timestamp) -> bool {
        let first = || self.started.plus(credmint_settings::AgentSettings::default().idle_exit);
        let nobody = || !self.sessions.all().iter().any(|session| session.is_in_use(now));
        Rc::strong_count(&self.busy) == 1
            && self.stored.is_empty()
            && nobody()
            && !self.holds_what_nothing_brings_back(now)
            && now >= self.stays_until.get().unwrap_or_else(first)
    }

    /// Tells whether an agent of another build may take its place unnoticed: nobody is signed in whose sign-in would not come back, nothing
    /// is in use, and nobody else is being served but as many.
    pub(crate) fn can_be_replaced(&self, now: Timestamp, served: usize) -> bool {
        let is_in_use = |entry: &Rc<Entry>| entry.is_in_use(now);
        self.bridge.is_some()
            && Rc::strong_count(&self.busy) == 1 + served
            && self.stored.is_empty()
            && !self.sessions.all().iter().any(|session| session.kept().is_ok() && !session.comes_back())
            && !self.sessions.restoring.is_under_way()
            && !self.entries.has_flights()
            && !self.entries.all().iter().any(is_in_use)
            && self.superseded.borrow().is_empty()
            && !self.holds_what_nothing_brings_back(now)
            && !self.lock.is_shut()
    }

    /// Tells whether it has a key whose certificate people sign, or signed: no issuer makes another one.
    fn holds_what_nothing_brings_back(&self, now: Timestamp) -> bool {
        let by_hand = |entry: &Rc<Entry>| entry.is_alive(now) && offline::is_by_hand(&entry.recipe);
        !self.requests.is_empty(now) || self.entries.all().iter().any(by_hand)
    }

    /// Keeps an entry, and puts away the one that it replaces.
    pub(crate) fn keep(&self, entry: &Rc<Entry>) {
        let old = self.entries.put(entry);
        // Renewing is no use of it: otherwise what nobody needs any more would be renewed for ever.
        old.iter().for_each(|old| entry.follows(old));
        match old {
            Some(old) if old.is_held_elsewhere() => self.superseded.borrow_mut().push(old),
            Some(old) => self.drop_entry(old),
            None => {}
        }
        self.changed.notify_one();
    }

    /// Gives the bridge to a route that may use it: where nothing is to be kept, nothing can listen either.
    pub(crate) fn bridge_for(&self, settings: &Settings) -> Option<&Bridge> {
        self.bridge.as_ref().filter(|_| !settings.agent.once)
    }

    /// Drops what was just handed out, where the settings say that nothing is kept.
    pub(crate) fn keep_nothing(&self, entry: &Entry) {
        if let Some(entry) = self.entries.remove(entry.recipe.key).filter(|entry| !entry.is_held_elsewhere()) {
            self.drop_entry(entry);
        }
    }

    /// Lets go of an entry, at once, and hands over what has to be revoked for it.
    pub(crate) fn drop_entry(&self, entry: Rc<Entry>) {
        self.dropped.borrow_mut().extend(entry.lease.take());
        self.changed.notify_one();
        drop(entry);
    }

    /// Takes out every entry that was made from a session, newer and older ones.
    pub(crate) fn take_entries_of(&self, session: SessionKey) -> Vec<Rc<Entry>> {
        let made_from_it = |entry: &Rc<Entry>| entry.sign_in.is_some_and(|(key, _)| key == session);
        let kept = self.entries.all().into_iter().filter(made_from_it);
        let kept = kept.filter_map(|entry| self.entries.forget(entry.recipe.key));
        kept.chain(self.take_superseded(made_from_it)).collect()
    }

    /// Drops the tokens that ended with a session: a Vault ends with a token all that it was lent by it. Certificates live on.
    pub(crate) fn drop_tokens_of(&self, session: SessionKey) {
        let ended =
            |entry: &Rc<Entry>| entry.is_held_elsewhere() && entry.sign_in.is_some_and(|(key, _)| key == session);
        let kept = self.entries.all().into_iter().filter(ended);
        let kept: Vec<_> = kept.filter_map(|entry| self.entries.forget(entry.recipe.key)).collect();
        for entry in kept.into_iter().chain(self.take_superseded(ended)) {
            entry.end_with_the_session();
            self.drop_entry(entry);
        }
    }

    fn take_superseded(&self, of_those: impl FnMut(&Rc<Entry>) -> bool) -> Vec<Rc<Entry>> {
        let (taken, others) = self.superseded.take().into_iter().partition(of_those);
        self.superseded.replace(others);
        taken
    }

    /// Keeps a session in place of the one before, and makes nothing more of that. What a run holds of it ends by itself; the
    /// runs behind the bridge go on if it is the same person, and end if not.
    pub(crate) fn signed_in(&self, session: &Rc<Session>) {
        let before = self.sessions.put(session);
        let goes_on = before.as_ref().is_some_and(|before| session.follows(before));
        if !goes_on {
            self.requests.drop_of(session.sign_in.0.digest());
        }
        let mut is_lent = false;
        for entry in self.take_entries_of(session.sign_in.0) {
            if !goes_on {
                self.close_bridge(&entry);
            }
            if goes_on && offline::is_by_hand(&entry.recipe) {
                self.entries.put(&entry);
            } else if entry.is_handed_out() {
                is_lent = true;
                self.superseded.borrow_mut().push(entry);
            } else {
                self.drop_entry(entry);
            }
        }
        // The older token of a Vault is of no use to anybody, unless a run still has what ends together with it.
        let older = before.filter(|_| !is_lent).and_then(|before| before.lease());
        self.dropped.borrow_mut().extend(older);
        self.changed.notify_one();
    }

    /// Takes out what a run was given and nobody else has, newer and older ones, of those that are to end with it.
    pub(crate) fn take_left_by(&self, run: RunNumber, is_to_end: fn(&Entry) -> bool) -> Vec<Rc<Entry>> {
        let left = |entry: &Rc<Entry>| entry.holders.borrow_mut().leave(run) && is_to_end(entry);
        let kept: Vec<_> = self.entries.all().into_iter().filter(left).collect();
        let kept = kept.into_iter().filter_map(|entry| self.entries.forget(entry.recipe.key));
        kept.chain(self.take_superseded(left)).collect()
    }

    /// Ends what the bridge lets in for an entry.
    pub(crate) fn close_bridge(&self, entry: &Entry) {
        self.bridge.iter().for_each(|bridge| bridge.close(&entry.recipe));
    }

    /// Lets go of all that was kept under a key: the entry, and those that it replaced. Tells whether all that was lent for them
    /// can be given back: not what is locked away.
    pub(crate) fn forget(&self, key: EntryKey) -> bool {
        self.requests.drop_request(key.digest());
        let replaced = self.take_superseded(|entry| entry.recipe.key == key);
        let all: Vec<_> = self.entries.forget(key).into_iter().chain(replaced).collect();
        let can_be_given_back = !all.iter().any(|entry| entry.lease.is_sealed());
        all.into_iter().for_each(|entry| self.drop_entry(entry));
        can_be_given_back
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entries::tests::entry;

    #[test]
    fn renewing_an_entry_is_no_use_of_it() {
        let agent = Agent::new(false, Vec::new());
        let (old, new) = (Rc::new(entry(Some(3600))), Rc::new(entry(Some(3600))));
        new.used.set(old.used.get().plus(Duration::from_secs(2400)));
        agent.keep(&old);
        agent.keep(&new);
        assert_eq!(new.used.get(), old.used.get());
    }

    #[tokio::test]
    async fn an_agent_with_a_request_that_waits_does_not_end_by_itself() {
        let agent = Agent::new(false, Vec::new());
        agent.stay(Duration::from_secs(1));
        let (now, later) = (clock::now(), clock::now().plus(Duration::from_secs(30 * 24 * 3600)));
        let names = credmint_settings::NameTemplates { common_name: Some("me".into()), ..Default::default() };
        let wanted = credmint_settings::Wanted { names, ..Default::default() };
        let offline = credmint_settings::Offline { wanted };
        let kept = (&agent.requests, [7; 32]);
        let asked = credmint_issuers::request(&offline, None, kept, false, now).await.expect("a request");
        assert!(!agent.is_idle(later), "people take their time");
        let again = credmint_issuers::request(&offline, None, kept, false, later).await.expect("a request");
        assert_eq!(again, asked, "whoever comes second gets the first one's");
        agent.requests.owned([7; 32], [1; 32]);
        agent.requests.drop_of([2; 32]);
        assert!(!agent.is_idle(later));
        agent.requests.drop_of([1; 32]);
        assert!(agent.is_idle(later));
    }

    #[test]
    fn an_agent_with_anything_in_use_is_not_replaced() {
        let (agent, now) = (Agent::new(false, Vec::new()), clock::now());
        assert!(agent.can_be_replaced(now, 0) && !Agent::new(true, Vec::new()).can_be_replaced(now, 0));
        let busy = Rc::clone(&agent.busy);
        assert!(!agent.can_be_replaced(now, 0) && agent.can_be_replaced(now, 1));
        drop(busy);
        let entry = Rc::new(entry(Some(36_000)));
        entry.used.set(now);
        agent.keep(&entry);
        assert!(!agent.can_be_replaced(now, 0));
        assert!(agent.can_be_replaced(now.plus(Duration::from_secs(7200)), 0), "nobody used it lately");
    }

    #[test]
    fn one_callers_settings_never_shorten_anothers() {
        let agent = Agent::new(false, Vec::new());
        let hour = Duration::from_secs(3600);
        agent.stay(hour);
        agent.stay(Duration::from_secs(1));
        assert!(!agent.is_idle(clock::now().plus(hour / 2)));
        assert!(agent.is_idle(clock::now().plus(2 * hour)));
        let _request = Rc::clone(&agent.busy);
        assert!(!agent.is_idle(clock::now().plus(2 * hour)), "one is under way");
    }
}
