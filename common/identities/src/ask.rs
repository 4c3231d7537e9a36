//! Asks an identity who the caller is.
//! An identity of the settings and what the caller sent come in, a subject token or its absence goes out.
//! Absence is a value and doubt is a failure: a token that is there and cannot be used is never passed over.

use std::time::Duration;

use credmint_https::Https;
use credmint_settings::Identity;
use credmint_vocabulary::{Deadline, FailureKind, Secret, Timestamp};

use crate::aws::caller_keys::{AwsCallerError, Search};
use crate::aws::identity_request::{self, AWS_METHOD};
use crate::caller::Caller;
use crate::sign_in::SignInError;
use crate::source::SourceError;
use crate::spiffe::{self, SpiffeError};
use crate::subject_token::{SubjectToken, SubjectTokenError};
use crate::token_endpoint::TokenEndpointError;
use crate::token_request::Line;
use crate::workload::{self, WorkloadError};
use crate::{client_credentials, command, env, file, kubernetes};

/// Says why an identity has no usable answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// The place where the token should be cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// What is there cannot be a token.
    #[error("{place} {error}")]
    Token {
        /// Where it was found.
        place: String,
        /// What is wrong with it.
        error: SubjectTokenError,
    },
    /// The token is for somebody else.
    #[error("the token is for {} and not for \"{wanted}\"", audiences(found))]
    WrongAudience {
        /// What the settings want.
        wanted: String,
        /// What `aud` says.
        found: Vec<String>,
    },
    /// The Workload API gave none.
    #[error(transparent)]
    Spiffe(#[from] SpiffeError),
    /// The authorization server gave none.
    #[error(transparent)]
    TokenEndpoint(#[from] TokenEndpointError),
    /// The caller's keys of AWS cannot be had.
    #[error(transparent)]
    AwsCaller(#[from] AwsCallerError),
    /// A platform gave none, or one that nobody would take.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// Nobody is signed in.
    #[error("nobody is signed in{}", named(" as ", name))]
    SignedOut {
        /// Name of the identity in the settings; empty when it is not known here.
        name: String,
    },
    /// Somebody was signed in, and the issuer has ended it.
    #[error("the sign-in{} is over: {why}", named(" of ", name))]
    SessionOver {
        /// Name of the identity in the settings.
        name: String,
        /// What the issuer said, for people.
        why: String,
    },
    /// The session is there, encrypted.
    #[error("credmint is locked")]
    Locked,
    /// The session could not be renewed now.
    #[error(transparent)]
    SignIn(#[from] SignInError),
}

/// Names an identity in a sentence, if it has a name.
fn named(before: &str, name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("{before}`{name}`") }
}

impl IdentityError {
    /// Says how long the server behind the identity wants to be left alone, if it said so.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::TokenEndpoint(error) | Self::SignIn(SignInError::Endpoint(error)) => error.retry_after(),
            Self::Workload(error) => error.retry_after,
            _ => None,
        }
    }

    /// Says whose turn it is.
    #[must_use]
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Source(error) => error.kind(),
            Self::Spiffe(error) => error.kind(),
            Self::TokenEndpoint(error) => error.kind(),
            Self::SignIn(error) => error.kind(),
            Self::AwsCaller(error) => error.kind(),
            Self::Workload(error) => error.kind,
            _ => FailureKind::Refused,
        }
    }

    /// Says what to do next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Source(error) => error.hint(),
            Self::Spiffe(error) => error.hint(),
            Self::TokenEndpoint(error) => error.hint(),
            Self::SignIn(error) => error.hint(),
            Self::AwsCaller(error) => error.hint(),
            Self::Workload(error) => Some(error.hint.clone()),
            Self::SignedOut { name } | Self::SessionOver { name, .. } => {
                Some(format!("credmint login {name}").trim_end().to_owned())
            }
            Self::Locked => Some("credmint unlock".to_owned()),
            Self::Token { place, .. } => Some(format!("look at {place}: it must hold the token and nothing else")),
            Self::WrongAudience { wanted, .. } => Some(format!("have the token issued for the audience {wanted}")),
        }
    }
}

/// Lists audiences for people.
fn audiences(found: &[String]) -> String {
    match found {
        [] => "no audience that can be read".to_owned(),
        _ => found.iter().map(|audience| format!("\"{audience}\"")).collect::<Vec<_>>().join(", "),
    }
}

