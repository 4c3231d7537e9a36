//! Capability URLs: Terraform sends no token for archives, checksums and signatures, so the URL itself is the right to them.
//! An upstream URL comes in and a secret path segment goes out; the segment comes in and the URL goes out.
//! Pure memory; each lives a quarter of an hour and leads to exactly one URL.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, Instant};

use credmint_vocabulary::{Failure, Secret};
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
}

/// Keeps the capabilities, the newest last.
#[derive(Default)]
pub(super) struct Capabilities {
    given: RefCell<VecDeque<(Secret<String>, Instant, Capability)>>,
}

impl Capabilities {
    /// Gives a capability.
    pub(super) fn give(&self, to: Capability, now: Instant) -> Result<Secret<String>, Failure> {
        let segment = random_token()?;
        let copy = segment.copied();
        self.sweep(now);
        let mut given = self.given.borrow_mut();
        if given.len() >= MOST_CAPABILITIES {
            given.pop_front();
        }
        given.push_back((copy, now + LIFE, to));
        Ok(segment)
    }

    /// Finds where a segment leads. Every one is compared, each in constant time.
    pub(super) fn find(&self, segment: &[u8], now: Instant) -> Option<Capability> {
        let given = self.given.borrow();
        let alive = given.iter().filter(|(_, until, _)| *until > now);
        alive.fold(None, |found, (own, _, to)| if own.same_as(segment) { Some(to) } else { found }).cloned()
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
        self.given.borrow_mut().retain(|(_, _, to)| to.recipe.key != key);
    }
}

const LIFE: Duration = Duration::from_secs(15 * 60);
const MOST_CAPABILITIES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridge::target::tests::recipe;

    #[test]
    fn a_capability_ends_after_a_quarter_of_an_hour() {
        let (all, now) = (Capabilities::default(), Instant::now());
        let url = Url::parse("https://registry.corp.example/a.zip").expect("valid");
        let to = Capability { recipe: recipe(), url, run: None };
        let segment = all.give(to, now).expect("given");
        assert!(all.find(segment.expose().as_bytes(), now + LIFE - Duration::from_secs(1)).is_some());
        assert!(all.find(segment.expose().as_bytes(), now + LIFE).is_none());
        assert!(all.find(b"guess", now).is_none());
        all.sweep(now + LIFE);
        assert!(all.given.borrow().is_empty(), "nor is it kept in memory");
    }
}
