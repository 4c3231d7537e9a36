//! Points in wall-clock time, in whole seconds: when something was asked, and when a credential ends.
//! Unix seconds or RFC 3339 text come in, the same or a remaining life go out.
//! Reads no clock itself. RFC 3339 §5.6 with `Z`, the one form that AWS, Kubernetes and people all accept.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Counts whole seconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// Says when a credential stops being accepted (`notAfter`, `exp`, or now plus `expires_in`).
pub type Expiry = Timestamp;

/// Says that a text is no RFC 3339 time that we can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an RFC 3339 time with zone Z")]
pub struct ExpiryError;

impl Timestamp {
    /// Takes Unix seconds.
    #[must_use]
    pub const fn from_unix(seconds: i64) -> Self {
        Self(seconds)
    }

    /// Takes a reading of the system's clock; the time before 1970 counts as 1970.
    #[must_use]
    pub fn from_system(time: SystemTime) -> Self {
        let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self(i64::try_from(seconds).unwrap_or(i64::MAX))
    }

    /// Gives Unix seconds.
    #[must_use]
    pub const fn unix(self) -> i64 {
        self.0
    }

    /// Gives the life that remains at `now`; zero once it has ended.
    #[must_use]
    pub fn remaining(self, now: Self) -> Duration {
        Duration::from_secs(u64::try_from(self.0.saturating_sub(now.0)).unwrap_or(0))
    }

    /// Gives the time this much later.
    #[must_use]
    pub fn plus(self, life: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(life.as_secs()).unwrap_or(i64::MAX)))
    }

    /// Gives the time this much earlier.
    #[must_use]
    pub fn minus(self, life: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(life.as_secs()).unwrap_or(i64::MAX)))
    }

    /// Reads `YYYY-MM-DDTHH:MM:SSZ`; fractions of a second are dropped.
    ///
    /// # Errors
    /// [`ExpiryError`] for anything else, other zones included.
    pub fn from_rfc3339(text: &str) -> Result<Self, ExpiryError> {
        let (date, time) = text.strip_suffix('Z').and_then(|t| t.split_once('T')).ok_or(ExpiryError)?;
        let [year, month, day] = numbers(date, '-')?;
        let [hour, minute, second] = numbers(time.split('.').next().unwrap_or(time), ':')?;
        let sane = (0..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && hour < 24
            && minute < 60
            && second <= 60;
        if !sane {
            return Err(ExpiryError);
        }
        Ok(Self(days_from_civil(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil_from_days(self.0.div_euclid(86_400));
        let rest = self.0.rem_euclid(86_400);
        write!(f, "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3_600, rest / 60 % 60, rest % 60)
    }
}

fn numbers(text: &str, separator: char) -> Result<[i64; 3], ExpiryError> {
    let mut parts = text.split(separator);
    let mut next = || -> Result<i64, ExpiryError> {
        let part =
            parts.next().filter(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit())).ok_or(ExpiryError)?;
        part.parse().map_err(|_| ExpiryError)
    };
    let all = [next()?, next()?, next()?];
    if parts.next().is_some() { Err(ExpiryError) } else { Ok(all) }
}

/// Counts days since 1970-01-01 in the proleptic Gregorian calendar (Howard Hinnant, "chrono-compatible low-level date algorithms").
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let shifted = (month + 9) % 12;
    let day_of_year = (153 * shifted + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc3339_survives_a_round_trip() {
        for text in ["1970-01-01T00:00:00Z", "2024-02-29T23:59:59Z", "2026-11-30T16:15:32Z", "2100-03-01T00:00:00Z"] {
            assert_eq!(Timestamp::from_rfc3339(text).map(|t| t.to_string()), Ok(text.to_owned()));
        }
        assert_eq!(Timestamp::from_rfc3339("2026-11-30T16:15:32Z").map(Timestamp::unix), Ok(1_796_055_332));
    }

    #[test]
    fn other_forms_are_refused() {
        for text in [
            "",
            "2026-11-30",
            "2026-11-30T16:15:32",
            "2026-11-30T16:15:32+01:00",
            "2026-13-30T16:15:32Z",
            "x-1-1T1:1:1Z",
            "9223372036854775807-01-01T00:00:00Z",
            "10000-01-01T00:00:00Z",
        ] {
            assert_eq!(Timestamp::from_rfc3339(text), Err(ExpiryError), "{text}");
        }
    }

    #[test]
    fn remaining_life_is_never_negative() {
        let end = Timestamp::from_unix(100);
        assert_eq!(end.remaining(Timestamp::from_unix(40)), Duration::from_secs(60));
        assert_eq!(end.remaining(Timestamp::from_unix(140)), Duration::ZERO);
    }
}
