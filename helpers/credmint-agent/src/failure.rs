//! The one place of this program where an error becomes what a person reads.
//! An operation's error with the names around it comes in, a failure with the next command goes out.
//! Touches nothing; holds no secret.

use std::time::Duration;

use credmint_identities::IdentityError;
use credmint_issuers::GrantError;
use credmint_settings::Identity;
use credmint_vocabulary::{Failure, FailureKind, Hostname};

/// The route that was there is gone.
pub(crate) fn no_route(hostname: &Hostname) -> Failure {
    Failure::new(FailureKind::Internal, format!("the route of {hostname} is gone")).hint("run the command again")
}

/// Somebody had it forgotten, or had the agent end, before it was there.
pub(crate) fn forgotten(hostname: &Hostname) -> Failure {
    Failure::new(FailureKind::Refused, format!("the credential for {hostname} was forgotten while it was made"))
        .hint("run the command again")
}

/// Nobody answered in time.
pub(crate) fn too_slow(hostname: &Hostname) -> Failure {
    Failure::new(FailureKind::Unreachable, format!("no credential for {hostname} within the deadline"))
        .hint(format!("credmint explain {hostname} shows who is asked"))
}

/// An identity failed in a way that is not absence. With it: how long this is to be remembered.
pub(crate) fn of_identity(hostname: &Hostname, name: &str, error: &IdentityError) -> (Failure, Duration) {
    let what = format!("no credential for {hostname}: identity {name}: {error}");
    (with_hint(Failure::new(error.kind(), what), hostname, error.hint()), remembered(error.retry_after()))
}

/// The issuer refused, or could not be asked. With it: how long this is to be remembered.
pub(crate) fn of_grant(hostname: &Hostname, issuer: &str, error: &GrantError) -> (Failure, Duration) {
    let what = format!("no credential for {hostname}: issuer {issuer}: {error}");
    (with_hint(Failure::new(error.kind(), what), hostname, error.hint()), remembered(error.retry_after()))
}

/// Honours `Retry-After` within bounds: a person who repaired it should not wait for long.
fn remembered(retry_after: Option<Duration>) -> Duration {
    retry_after.unwrap_or(REMEMBERED).clamp(REMEMBERED, LONGEST_REMEMBERED)
}

/// Says in a few words why an identity had no answer.
pub(crate) fn absent(identity: &Identity) -> String {
    match identity {
        Identity::Env { variable } => format!("{variable} is not set"),
        Identity::File { path } | Identity::Kubernetes { path, .. } => format!("{} is not there", path.display()),
        _ => "it has no answer".to_owned(),
    }
}

/// No identity had an answer: refused, never anonymous.
pub(crate) fn nobody(hostname: &Hostname, asked: &[String]) -> Failure {
    let what = format!("no identity has an answer for {hostname} ({})", asked.join("; "));
    Failure::new(FailureKind::Refused, what).hint(format!("credmint explain {hostname}"))
}

fn with_hint(failure: Failure, hostname: &Hostname, hint: Option<String>) -> Failure {
    failure.hint(hint.unwrap_or_else(|| format!("credmint explain {hostname}")))
}

const REMEMBERED: Duration = Duration::from_secs(3);
const LONGEST_REMEMBERED: Duration = Duration::from_secs(30);
