//! One entry of the agent in words: what it holds and until when.
//! An [`EntryStatus`] comes in, pieces of a line go out.
//! Sees no secret: the agent sends names, times and serial numbers.

use credmint_agent_protocol::EntryStatus;
use credmint_vocabulary::{Timestamp, printable};

use crate::life;

/// Says what kind of thing it is, with subject and serial number of a certificate.
pub(crate) fn holds(entry: &EntryStatus) -> String {
    let part =
        |word: &str, value: &Option<String>| value.as_ref().map(|value| format!("{word}{}", printable(value, 300)));
    let parts = [part(" ", &entry.certificate_subject), part(", serial ", &entry.serial)];
    parts.into_iter().flatten().fold(entry.kind.clone(), |line, part| line + &part)
}

/// Says whose it is.
pub(crate) fn identity(entry: &EntryStatus) -> &str {
    if entry.identity.is_empty() { "none: the issuer asks for nobody" } else { &entry.identity }
}

/// Says when it ends, and when it is renewed before that.
pub(crate) fn ends(entry: &EntryStatus, now: Timestamp) -> String {
    let Some(expires) = &entry.expires else { return "not known".to_owned() };
    let renews = entry.renews.as_ref().map(|at| format!(", renewed at {at} if in use")).unwrap_or_default();
    format!("{expires}{}{renews}", remaining(expires, now))
}

/// Says how far away a time is: ` (in 47 min)`, ` (over)`, or nothing if it cannot be read.
pub(crate) fn remaining(time: &str, now: Timestamp) -> String {
    let Ok(time) = Timestamp::from_rfc3339(time) else { return String::new() };
    match time.remaining(now).as_secs() {
        0 => " (over)".to_owned(),
        seconds => format!(" (in {})", life::words(seconds)),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn now() -> Timestamp {
        Timestamp::from_rfc3339("2026-11-30T16:00:00Z").expect("a time")
    }

    pub(crate) fn certificate() -> EntryStatus {
        EntryStatus {
            hostname: "registry.corp.example".into(),
            identity: "job".into(),
            subject: Some("repo:corp/infra".into()),
            issuer: "registry-cert".into(),
            kind: "certificate".into(),
            certificate_subject: Some("CN=dev@corp.example".into()),
            serial: Some("1f:02:aa".into()),
            expires: Some("2026-11-30T16:47:10Z".into()),
            remaining_seconds: Some(2_830),
            renews: Some("2026-11-30T16:31:00Z".into()),
            notes: vec!["asked for 24h, granted 1h".into()],
        }
    }

    #[test]
    fn an_entry_of_nobody_says_so() {
        assert_eq!(identity(&certificate()), "job");
        assert_eq!(identity(&EntryStatus::default()), "none: the issuer asks for nobody");
    }

    #[test]
    fn a_time_that_is_over_or_unreadable_is_said_calmly() {
        assert_eq!(remaining("2026-11-30T15:00:00Z", now()), " (over)");
        assert_eq!(remaining("soon", now()), "");
    }
}
