//! What the agent keeps: entries by key, the flights that make them, and the failures of the last seconds.
//! A key comes in, a fresh entry, a flight to wait for, or nothing goes out.
//! Pure memory: time is a parameter, nobody is asked.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use credmint_https::Upstream;
use credmint_identities::Claims;
use credmint_settings::Deliver;
use credmint_vocabulary::{Failure, Timestamp};
use tokio::sync::watch;

use crate::held::{Facts, Held};
use crate::holders::Holders;
use crate::lock::{Lent, Sealable};
use crate::offline;
use crate::recipe::{EntryKey, Recipe};
use crate::sessions::SignIn;
use crate::told::Told;

/// Holds one credential with all that is said about it.
pub(crate) struct Entry {
    /// How it was made, and is made again.
    pub(crate) recipe: Rc<Recipe>,
    /// The credential.
    pub(crate) held: Sealable<Held>,
    /// What may be said of it at any time.
    pub(crate) facts: Facts,
    /// Name of the identity that had an answer, and its claims.
    pub(crate) identity: Option<(String, Option<Claims>)>,
    /// The sign-in that it was made from, if it was a person's.
    pub(crate) sign_in: Option<SignIn>,
    /// What was granted differently from what was asked.
    pub(crate) notes: Vec<String>,
    /// What has to be revoked when the entry is dropped.
    pub(crate) lease: Lent,
    /// When it was made.
    pub(crate) made: Timestamp,
    /// The same by the clock that nobody can set.
    pub(crate) began: Instant,
    /// Where in the last third of its life it is renewed: 0 to 1, so that many agents do not ask at once.
    pub(crate) jitter: f64,
    /// When it was used last.
    pub(crate) used: Cell<Timestamp>,
    /// When its renewal was tried last.
    pub(crate) tried: Cell<Option<Instant>>,
    /// Who was given it.
    pub(crate) holders: RefCell<Holders>,
    /// The bridge's connections that present this credential: one object with it.
    pub(crate) upstream: RefCell<Option<Rc<Upstream>>>,
}

impl Entry {
    /// Gives the end of its life; `None` for a token that does not say.
    pub(crate) fn expires(&self) -> Option<Timestamp> {
        self.facts.expires
    }

    /// Gives the wall clock's time, but never less than has passed: a clock that is set back makes nothing younger.
    fn now(&self, wall: Timestamp) -> Timestamp {
        wall.max(self.made.plus(self.began.elapsed()))
    }

    fn life(&self) -> Option<Duration> {
        self.expires().map(|end| end.remaining(self.made))
    }

    /// Gives the life it must still have to be handed out: the route's minimum, or a third of a shorter life.
    fn minimum_life(&self) -> Duration {
        let wanted = self.recipe.route().and_then(|route| route.host.minimum_life).unwrap_or(DEFAULT_MINIMUM_LIFE);
        self.life().map_or(wanted, |life| wanted.min(life / 3))
    }

    /// Tells whether it may be handed out without more ado. A token without an end is kept for five minutes.
    pub(crate) fn is_fresh(&self, now: Timestamp) -> bool {
        let now = self.now(now);
        match self.expires() {
            Some(end) => end.remaining(now) > self.minimum_life(),
            None => now < self.made.plus(LIFE_OF_THE_ENDLESS),
        }
    }

    /// Tells whether it is still accepted by the other side.
    pub(crate) fn is_alive(&self, now: Timestamp) -> bool {
        self.expires().map_or_else(|| self.is_fresh(now), |end| end > self.now(now))
    }

    /// Tells whether most of its life is over.
    pub(crate) fn is_in_last_third(&self, now: Timestamp) -> bool {
        self.life().is_some_and(|life| self.now(now) >= self.made.plus(life * 2 / 3))
    }

