//! Wrong passphrases: how many there were, and how long the next try has to wait.
//! The time comes in; whether a try may be made goes out.
//! Pure: one try at a time, by whatever connection, and none that comes early is looked at.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Counts the wrong ones since it was locked.
#[derive(Default)]
pub(crate) struct Tries {
    wrong: Cell<u32>,
    next: Cell<Option<Instant>>,
    under_way: Cell<bool>,
}

impl Tries {
    /// Begins a try, or says how long to wait first; who waits for another one's try waits a second.
    pub(crate) fn begin(&self, now: Instant) -> Result<(), Duration> {
        let wait = self.next.get().map_or(Duration::ZERO, |next| next.saturating_duration_since(now));
        if !wait.is_zero() {
            return Err(wait);
        }
        if self.under_way.replace(true) { Err(FIRST_WAIT) } else { Ok(()) }
    }

    /// Ends a try that was wrong; gives the wait before the next one: 1 s, 2 s, 4 s, up to a minute.
    pub(crate) fn wrong(&self, now: Instant) -> Duration {
        let wait = FIRST_WAIT.saturating_mul(1 << self.wrong.get().min(6)).min(LONGEST_WAIT);
        self.wrong.set(self.wrong.get().saturating_add(1));
        self.next.set(Some(now + wait));
        self.under_way.set(false);
        wait
    }

    /// Ends a try that was right, or that could not be made, and forgets the others if it was right.
    pub(crate) fn done(&self, right: bool) {
        self.under_way.set(false);
        if right {
            self.wrong.set(0);
            self.next.set(None);
        }
    }

    /// Gives the number of wrong ones.
    pub(crate) fn count(&self) -> u32 {
        self.wrong.get()
    }
}

const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_grows_to_a_minute_and_an_early_try_is_not_looked_at() {
        let (tries, mut now) = (Tries::default(), Instant::now());
        let mut waits = Vec::new();
        for _ in 0..9 {
            tries.begin(now).expect("in time");
            let wait = tries.wrong(now);
            assert_eq!(tries.begin(now + wait / 2), Err(wait / 2), "too early");
            now += wait;
            waits.push(wait.as_secs());
        }
        assert_eq!((waits, tries.count()), (vec![1, 2, 4, 8, 16, 32, 60, 60, 60], 9));
        tries.begin(now).expect("in time");
        tries.done(true);
        assert_eq!((tries.begin(now), tries.count()), (Ok(()), 0));
    }

    #[test]
    fn tries_at_once_are_one_try() {
        let (tries, now) = (Tries::default(), Instant::now());
        tries.begin(now).expect("the first");
        assert!(tries.begin(now).is_err() && tries.begin(now + LONGEST_WAIT).is_err());
        assert_eq!(tries.wrong(now), FIRST_WAIT);
        assert!(tries.begin(now + FIRST_WAIT).is_ok());
    }
}
