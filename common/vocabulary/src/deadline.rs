//! A deadline is a point in time, made once in `main` and passed down to every call that can wait.
//! An instant comes in, what remains of it goes out.
//! Reads no clock itself: the caller says what time it is.

use std::time::{Duration, Instant};

/// Marks the monotonic instant after which an answer is of no use to anyone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// Ends `after` this long from `now`.
    #[must_use]
    pub fn after(now: Instant, after: Duration) -> Self {
        Self(now + after)
    }

    /// Gives what remains at `now`; zero when it has passed.
    #[must_use]
    pub fn remaining(self, now: Instant) -> Duration {
        self.0.saturating_duration_since(now)
    }

    /// Gives the instant itself, for timers.
    #[must_use]
    pub fn instant(self) -> Instant {
        self.0
    }

    /// Gives the earlier of this deadline and `limit` from `now`: no single step may eat all the time there is. A limit that
    /// no clock can hold, as a server may name one, limits nothing.
    #[must_use]
    pub fn at_most(self, now: Instant, limit: Duration) -> Self {
        now.checked_add(limit).map_or(self, |end| Self(self.0.min(end)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remaining_is_zero_once_passed() {
        let start = Instant::now();
        let deadline = Deadline::after(start, Duration::from_secs(10));
        assert_eq!(deadline.remaining(start), Duration::from_secs(10));
        assert_eq!(deadline.remaining(start + Duration::from_secs(11)), Duration::ZERO);
    }

    #[test]
    fn a_step_never_outlives_the_whole() {
        let start = Instant::now();
        let whole = Deadline::after(start, Duration::from_secs(2));
        assert_eq!(whole.at_most(start, Duration::from_secs(5)), whole);
        assert_eq!(whole.at_most(start, Duration::from_secs(1)).remaining(start), Duration::from_secs(1));
        assert_eq!(whole.at_most(start, Duration::from_secs(u64::MAX)), whole, "a server's number ends no program");
    }
}