    /// Says when it is renewed while in use: at two thirds of its life, plus jitter, never twice in half a minute.
    pub(crate) fn renews(&self) -> Option<Timestamp> {
        let life = self.life().filter(|_| !offline::is_by_hand(&self.recipe))?;
        let jitter = (life / 12).mul_f64(self.jitter);
        Some(self.made.plus((life * 2 / 3 + jitter).max(MINIMUM_INTERVAL)))
    }

    /// Tells whether it is to be renewed now; whoever asks is told so once in half a minute, however often it fails.
    pub(crate) fn is_to_be_renewed(&self, now: Timestamp, instant: Instant) -> bool {
        let due = self.is_in_use(now) && self.renews().is_some_and(|due| due <= self.now(now));
        let rested = self.tried.get().is_none_or(|tried| instant.saturating_duration_since(tried) >= MINIMUM_INTERVAL);
        let renew = due && rested;
        if renew {
            self.tried.set(Some(instant));
        }
        renew
    }

    /// Takes over from the one that it replaces who uses it, and when that was: making it anew is no use.
    pub(crate) fn follows(&self, old: &Self) {
        self.used.set(old.used.get());
        self.holders.replace(old.holders.borrow().clone());
    }

    /// Tells whether somebody may hold the credential itself: then it is not revoked just because there is a newer one.
    pub(crate) fn is_held_elsewhere(&self) -> bool {
        self.facts.certificate.is_none()
    }

    /// Tells whether a run may hold the credential itself; behind the bridge nobody does.
    pub(crate) fn is_handed_out(&self) -> bool {
        let behind_the_bridge = || self.recipe.route().is_some_and(|route| route.host.deliver == Deliver::Bridge);
        self.is_held_elsewhere() && !behind_the_bridge()
    }

    /// Leaves to the end of a session's token what ends with it.
    pub(crate) fn end_with_the_session(&self) {
        self.lease.end_with_the_session();
    }

    /// Tells whether somebody used it lately.
    pub(crate) fn is_in_use(&self, now: Timestamp) -> bool {
        now < self.used.get().plus(IN_USE)
    }
}

/// Gives what making an entry came to; shared by all who waited.
pub(crate) type Outcome = Result<Rc<Entry>, Failure>;

/// Waits for a flight of somebody else.
pub(crate) type Landing = watch::Receiver<Option<Outcome>>;

/// Keeps entries, flights and fresh failures.
#[derive(Default)]
pub(crate) struct Entries {
    kept: RefCell<HashMap<EntryKey, Rc<Entry>>>,
    flights: RefCell<HashMap<EntryKey, Landing>>,
    failures: RefCell<HashMap<EntryKey, (Failure, Instant)>>,
    told: Told,
    over: Cell<bool>,
}

impl Entries {
    /// Finds an entry, fresh or not.
    pub(crate) fn get(&self, key: EntryKey) -> Option<Rc<Entry>> {
        self.kept.borrow().get(&key).cloned()
    }

    /// Lists all of them.
    pub(crate) fn all(&self) -> Vec<Rc<Entry>> {
        self.kept.borrow().values().cloned().collect()
    }

    /// Keeps an entry and gives back the one that it replaces.
    pub(crate) fn put(&self, entry: &Rc<Entry>) -> Option<Rc<Entry>> {
        self.failures.borrow_mut().remove(&entry.recipe.key);
        self.told.forget(entry.recipe.key);
        self.kept.borrow_mut().insert(entry.recipe.key, Rc::clone(entry))
    }

    /// Takes an entry out, and lets nobody wait for what is being made in its place: it lands with [`Self::land`] as nobody's.
    pub(crate) fn forget(&self, key: EntryKey) -> Option<Rc<Entry>> {
        self.flights.borrow_mut().remove(&key);
        self.remove(key)
    }

    /// Takes an entry out.
    pub(crate) fn remove(&self, key: EntryKey) -> Option<Rc<Entry>> {
        self.failures.borrow_mut().remove(&key);
        self.kept.borrow_mut().remove(&key)
    }

