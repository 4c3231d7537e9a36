//! What was granted is not always what was asked: a role may drop names and shorten lives without an error.
//! Names and times of both sides come in, sentences for people go out.
//! Touches nothing. hashicorp/vault#12659, #2770 are what happens without it.

use std::fmt;
use std::time::Duration;

use credmint_vocabulary::Timestamp;

use crate::names::Names;

/// Lets a clock or a backdated `notBefore` be off by this much before it counts as a difference.
const TOLERANCE: Duration = Duration::from_secs(60);
/// Issuers backdate by minutes; a life counts as longer than asked only beyond this.
const BACKDATED: Duration = Duration::from_secs(600);

/// Holds what was asked of the issuer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The names in the request.
    pub names: Names,
    /// The life, if one was asked for.
    pub ttl: Option<Duration>,
}

/// Tells one way in which the certificate is not what was asked for; its `Display` is a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    /// Another life.
    Life {
        /// What was asked.
        asked: Duration,
        /// What was granted.
        granted: Duration,
    },
    /// Another common name.
    CommonName {
        /// What was asked.
        asked: String,
        /// What was granted, if any.
        granted: Option<String>,
    },
    /// A name that is missing.
    Dropped {
        /// DNS name, e-mail address, IP address or URI.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// A name that nobody asked for.
    Added {
        /// DNS name, e-mail address, IP address or URI.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// No extended key usage at all: some servers want `clientAuth` by name.
    UsageMissing,
    /// `anyExtendedKeyUsage` in place of `clientAuth`: some servers refuse it.
    UsageAny,
    /// Valid a little later than now: our clock is behind the issuer's.
    ClockBehind {
        /// By how much.
        seconds: u64,
    },
    /// The issuer's own certificate did not come along; a server that does not know it refuses ours.
    IssuerMissing {
        /// Subject of the missing certificate.
        issuer: String,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Life { asked, granted } => write!(f, "asked for {}, granted {}", words(*asked), words(*granted)),
            Self::CommonName { asked, granted: Some(granted) } => {
                write!(f, "asked for the common name {asked}, granted {granted}")
            }
            Self::CommonName { asked, granted: None } => write!(f, "asked for the common name {asked}, granted none"),
            Self::Dropped { kind, name } => write!(f, "asked for the {kind} {name}, not granted"),
            Self::Added { kind, name } => write!(f, "granted the {kind} {name}, not asked for"),
            Self::UsageMissing => f.write_str("the certificate names no extended key usage (clientAuth was asked for)"),
            Self::UsageAny => {
                f.write_str("the certificate allows any use in place of clientAuth; some servers refuse it")
            }
            Self::ClockBehind { seconds } => write!(f, "this machine's clock is {seconds} s behind the issuer's"),
            Self::IssuerMissing { issuer } => write!(f, "the issuer did not send its own certificate ({issuer})"),
        }
    }
}

/// Compares lives: the granted one is counted from `notBefore`, so that a clock that is off does not matter.
pub(crate) fn of_life(asked: Option<Duration>, not_before: Timestamp, not_after: Timestamp) -> Option<Difference> {
    let (asked, granted) = (asked?, not_after.remaining(not_before));
    let shorter = granted + TOLERANCE.min(asked / 20) < asked;
    let longer = granted > asked + BACKDATED;
    (shorter || longer).then_some(Difference::Life { asked, granted })
}

/// Compares names; who asked for none has nothing to compare.
pub(crate) fn of_names(asked: &Names, granted: &Names) -> Vec<Difference> {
    let mut all = Vec::new();
    if *asked == Names::default() {
        return all;
    }
    if let Some(name) = asked.common_name.as_ref().filter(|name| Some(*name) != granted.common_name.as_ref()) {
        all.push(Difference::CommonName { asked: name.clone(), granted: granted.common_name.clone() });
    }
    let text = |ips: &[std::net::IpAddr]| ips.iter().map(ToString::to_string).collect::<Vec<_>>();
    let common = granted.common_name.as_deref();
    compare("DNS name", &asked.dns_names, &granted.dns_names, common, &mut all);
    compare("e-mail address", &asked.email_addresses, &granted.email_addresses, common, &mut all);
    compare("IP address", &text(&asked.ip_addresses), &text(&granted.ip_addresses), common, &mut all);
    compare("URI", &asked.uris, &granted.uris, common, &mut all);
    all
}

/// Compares one kind; that an issuer repeats the common name among the alternative names is no surprise.
fn compare(kind: &'static str, asked: &[String], granted: &[String], common: Option<&str>, into: &mut Vec<Difference>) {
    let among = |name: &String, names: &[String]| names.iter().any(|other| other.eq_ignore_ascii_case(name));
    let dropped = asked.iter().filter(|name| !among(name, granted));
    into.extend(dropped.map(|name| Difference::Dropped { kind, name: name.clone() }));
    let added = granted.iter().filter(|name| !among(name, asked) && Some(name.as_str()) != common);
    into.extend(added.map(|name| Difference::Added { kind, name: name.clone() }));
}

/// Says a duration as a person would: the two largest units, rounded to minutes from an hour on.
fn words(life: Duration) -> String {
    let seconds = life.as_secs();
    let minutes = (seconds + 29) / 60;
    let parts = match seconds {
        0..=299 => vec![(seconds / 60, "m"), (seconds % 60, "s")],
        300..=172_799 => vec![(minutes / 60, "h"), (minutes % 60, "m")],
        _ => vec![(minutes / 1_440, "d"), (minutes / 60 % 24, "h")],
    };
    let said: Vec<_> = parts.into_iter().filter(|(n, _)| *n > 0).map(|(n, unit)| format!("{n}{unit}")).collect();
    if said.is_empty() { "0s".to_owned() } else { said.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    fn life(asked: Duration, granted: u64) -> Option<String> {
        let start = Timestamp::from_unix(1_000);
        of_life(Some(asked), start, start.plus(Duration::from_secs(granted))).map(|told| told.to_string())
    }

    #[test]
    fn a_backdated_beginning_is_no_difference() {
        assert_eq!(life(HOUR, 3_630), None);
        assert_eq!(life(HOUR, 3_590), None);
    }

    #[test]
    fn shorter_and_longer_lives_are() {
        assert_eq!(life(HOUR * 24, 3_630).as_deref(), Some("asked for 24h, granted 1h"));
        assert_eq!(life(HOUR, 90_030).as_deref(), Some("asked for 1h, granted 25h"));
        assert_eq!(life(Duration::from_secs(90), 60).as_deref(), Some("asked for 1m 30s, granted 1m"));
        assert_eq!(life(HOUR * 24 * 30, 7 * 86_400).as_deref(), Some("asked for 30d, granted 7d"));
    }

    #[test]
    fn a_common_name_repeated_among_the_names_is_no_difference() {
        let asked = Names { common_name: Some("a.example".to_owned()), ..Names::default() };
        let granted = Names { dns_names: vec!["a.example".to_owned()], ..asked.clone() };
        assert_eq!(of_names(&asked, &granted), []);
    }
}
