//! The one place of this program where an error becomes what a person reads.
//! An operation's error with the names around it comes in, a failure with the next command goes out.
//! Touches nothing; holds no secret.

use std::fmt::Display;
use std::time::Duration;

use credmint_identities::{Claims, IdentityError, SubjectToken};
use credmint_issuers::GrantError;
use credmint_vocabulary::{Failure, FailureKind, printable};

/// The route that was there is gone.
pub(crate) fn no_route(place: &impl Display) -> Failure {
    Failure::new(FailureKind::Internal, format!("the route of {place} is gone")).hint("run the command again")
}

/// Somebody had it forgotten, or had the agent end, before it was there.
pub(crate) fn forgotten(place: &impl Display) -> Failure {
    Failure::new(FailureKind::Refused, format!("the credential for {place} was forgotten while it was made"))
        .hint("run the command again")
}

/// Nobody answered in time.
pub(crate) fn too_slow(place: &impl Display) -> Failure {
    Failure::new(FailureKind::Unreachable, format!("no credential for {place} within the deadline"))
        .hint(format!("credmint explain {place} shows who is asked"))
}

/// An identity failed in a way that is not absence. With it: how long this is to be remembered.
pub(crate) fn of_identity(place: &impl Display, name: &str, error: &IdentityError) -> (Failure, Duration) {
    let what = format!("no credential for {place}: identity {name}: {error}");
    (with_hint(Failure::new(error.kind(), what), place, error.hint()), remembered(error.retry_after()))
}

/// The issuer refused, or could not be asked. With it: how long this is to be remembered.
pub(crate) fn of_grant(place: &impl Display, issuer: &str, error: &GrantError) -> (Failure, Duration) {
    let what = format!("no credential for {place}: issuer {issuer}: {error}");
    (with_hint(Failure::new(error.kind(), what), place, error.hint()), remembered(error.retry_after()))
}

/// Names the identity that was refused, and what its token claims: what was missing is seen by comparing.
pub(crate) fn asked_by(mut failure: Failure, asked: Option<(&str, &SubjectToken)>) -> Failure {
    let Some((name, token)) = asked.filter(|_| failure.kind == FailureKind::Refused) else { return failure };
    let claims = token.claims.as_ref();
    let texts = |of: fn(&Claims) -> Option<String>| claims.and_then(of);
    let aud = claims.map(|claims| claims.aud().join(", ")).filter(|aud| !aud.is_empty());
    let all = [("iss", texts(Claims::iss)), ("sub", texts(Claims::sub)), ("aud", aud)];
    let said: Vec<String> = all.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value?))).collect();
    let said = if said.is_empty() { "an opaque token".to_owned() } else { said.join("; ") };
    failure.what = format!("{}; asked as {name} ({})", failure.what, printable(&said, 300));
    failure
}

/// Honours `Retry-After` within bounds: a person who repaired it should not wait for long.
fn remembered(retry_after: Option<Duration>) -> Duration {
    retry_after.unwrap_or(REMEMBERED).clamp(REMEMBERED, LONGEST_REMEMBERED)
}

/// No identity had an answer: refused, never anonymous. `person` could sign in, if there is one.
pub(crate) fn nobody(place: &impl Display, asked: &[String], person: Option<&str>) -> Failure {
    let what = format!("no identity has an answer for {place} ({})", asked.join("; "));
    let hint = person.map_or_else(|| format!("credmint explain {place}"), |name| format!("credmint login {name}"));
    Failure::new(FailureKind::Refused, what).hint(hint)
}

/// Says that an identity waits for its person.
pub(crate) fn signed_out(name: &str) -> String {
    IdentityError::SignedOut { name: name.to_owned() }.to_string()
}

/// A session has no token to give. The host is added by who asked.
pub(crate) fn of_session(error: &IdentityError) -> Failure {
    let failure = Failure::new(error.kind(), error.to_string());
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// What is kept is encrypted until somebody gives the passphrase.
pub(crate) fn locked() -> Failure {
    of_session(&IdentityError::Locked)
}

/// A Vault did not renew a session.
pub(crate) fn of_vault(error: &GrantError) -> Failure {
    let failure = Failure::new(error.kind(), format!("the sign-in is not renewed: {error}"));
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Somebody signed out while a run went on.
pub(crate) fn signed_out_meanwhile(name: &str) -> Failure {
    of_session(&IdentityError::SignedOut { name: name.to_owned() })
}

/// The issuer was too slow to renew a session.
pub(crate) fn not_renewed(name: &str) -> Failure {
    let what = format!("the sign-in of `{name}` was not renewed within the deadline");
    Failure::new(FailureKind::Unreachable, what).hint("run the command again")
}

/// The issuer renewed a session, but not the token that is its proof.
pub(crate) fn no_new_id_token(name: &str) -> Failure {
    let what = format!("the sign-in of `{name}` was renewed without a new ID token, and the one before has ended");
    Failure::new(FailureKind::Refused, what)
        .hint(format!("credmint login {name}; where the access token is a proof, too, set token = \"access\""))
}

/// The sign-in that a run began with is over, and another person's took its place.
pub(crate) fn another_sign_in(name: &str) -> Failure {
    let what = format!("the sign-in of `{name}` that this run began with is over, and there is another one");
    Failure::new(FailureKind::Refused, what).hint("run the command again")
}

/// A session failed a host.
pub(crate) fn of_host(place: &impl Display, failure: Failure) -> (Failure, Duration) {
    let what = format!("no credential for {place}: {}", failure.what);
    (with_hint(Failure::new(failure.kind, what), place, failure.hint), REMEMBERED)
}

fn with_hint(failure: Failure, place: &impl Display, hint: Option<String>) -> Failure {
    let hint = hint.map(|hint| hint.replace(" HOST", &format!(" {place}")));
    failure.hint(hint.unwrap_or_else(|| format!("credmint explain {place}")))
}

const REMEMBERED: Duration = Duration::from_secs(3);
const LONGEST_REMEMBERED: Duration = Duration::from_secs(30);
