//! What is counted: requests by host, service and status, how long they took, what was sent; retries and renewals by host.
//! Events come in, numbers go out.
//! Pure memory. Nothing tells series apart but hosts of the settings, a handful of services, and statuses.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Counts from wherever something happens.
#[derive(Clone, Default)]
pub(crate) struct Counts(Arc<Mutex<Tally>>);

/// All numbers, as they are at one moment.
#[derive(Clone, Default)]
pub(crate) struct Tally {
    /// By host and service.
    pub(crate) requests: BTreeMap<(String, &'static str), Requests>,
    /// By host.
    pub(crate) hosts: BTreeMap<String, OfHost>,
}

/// Requests of one service of one host.
#[derive(Clone, Default)]
pub(crate) struct Requests {
    /// How many had this status; without one the client went away before an answer began.
    pub(crate) statuses: BTreeMap<Option<u16>, u64>,
    /// How many took no longer than each of [`BOUNDS`], and longer than the one before.
    pub(crate) took: [u64; BOUNDS.len()],
    /// What all of them took, in seconds.
    pub(crate) seconds: f64,
    /// What was sent of the answers' bodies.
    pub(crate) bytes: u64,
}

/// What is counted of a host.
#[derive(Clone, Default)]
pub(crate) struct OfHost {
    /// Requests that were sent upstream once more.
    pub(crate) retries: u64,
    /// Credentials that were made anew while there was one.
    pub(crate) renewals: u64,
    /// The same, in vain.
    pub(crate) failed_renewals: u64,
}

impl Counts {
    /// Counts a request that has ended.
    pub(crate) fn request(
        &self,
        (host, service): (&str, &'static str),
        status: Option<u16>,
        took: Duration,
        bytes: u64,
    ) {
        let mut tally = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = tally.requests.entry((host.to_owned(), service)).or_default();
        *own.statuses.entry(status).or_default() += 1;
        let seconds = took.as_secs_f64();
        let bucket = BOUNDS.iter().position(|bound| seconds <= *bound).and_then(|at| own.took.get_mut(at));
        bucket.into_iter().for_each(|count| *count += 1);
        own.seconds += seconds;
        own.bytes += bytes;
    }

    /// Counts a request that is sent once more.
    pub(crate) fn retry(&self, host: &str) {
        self.of_host(host, |own| own.retries += 1);
    }

    /// Counts a renewal.
    pub(crate) fn renewal(&self, host: &str, succeeded: bool) {
        self.of_host(host, |own| if succeeded { own.renewals += 1 } else { own.failed_renewals += 1 });
    }

    /// Gives all of them.
    pub(crate) fn all(&self) -> Tally {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn of_host(&self, host: &str, count: impl FnOnce(&mut OfHost)) {
        count(self.0.lock().unwrap_or_else(PoisonError::into_inner).hosts.entry(host.to_owned()).or_default());
    }
}

impl Requests {
    /// Counts all.
    pub(crate) fn count(&self) -> u64 {
        self.statuses.values().sum()
    }
}

/// From an answer on loopback to a large archive, in seconds.
pub(crate) const BOUNDS: [f64; 13] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 600.0];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_in_one_bucket_or_beyond_the_last() {
        let counts = Counts::default();
        for millis in [5, 6, 700_000] {
            counts.request(("a.example", "modules"), Some(200), Duration::from_millis(millis), 10);
        }
        counts.request(("a.example", "modules"), None, Duration::ZERO, 0);
        let tally = counts.all();
        let own = &tally.requests[&("a.example".to_owned(), "modules")];
        assert_eq!((own.count(), own.took.iter().sum::<u64>(), own.bytes), (4, 3, 30));
        assert_eq!((own.took[0], own.took[1]), (2, 1), "a bound counts itself");
    }
}
