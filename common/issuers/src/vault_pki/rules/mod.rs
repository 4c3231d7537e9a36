//! What the rules of a role, and the end of its authority, do to a request of ours.
//! Role, authority, request and time come in, findings in words go out.
//! Pure: asks nobody. What depends on the server's own state is called unknown, not guessed.

mod key;
mod life;
mod names;
mod pattern;
mod uses;

use std::time::Duration;

use credmint_client_identity::{KeyAlgorithm, Names};
use credmint_vocabulary::{Timestamp, printable};

use super::role::Role;

pub(crate) use key::{fit, kind, named};

/// Says what a rule does to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// The request is refused, or the certificate is of no use.
    Refuses,
    /// The certificate is another one than was asked for.
    Changes,
    /// It cannot be judged from here.
    Unknown,
    /// Nothing yet, but soon.
    Warns,
}

/// Tells which rule does what to a request, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it does.
    pub effect: Effect,
    /// The same in words, with the role's name and the rule's own.
    pub what: String,
    /// What to set, or to ask the administrator for.
    pub hint: Option<String>,
}

impl Finding {
    pub(crate) fn new(effect: Effect, what: impl AsRef<str>, hint: impl AsRef<str>) -> Self {
        let hint = Some(printable(hint.as_ref(), 400)).filter(|hint| !hint.is_empty());
        Self { effect, what: printable(what.as_ref(), 400), hint }
    }
}

/// Holds what is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) key: KeyAlgorithm,
    pub(crate) names: &'a Names,
    pub(crate) ttl: Option<Duration>,
}

/// Holds what is known of the authority that signs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Authority {
    pub(crate) subject: String,
    pub(crate) not_after: Timestamp,
    /// `leaf_not_after_behavior`, if it may be read.
    pub(crate) beyond: Option<String>,
}

/// Judges a request by a role and its authority, as far as they are known.
pub(crate) fn judge(
    name: &str,
    role: Option<&Role>,
    authority: Option<&Authority>,
    wanted: Wanted<'_>,
    now: Timestamp,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(role) = role {
        findings.extend(key::judge(name, role, wanted.key));
        findings.extend(names::judge(name, role, wanted.names));
        findings.extend(uses::judge(name, role));
    }
    findings.extend(life::judge(name, role, authority, wanted.ttl, now));
    findings
}

/// Says a length of time in its largest units.
fn words(life: Duration) -> String {
    let seconds = life.as_secs();
    let parts = [(seconds / 86_400, "d"), (seconds / 3_600 % 24, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")];
    let said: Vec<_> = parts.iter().filter(|(n, _)| *n > 0).take(2).map(|(n, unit)| format!("{n}{unit}")).collect();
    if said.is_empty() { "0s".to_owned() } else { said.concat() }
}

#[cfg(test)]
mod tests;
