//! Why nobody is signed in, as a person reads it: the two rooms that sign in have an error of their own each.
//! An error comes in, a failure with the next command goes out.
//! Touches nothing.

use credmint_identities::SignInError;
use credmint_issuers::GrantError;
use credmint_vocabulary::{Failure, FailureKind};

/// Says whose turn it is and what to do next.
pub(super) trait Refusal: std::fmt::Display {
    /// Says whose turn it is.
    fn kind(&self) -> FailureKind;

    /// Says what to do next, in the words of the room.
    fn hint(&self) -> Option<String>;
}

impl Refusal for SignInError {
    fn kind(&self) -> FailureKind {
        Self::kind(self)
    }

    fn hint(&self) -> Option<String> {
        Self::hint(self)
    }
}

impl Refusal for GrantError {
    fn kind(&self) -> FailureKind {
        Self::kind(self)
    }

    fn hint(&self) -> Option<String> {
        Self::hint(self)
    }
}

/// Makes the failure.
pub(super) fn refused(name: &str, error: &dyn Refusal) -> Failure {
    Failure::new(error.kind(), format!("nobody is signed in as `{name}`: {error}"))
        .hint(command(name, error.hint().as_deref().unwrap_or(AGAIN)))
}

/// Puts the command that signs in into a hint that does not know the identity's name.
pub(super) fn command(name: &str, hint: &str) -> String {
    let login = format!("credmint login {name}");
    match hint {
        "sign in without --device, or with --paste" => format!("{login} --no-browser, or {login} --paste"),
        "sign in with --device" => format!("{login} --device"),
        _ if hint.contains(AGAIN) => hint.replace(AGAIN, &login),
        _ => format!("{hint}, then {login}"),
    }
}

/// How the rooms' hints say it.
const AGAIN: &str = "sign in again";