    /// Joins the flight of a key, or begins one: then the sender must be used.
    pub(crate) fn join(&self, key: EntryKey) -> (Landing, Option<watch::Sender<Option<Outcome>>>) {
        if let Some(landing) = self.flights.borrow().get(&key) {
            return (landing.clone(), None);
        }
        let (sender, landing) = watch::channel(None);
        self.flights.borrow_mut().insert(key, landing.clone());
        (landing, Some(sender))
    }

    /// Lets nothing in any more: what lands from now on is nobody's.
    pub(crate) fn close(&self) {
        self.over.set(true);
    }

    /// Lets nobody wait for what is being made: it lands as nobody's.
    pub(crate) fn abandon_flights(&self) {
        self.flights.take();
    }

    /// Tells whether anything is being made.
    pub(crate) fn has_flights(&self) -> bool {
        !self.flights.borrow().is_empty()
    }

    /// Ends a flight and tells whether its key was not forgotten meanwhile.
    pub(crate) fn land(&self, key: EntryKey, flight: &Landing) -> bool {
        let mut flights = self.flights.borrow_mut();
        let wanted = flights.get(&key).is_some_and(|known| known.same_channel(flight));
        if wanted {
            flights.remove(&key);
        }
        wanted && !self.over.get()
    }

    /// Remembers a failure for a moment, because one `init` asks five times.
    pub(crate) fn fail(&self, key: EntryKey, failure: &Failure, now: Instant, remember: Duration) {
        let mut failures = self.failures.borrow_mut();
        failures.retain(|_, (_, until)| *until > now);
        failures.insert(key, (failure.clone(), now + remember));
        self.told.remember(key, failure);
    }

    /// Gives what making an entry failed with last, if none was made since, and when.
    pub(crate) fn last_failure(&self, key: EntryKey) -> Option<(Failure, Timestamp)> {
        self.told.last(key)
    }

    /// Forgets a failure that is not true any more.
    pub(crate) fn forget_failure(&self, key: EntryKey) {
        self.failures.borrow_mut().remove(&key);
    }

    /// Finds a failure that is still remembered.
    pub(crate) fn failure(&self, key: EntryKey, now: Instant) -> Option<Failure> {
        self.failures.borrow().get(&key).filter(|(_, until)| *until > now).map(|(failure, _)| failure.clone())
    }
}

