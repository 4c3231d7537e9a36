//! The agent's memory, in one place: settings, entries, the network, the bridge.
//! Made once when the process starts; every request borrows it.
//! Opens nothing by itself.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use credmint_https::Https;
use credmint_issuers::{Authorities, Lease};
use credmint_local_machine::clock;
use credmint_settings::Settings;
use credmint_vocabulary::Timestamp;
use tokio::sync::Notify;

use crate::bridge::Bridge;
use crate::entries::{Entries, Entry};
use crate::material::SettingsCache;
use crate::recipe::EntryKey;

/// Holds everything that lives as long as the process.
pub(crate) struct Agent {
    /// Settings, read again when they change.
    pub(crate) settings: SettingsCache,
    /// What is kept.
    pub(crate) entries: Entries,
    /// The way out.
    pub(crate) https: Https,
    /// Authorities of `local-ca` issuers.
    pub(crate) authorities: Authorities,
    /// The loopback bridge; `None` for `--once`, where nothing outlives the request.
    pub(crate) bridge: Option<Bridge>,
    /// What the hardening came to, in words.
    pub(crate) hardening: Vec<String>,
    /// When the process started.
    pub(crate) started: Timestamp,
    /// When somebody asked last.
    pub(crate) asked: Cell<Timestamp>,
    /// How long it stays without anything in use.
    pub(crate) idle_exit: Cell<Duration>,
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
            https: Https::new(concat!("credmint/", env!("CARGO_PKG_VERSION"))),
            authorities: Authorities::default(),
            bridge: (!once).then(Bridge::default),
            hardening,
            started: now,
            asked: Cell::new(now),
            idle_exit: Cell::new(credmint_settings::AgentSettings::default().idle_exit),
            changed: Notify::new(),
            stop: Notify::new(),
            dropped: RefCell::default(),
            superseded: RefCell::default(),
        })
    }

    /// Keeps an entry, and puts away the one that it replaces.
    pub(crate) fn keep(&self, entry: &Rc<Entry>) {
        match self.entries.put(entry) {
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

    /// Lets go of all that was kept under a key: the entry, and those that it replaced.
    pub(crate) fn forget(&self, key: EntryKey) {
        let (own, others): (Vec<_>, Vec<_>) =
            self.superseded.take().into_iter().partition(|entry| entry.recipe.key == key);
        self.superseded.replace(others);
        self.entries.remove(key).into_iter().chain(own).for_each(|entry| self.drop_entry(entry));
    }
}
