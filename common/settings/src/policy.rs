//! What narrows a route: the phase of a run, and who may ask.
//! Keys of a host's or provider's table become plain structs.
//! Looks at no process itself.

use std::path::PathBuf;

use credmint_vocabulary::Phase;

/// Narrows a route.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Policy {
    /// `plan_issuer`: name of the issuer for all but an apply; without it `issuer` grants for both.
    pub plan_issuer: Option<String>,
    /// `allow`: who may ask; without it whoever is of the same user.
    pub allow: Option<Allow>,
    /// `when_absent`: what becomes of a job that has no user.
    pub when_absent: WhenAbsent,
    /// `after_run`: what becomes of what a run was given, when the run is over.
    pub after_run: AfterRun,
}

impl Policy {
    /// Tells whether it matters who asks, and what their run is about.
    #[must_use]
    pub const fn is_about_who_asks(&self) -> bool {
        self.plan_issuer.is_some() || self.allow.is_some()
    }
}

/// What becomes of what was granted for a run of `credmint exec`, and nobody else has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AfterRun {
    /// `revoke`: it is revoked, if the issuer can do that.
    #[default]
    Revoke,
    /// `keep`: it is kept for the next run, to its own end.
    Keep,
}

impl AfterRun {
    /// Words of the settings.
    pub(crate) const WORDS: [(&str, Self); 2] = [("revoke", Self::Revoke), ("keep", Self::Keep)];
}

/// What a job gets that has no user, and so no token of one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WhenAbsent {
    /// `refuse`: nothing.
    #[default]
    Refuse,
    /// `fallback`: what is granted to another identity.
    Fallback {
        /// `fallback_identity`: names in order; empty only where the issuer needs nobody.
        identities: Vec<String>,
        /// `fallback_issuer`: name of the issuer (default `plan_issuer`, or else `issuer`).
        issuer: String,
    },
    /// `placeholder`: something that looks like a credential, and opens nothing.
    Placeholder,
}

impl WhenAbsent {
    /// Gives its word.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Fallback { .. } => "fallback",
            Self::Placeholder => "placeholder",
        }
    }
}

/// `allow = { … }`: all that is said of it has to hold; what is left out is not looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Allow {
    /// `commands`: names, or absolute paths, of programs of which one has to be among the processes that ask.
    pub commands: Vec<String>,
    /// `directories`: where the run has to be, there or below.
    pub directories: Vec<PathBuf>,
    /// `phases`: what the run has to be about.
    pub phases: Vec<Phase>,
}
