//! Capability URLs: Terraform sends no token for archives, checksums and signatures, so the URL itself is the right to them.
//! An upstream URL comes in and a secret path segment goes out; the segment comes in and the URL goes out.
//! Pure memory; each leads to exactly one URL for one use, for a quarter of an hour; that of a log as long as it is read.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use credmint_vocabulary::{Failure, Secret};
use http::Method;
use url::Url;

use super::random_token;
use super::run::RunNumber;
use crate::recipe::{EntryKey, Recipe};

/// Leads to one upstream URL with one route's credential.
#[derive(Clone)]
pub(super) struct Capability {
    /// Whose credential.
    pub(super) recipe: Rc<Recipe>,
    /// Which URL, in the upstream's own words.
    pub(super) url: Url,
    /// The run of `credmint exec` that it was given to.
    pub(super) run: Option<RunNumber>,
    /// For what.
    pub(super) purpose: Use,
    /// What is there, if we made it ourselves and the upstream has nothing like it.
    pub(super) made: Option<Bytes>,
}

/// What a capability is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// `GET` and `HEAD`.
    Download,
    /// The same, where the upstream's own path may be a secret.
    State,
    /// `PUT`.
    Upload,
    /// `GET` and `HEAD`, again and again while the log grows; the client's query says from where.
    Log,
}

impl Use {
    /// Tells whether a method belongs to this use.
    pub(super) fn permits(self, method: &Method) -> bool {
        match self {
            Self::Download | Self::State | Self::Log => matches!(*method, Method::GET | Method::HEAD),
            Self::Upload => *method == Method::PUT,
        }
    }
}

/// Keeps the capabilities, the newest last.
#[derive(Default)]
pub(super) struct Capabilities {
    given: RefCell<VecDeque<(Secret<String>, Instant, Capability)>>,
}

impl Capabilities {
    /// Gives a capability; that of a log which is read already is the same one.
    pub(super) fn give(&self, to: Capability, now: Instant) -> Result<Secret<String>, Failure> {
        self.sweep(now);
        let mut given = self.given.borrow_mut();
        let same = |other: &Capability| {
            (other.purpose, &other.url, other.recipe.key, other.run) == (Use::Log, &to.url, to.recipe.key, to.run)
        };
        if to.purpose == Use::Log
            && let Some((segment, until, _)) = given.iter_mut().find(|(_, _, other)| same(other))
        {
            *until = now + LIFE;
            return Ok(segment.copied());
        }
        let segment = random_token()?;
        let copy = segment.copied();
        if given.len() >= MOST_CAPABILITIES {
            make_room(&mut given);
        }
        given.push_back((copy, now + LIFE, to));
        Ok(segment)
    }

    /// Finds where a segment leads. Every one is compared, each in constant time.
    pub(super) fn find(&self, segment: &[u8], now: Instant) -> Option<Capability> {
        let mut given = self.given.borrow_mut();
        let alive = given.iter_mut().filter(|(_, until, _)| *until > now);
        let (_, until, to) = alive.fold(None, |found, own| if own.0.same_as(segment) { Some(own) } else { found })?;
        if to.purpose == Use::Log {
            *until = now + LIFE;
        }
        Some(to.clone())
    }

    /// Wipes what is over.
    pub(super) fn sweep(&self, now: Instant) {
        self.given.borrow_mut().retain(|(_, until, _)| *until > now);
    }

    /// Withdraws all.
    pub(super) fn withdraw(&self) {
        self.given.take();
    }

    /// Withdraws all capabilities of a run.
    pub(super) fn close_run(&self, run: RunNumber) {
        self.given.borrow_mut().retain(|(_, _, to)| to.run != Some(run));
    }

    /// Withdraws all capabilities of an entry.
    pub(super) fn close(&self, key: EntryKey) {
        self.given.borrow_mut().retain(|(_, _, to)| to.recipe.keys().all(|own| own != key));
    }
}