/// What Terraform holds for a whole run should live at least this long.
const DEFAULT_MINIMUM_LIFE: Duration = Duration::from_secs(10 * 60);
/// How long a token that does not say its end is kept.
const LIFE_OF_THE_ENDLESS: Duration = Duration::from_secs(5 * 60);
/// Least time between two renewals.
const MINIMUM_INTERVAL: Duration = Duration::from_secs(30);
/// An entry counts as in use for this long after each use.
const IN_USE: Duration = Duration::from_secs(30 * 60);

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::bridge::recipe_for_tests;
    use credmint_issuers::BearerToken;
    use credmint_vocabulary::{FailureKind, Secret};

    pub(crate) fn entry(life: Option<u64>) -> Entry {
        let made = Timestamp::from_unix(1_000_000);
        let expires = life.map(|seconds| made.plus(Duration::from_secs(seconds)));
        Entry {
            recipe: recipe_for_tests(),
            facts: Facts { expires, certificate: None },
            held: Held::Token(BearerToken { token: Secret::from("t"), expires }).into(),
            identity: None,
            sign_in: None,
            notes: Vec::new(),
            lease: None.into(),
            made,
            began: Instant::now(),
            jitter: 0.0,
            used: made.into(),
            tried: Cell::default(),
            holders: RefCell::default(),
            upstream: None.into(),
        }
    }

    fn after(seconds: u64) -> Timestamp {
        Timestamp::from_unix(1_000_000).plus(Duration::from_secs(seconds))
    }

    #[test]
    fn nothing_is_handed_out_that_is_about_to_die_coder_22429() {
        let hour = entry(Some(3600));
        assert!(hour.is_fresh(after(2999)) && !hour.is_fresh(after(3000)), "ten minutes are the least");
        let short = entry(Some(300));
        assert!(short.is_fresh(after(199)) && !short.is_fresh(after(200)), "a third of a shorter life");
    }

    #[test]
    fn the_last_good_value_is_kept_until_it_really_ends_rolesanywhere_200() {
        let hour = entry(Some(3600));
        assert!(hour.is_alive(after(3599)) && !hour.is_alive(after(3600)));
    }

    #[test]
    fn a_token_without_an_end_is_kept_for_five_minutes() {
        let endless = entry(None);
        assert!(endless.is_fresh(after(299)) && !endless.is_alive(after(300)));
    }

    #[test]
    fn a_clock_that_is_set_back_makes_nothing_younger() {
        let mut hour = entry(Some(3600));
        let Some(earlier) = Instant::now().checked_sub(Duration::from_secs(3000)) else { return };
        hour.began = earlier;
        assert!(hour.is_alive(after(0)) && !hour.is_fresh(after(0)));
        assert!(hour.is_to_be_renewed(after(0), Instant::now()));
        hour.facts.expires = Some(after(2900));
        assert!(!hour.is_alive(after(0)));
    }

    #[test]
    fn renewal_comes_at_two_thirds_and_never_at_once() {
        assert_eq!(entry(Some(3600)).renews(), Some(after(2400)));
        assert_eq!(entry(Some(6)).renews(), Some(after(30)), "a minimum interval");
        assert_eq!(entry(None).renews(), None);
    }

    #[test]
    fn a_renewal_that_fails_is_tried_twice_a_minute_and_not_whenever_something_else_happens() {
        let (hour, start) = (entry(Some(3600)), Instant::now());
        hour.used.set(after(2400));
        let at = |seconds| hour.is_to_be_renewed(after(2400 + seconds), start + Duration::from_secs(seconds));
        assert_eq!([0, 1, 3, 29, 30, 31, 60].map(at), [true, false, false, false, true, false, true]);
    }

    #[test]
    fn what_nobody_has_used_for_half_an_hour_is_not_renewed() {
        let hour = entry(Some(3600));
        assert!(!hour.is_to_be_renewed(after(2400), Instant::now()));
    }

    #[test]
    fn a_failure_is_remembered_for_a_moment_and_forgotten_with_success() {
        let (entries, now) = (Entries::default(), Instant::now());
        let key = recipe_for_tests().key;
        let failure = Failure::new(FailureKind::Refused, "no");
        entries.fail(key, &failure, now, Duration::from_secs(3));
        assert!(entries.failure(key, now + Duration::from_secs(2)).is_some());
        assert!(entries.failure(key, now + Duration::from_secs(3)).is_none());
        assert!(entries.put(&Rc::new(entry(None))).is_none());
        assert!(entries.failure(key, now).is_none());
    }

    #[test]
    fn waiters_share_a_flight_granted_912() {
        let entries = Entries::default();
        let key = recipe_for_tests().key;
        assert!(entries.join(key).1.is_some());
        assert!(entries.join(key).1.is_none());
    }

    #[test]
    fn what_is_forgotten_on_its_way_lands_as_nobodys() {
        let entries = Entries::default();
        let key = recipe_for_tests().key;
        let (first, _sender) = entries.join(key);
        assert!(entries.forget(key).is_none());
        assert!(!entries.land(key, &first), "forgotten meanwhile");
        let (second, sender) = entries.join(key);
        assert!(sender.is_some(), "the next one asks anew");
        assert!(!entries.land(key, &first) && entries.land(key, &second));
        let (last, _sender) = entries.join(key);
        entries.close();
        assert!(entries.has_flights() && !entries.land(key, &last), "the agent ends");
        assert!(!entries.has_flights());
    }
}
