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