/// Takes the oldest of the entry that has the most: a server that names addresses without end withdraws its own, and nobody else's.
fn make_room(given: &mut VecDeque<(Secret<String>, Instant, Capability)>) {
    let mut counts: HashMap<EntryKey, usize> = HashMap::new();
    given.iter().for_each(|(_, _, to)| *counts.entry(to.recipe.key).or_default() += 1);
    let most = counts.into_iter().max_by_key(|(_, count)| *count).map(|(key, _)| key);
    let oldest = given.iter().position(|(_, _, to)| Some(to.recipe.key) == most);
    drop(given.remove(oldest.unwrap_or_default()));
}

const LIFE: Duration = Duration::from_secs(15 * 60);
const MOST_CAPABILITIES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridge::target::tests::{recipe, recipe_at};

    #[test]
    fn a_capability_ends_after_a_quarter_of_an_hour() {
        let (all, now) = (Capabilities::default(), Instant::now());
        let url = Url::parse("https://registry.corp.example/a.zip").expect("valid");
        let to = |purpose| Capability { recipe: recipe(), url: url.clone(), purpose, run: None, made: None };
        let segment = all.give(to(Use::Download), now).expect("given");
        assert!(all.find(segment.expose().as_bytes(), now + LIFE - Duration::from_secs(1)).is_some());
        assert!(all.find(segment.expose().as_bytes(), now + LIFE).is_none());
        assert!(all.find(b"guess", now).is_none());
        all.sweep(now + LIFE);
        assert!(all.given.borrow().is_empty(), "nor is it kept in memory");
    }

    #[test]
    fn a_log_can_be_read_as_long_as_somebody_reads_it_and_has_one_address() {
        let (all, now) = (Capabilities::default(), Instant::now());
        let url = Url::parse("https://registry.corp.example/log").expect("valid");
        let to = |purpose| Capability { recipe: recipe(), url: url.clone(), purpose, run: None, made: None };
        let segment = all.give(to(Use::Log), now).expect("given");
        let find = |at| all.find(segment.expose().as_bytes(), at).is_some();
        assert!((1..6).all(|minutes| find(now + Duration::from_secs(minutes * 14 * 60))));
        let later = now + Duration::from_secs(5 * 14 * 60);
        assert!(all.give(to(Use::Log), later).expect("given").same_as(segment.expose().as_bytes()));
        assert!(!all.give(to(Use::Download), later).expect("given").same_as(segment.expose().as_bytes()));
        assert!(!find(later + LIFE));
    }

    #[test]
    fn a_server_that_names_addresses_without_end_withdraws_its_own() {
        let (all, now) = (Capabilities::default(), Instant::now());
        let url = Url::parse("https://registry.corp.example/a.zip").expect("valid");
        let give = |recipe: &Rc<Recipe>| {
            let (recipe, url, purpose) = (Rc::clone(recipe), url.clone(), Use::Download);
            all.give(Capability { recipe, url, purpose, run: None, made: None }, now).expect("given")
        };
        let (quiet, loud) = (recipe(), recipe_at("https://127.0.0.1:9443"));
        assert_ne!(quiet.key, loud.key);
        let early = give(&quiet);
        let first_of_many = give(&loud);
        (0..MOST_CAPABILITIES).for_each(|_| drop(give(&loud)));
        assert!(all.find(early.expose().as_bytes(), now).is_some());
        assert!(all.find(first_of_many.expose().as_bytes(), now).is_none());
        assert_eq!(all.given.borrow().len(), MOST_CAPABILITIES);
    }

    #[test]
    fn a_capability_is_for_one_use() {
        let permits =
            |purpose: Use| [Method::GET, Method::HEAD, Method::PUT, Method::POST].map(|m| purpose.permits(&m));
        assert_eq!(permits(Use::Download), [true, true, false, false]);
        assert_eq!(permits(Use::Log), [true, true, false, false]);
        assert_eq!(permits(Use::Upload), [false, false, true, false]);
    }
}
