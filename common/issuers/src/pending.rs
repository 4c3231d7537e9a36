//! Certification requests that wait for people: their keys stay here until the answer comes.
//! A prepared request comes in under the name of its entry, the same goes out whenever it is asked for again.
//! Memory only: when the agent ends, the keys are gone and the requests are worth nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use credmint_client_identity::PrivateKey;
use credmint_vocabulary::Timestamp;

use crate::prepared::Prepared;

/// Keeps requests by the name of the entry that they are for.
#[derive(Default)]
pub struct PendingRequests {
    whole: Mutex<BTreeMap<[u8; 32], Pending>>,
    /// Those whose keys are kept elsewhere meanwhile.
    keyless: Mutex<BTreeMap<[u8; 32], Keyless>>,
}

/// Holds all of a request but its key, which [`PendingRequests::take_keys`] gave out.
struct Keyless(Box<dyn FnOnce(PrivateKey) -> Pending + Send>, Option<[u8; 32]>, Waiting);

/// Holds one of them.
pub(crate) struct Pending {
    pub(crate) prepared: Prepared,
    /// When it was made.
    pub(crate) since: Timestamp,
    /// Before this the authority does not want to be asked again.
    pub(crate) not_before: Option<Timestamp>,
    /// Whether it goes on at the door for renewals.
    pub(crate) renews: bool,
    /// Until when it is kept at all.
    pub(crate) until: Option<Timestamp>,
    /// Whose it is: it goes when they sign out.
    pub(crate) owner: Option<[u8; 32]>,
}

/// Tells about a request without showing its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The certification request in PEM; public.
    pub request_pem: String,
    /// When it was made.
    pub since: Timestamp,
    /// Whether the authority has it and is asked again by us; else people carry it.
    pub is_sent: bool,
}

/// How long a request is kept that an authority let wait.
const LIFE_OF_THE_SENT: Duration = Duration::from_secs(7 * 24 * 3600);

impl Pending {
    /// Holds a request that an authority is about to get.
    pub(crate) fn sent(prepared: Prepared, renews: bool, now: Timestamp) -> Self {
        let until = Some(now.plus(LIFE_OF_THE_SENT));
        Self { prepared, since: now, not_before: None, renews, until, owner: None }
    }

    /// Holds a request that people carry.
    pub(crate) fn carried(prepared: Prepared, now: Timestamp) -> Self {
        Self { prepared, since: now, not_before: None, renews: false, until: None, owner: None }
    }

    fn parts(self) -> (PrivateKey, Keyless) {
        let waiting = self.waiting();
        let Self { prepared: Prepared { key, request, asked }, since, not_before, renews, until, owner } = self;
        let prepared = move |key| Prepared { key, request, asked };
        let with = move |key| Self { prepared: prepared(key), since, not_before, renews, until, owner };
        (key, Keyless(Box::new(with), owner, waiting))
    }

    fn waiting(&self) -> Waiting {
        let request_pem = self.prepared.request.pem().to_owned();
        Waiting { request_pem, since: self.since, is_sent: self.until.is_some() }
    }

    fn lives(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

impl PendingRequests {
    /// Tells about the request of an entry.
    #[must_use]
    pub fn waiting(&self, entry: [u8; 32]) -> Option<Waiting> {
        let keyless = || self.keyless().get(&entry).map(|Keyless(.., waiting)| waiting.clone());
        self.all().get(&entry).map(Pending::waiting).or_else(keyless)
    }

    /// Tells whether there is none that is still waited for.
    #[must_use]
    pub fn is_empty(&self, now: Timestamp) -> bool {
        self.keyless().is_empty() && !self.all().values().any(|pending| pending.lives(now))
    }

    /// Says whose a request is.
    pub fn owned(&self, entry: [u8; 32], owner: [u8; 32]) {
        self.all().entry(entry).and_modify(|pending| pending.owner = Some(owner));
    }

    /// Tells whose a request is.
    #[must_use]
    pub fn owner(&self, entry: [u8; 32]) -> Option<[u8; 32]> {
        self.all().get(&entry)?.owner
    }

    /// Wipes the key of a request; tells whether there was one.
    pub fn drop_request(&self, entry: [u8; 32]) -> bool {
        let keyless = self.keyless().remove(&entry).is_some();
        self.all().remove(&entry).is_some() || keyless
    }

    /// Wipes the keys of somebody's requests.
    pub fn drop_of(&self, owner: [u8; 32]) {
        self.all().retain(|_, pending| pending.owner != Some(owner));
        self.keyless().retain(|_, Keyless(_, own, _)| *own != Some(owner));
    }

    /// Wipes all keys.
    pub fn clear(&self) {
        self.all().clear();
        self.keyless().clear();
    }

    pub(crate) fn take(&self, entry: [u8; 32], now: Timestamp) -> Option<Pending> {
        let mut all = self.all();
        all.retain(|_, pending| pending.lives(now));
        all.remove(&entry)
    }

    pub(crate) fn keep(&self, entry: [u8; 32], pending: Pending) {
        self.all().insert(entry, pending);
    }

    /// Takes the keys of all requests out; what is left waits for them.
    #[must_use]
    pub fn take_keys(&self) -> Vec<([u8; 32], PrivateKey)> {
        let all = std::mem::take(&mut *self.all());
        let take = |(entry, pending): ([u8; 32], Pending)| {
            let (key, keyless) = pending.parts();
            self.keyless().insert(entry, keyless);
            (entry, key)
        };
        all.into_iter().map(take).collect()
    }

    /// Makes a request whole again, unless it was dropped meanwhile.
    pub fn give_key(&self, entry: [u8; 32], key: PrivateKey) {
        let keyless = self.keyless().remove(&entry);
        keyless.into_iter().for_each(|Keyless(with, ..)| self.keep(entry, with(key.copied())));
    }

    fn keyless(&self) -> MutexGuard<'_, BTreeMap<[u8; 32], Keyless>> {
        self.keyless.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<[u8; 32], Pending>> {
        self.whole.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for PendingRequests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PendingRequests({})", self.all().len())
    }
}
