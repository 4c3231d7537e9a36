//! The wall clock, read in one place.
//! Nothing comes in, the time goes out; every other room takes it as a parameter.
//! Touches nothing else. Monotonic time is `std::time::Instant`, made where a deadline begins.

use std::time::SystemTime;

use credmint_vocabulary::Timestamp;

/// Reads the wall clock.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the one door to the clock")]
pub fn now() -> Timestamp {
    Timestamp::from_system(SystemTime::now())
}
