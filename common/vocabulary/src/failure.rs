//! What a person reads when something went wrong: whose turn it is, what failed, and what to do next.
//! An operation's own error comes in, two lines of text go out.
//! Holds no secret: callers give names, positions and lengths, never values.

use std::fmt;

use crate::printable;

/// Says whose turn it is to act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The command line was not one of ours.
    Usage,
    /// The settings have to change.
    Settings,
    /// Somebody answered, and the answer was no.
    Refused,
    /// Nobody answered in time, or not in a way that could be understood.
    Unreachable,
    /// A rule of our own was broken: worth a report.
    Internal,
}

impl FailureKind {
    /// Gives the word that is used in the agent protocol, in JSON and in the last-failure file.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Settings => "settings",
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::Internal => "internal",
        }
    }

    /// Reads that word; a word of a later version counts as [`FailureKind::Internal`].
    #[must_use]
    pub fn from_word(word: &str) -> Self {
        match word {
            "usage" => Self::Usage,
            "settings" => Self::Settings,
            "refused" => Self::Refused,
            "unreachable" => Self::Unreachable,
            _ => Self::Internal,
        }
    }

    /// Gives the exit status: 64 usage, 78 settings, 77 refused, 69 unreachable, 70 internal (`sysexits.h`).
    #[must_use]
    pub const fn exit_status(self) -> u8 {
        match self {
            Self::Usage => 64,
            Self::Settings => 78,
            Self::Refused => 77,
            Self::Unreachable => 69,
            Self::Internal => 70,
        }
    }
}

/// Tells a person what failed, in their words, and the next thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Whose turn it is.
    pub kind: FailureKind,
    /// What failed: lower case, the hostname in it, no full stop.
    pub what: String,
    /// The exact next command or edit, if there is one.
    pub hint: Option<String>,
    /// Somebody else stands in our place and would be asked instead of us: nobody may go on without a credential.
    pub usurped: bool,
    /// We ourselves have no room for it just now; it may be asked again.
    pub busy: bool,
}

impl Failure {
    /// Makes a failure; text that came from elsewhere is made printable and kept to one line.
    #[must_use]
    pub fn new(kind: FailureKind, what: impl AsRef<str>) -> Self {
        Self { kind, what: printable(what.as_ref(), 600), hint: None, usurped: false, busy: false }
    }

    /// Adds the next thing to do.
    #[must_use]
    pub fn hint(mut self, hint: impl AsRef<str>) -> Self {
        self.hint = Some(printable(hint.as_ref(), 600));
        self
    }

    /// Marks that we have no room for it just now.
    #[must_use]
    pub fn busy(mut self) -> Self {
        self.busy = true;
        self
    }

    /// Marks that somebody else stands in our place.
    #[must_use]
    pub fn usurped(mut self) -> Self {
        self.usurped = true;
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_round_trip() {
        use FailureKind::{Internal, Refused, Settings, Unreachable, Usage};
        for kind in [Usage, Settings, Refused, Unreachable, Internal] {
            assert_eq!(FailureKind::from_word(kind.word()), kind);
        }
        assert_eq!(FailureKind::from_word("of a later version"), Internal);
    }

    #[test]
    fn a_failure_is_one_line_and_a_hint() {
        let failure = Failure::new(FailureKind::Refused, "no\x1b[31m\nway").hint("credmint status");
        assert_eq!(failure.to_string(), "no [31m way\nhint: credmint status");
    }
}