/// Asks an identity; a person's session is the agent's to keep, so that here a person is always signed out. `None` when it has no answer and the next one of the route may be asked.
///
/// # Errors
/// [`IdentityError`] when there is an answer that cannot be used, or none where one was to be expected.
pub async fn ask(
    identity: &Identity,
    caller: &Caller,
    https: &Https,
    now: Timestamp,
    deadline: Deadline,
) -> Result<Option<SubjectToken>, IdentityError> {
    if let Identity::Workload(own) = identity {
        return workload::ask(own, caller, Line { https, now, deadline }).await;
    }
    let found = match identity {
        Identity::Env { variable } => env::read(variable, caller),
        Identity::File { path } | Identity::Kubernetes { path, .. } => file::read(path, caller)?,
        Identity::Command(program) => command::run(program, deadline).await.map_err(SourceError::from)?,
        Identity::Spiffe(asked) => spiffe::jwt_svid(asked, caller, deadline).await?,
        Identity::ClientCredentials(client) => client_credentials::ask(client, caller, https, now, deadline).await?,
        Identity::AwsCaller(settings) => {
            identity_request::ask(Search { settings, caller, https, now, deadline }).await?
        }
        Identity::Oidc(_) | Identity::VaultOidc(_) => return Err(IdentityError::SignedOut { name: String::new() }),
        _ => None,
    };
    let Some(found) = found else { return Ok(None) };
    let token = fit(identity, found)?;
    if let Identity::Kubernetes { audience, .. } = identity {
        kubernetes::check_audience(&token, audience.as_deref())?;
    }
    Ok(Some(token))
}

fn fit(identity: &Identity, found: Secret<String>) -> Result<SubjectToken, IdentityError> {
    let token = SubjectToken::new(found).map_err(|error| IdentityError::Token { place: place(identity), error })?;
    // A signed request is for one auth method, and for nobody who takes tokens.
    let home = matches!(identity, Identity::AwsCaller(_)).then(|| AWS_METHOD.to_owned());
    Ok(SubjectToken { home, ..token })
}

fn place(identity: &Identity) -> String {
    match identity {
        Identity::Env { variable } => format!("the variable {variable}"),
        Identity::File { path } | Identity::Kubernetes { path, .. } => format!("the file {}", path.display()),
        Identity::Command(program) => {
            format!("the answer of `{}`", program.argv.first().map_or("", String::as_str))
        }
        _ => "the server's token".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    async fn asked(identity: &Identity, caller: &Caller) -> Result<Option<SubjectToken>, IdentityError> {
        let deadline = Deadline::after(Instant::now(), Duration::from_secs(10));
        ask(identity, caller, &Https::new("test"), Timestamp::from_unix(0), deadline).await
    }

    fn job() -> Identity {
        Identity::Env { variable: "WORKLOAD_TOKEN".into() }
    }

    fn set(value: &str) -> Caller {
        let mut caller = Caller::default();
        caller.environment.insert("WORKLOAD_TOKEN".into(), Secret::from(value));
        caller
    }

    #[tokio::test]
    async fn a_variable_that_is_missing_or_empty_is_absent() {
        assert!(asked(&job(), &Caller::default()).await.unwrap().is_none());
        assert!(asked(&job(), &set("")).await.unwrap().is_none());
        assert!(asked(&job(), &set("abc\n")).await.unwrap().unwrap().token.same_as(b"abc"));
    }

    #[tokio::test]
    async fn a_token_that_cannot_be_one_is_a_failure_that_does_not_show_it() {
        let error = asked(&job(), &set("can ary")).await.unwrap_err();
        let told = format!("{error} {error:?} {:?}", error.hint());
        assert!(told.starts_with("the variable WORKLOAD_TOKEN has a character at position 3"), "{told}");
        assert!(!told.contains("ary"), "{told}");
    }

    #[tokio::test]
    async fn a_missing_projected_token_is_absent_and_a_blank_one_too() {
        let pod = Identity::Kubernetes { path: "/var/token".into(), audience: Some("vault".into()) };
        assert!(asked(&pod, &Caller::default()).await.unwrap().is_none());
        let mut caller = Caller::default();
        caller.files.insert("/var/token".into(), Secret::from("\n"));
        assert!(asked(&pod, &caller).await.unwrap().is_none());
        caller.files.insert("/var/token".into(), Secret::from("opaque"));
        assert!(matches!(asked(&pod, &caller).await, Err(IdentityError::WrongAudience { .. })));
    }
}
