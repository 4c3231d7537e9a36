//! How a client proves to a token endpoint that it is itself.
//! The settings' choice and what the caller sent come in, the parts of a request that prove it go out.
//! Sends nothing. RFC 6749 §2.3.1 (secrets), RFC 7523 §2.2 (assertions).

use credmint_settings::{ClientAuthentication, Source};
use credmint_vocabulary::{Deadline, FailureKind, Secret, Timestamp};

use crate::caller::Caller;
use crate::client_assertion::{AssertionError, client_assertion};
use crate::source::{SourceError, read_source};

/// Holds a client's proof for one request.
#[derive(Debug)]
pub enum ClientProof {
    /// A public client: the identifier alone.
    None,
    /// A secret in the `Authorization` header.
    Basic(Secret<String>),
    /// A secret in the form.
    Post(Secret<String>),
    /// A signed assertion in the form.
    Assertion(Secret<String>),
}

/// `client_assertion_type` of RFC 7523 §2.2.
pub(crate) const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// Says why a client cannot prove to be itself.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientProofError {
    /// The source of the secret or key has an error.
    #[error("the secret of client `{client_id}`: {error}")]
    Source {
        /// The client.
        client_id: String,
        /// The error.
        error: SourceError,
    },
    /// There is no secret or key where the settings say.
    #[error("client `{client_id}` has no secret: {source_name} is not there")]
    Absent {
        /// The client.
        client_id: String,
        /// Where it was looked for.
        source_name: String,
    },
    /// The assertion could not be made.
    #[error("client `{client_id}`: {error}")]
    Assertion {
        /// The client.
        client_id: String,
        /// The error.
        error: AssertionError,
    },
}

impl ClientProofError {
    /// Says whose turn it is.
    #[must_use]
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Source { error, .. } => error.kind(),
            Self::Absent { .. } | Self::Assertion { .. } => FailureKind::Settings,
        }
    }

    /// Says what to do next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Source { error, .. } => error.hint(),
            _ => None,
        }
    }
}

impl ClientProof {
    /// Adds what belongs into the form.
    pub(crate) fn form_fields<'a>(&'a self, client_id: &'a str) -> Vec<(&'static str, &'a str)> {
        match self {
            Self::None => vec![("client_id", client_id)],
            Self::Basic(_) => vec![],
            Self::Post(secret) => vec![("client_id", client_id), ("client_secret", secret.expose())],
            Self::Assertion(jwt) => vec![
                ("client_id", client_id),
                ("client_assertion_type", ASSERTION_TYPE),
                ("client_assertion", jwt.expose()),
            ],
        }
    }
}

/// Gives the client identifier.
pub(crate) fn client_id(client: &ClientAuthentication) -> &str {
    match client {
        ClientAuthentication::None { client_id }
        | ClientAuthentication::Basic { client_id, .. }
        | ClientAuthentication::Post { client_id, .. }
        | ClientAuthentication::PrivateKeyJwt { client_id, .. } => client_id,
        _ => "",
    }
}

/// Names a source for people, without what is in it.
#[must_use]
pub fn source_name(source: &Source) -> String {
    match source {
        Source::Env(name) => format!("the variable {name}"),
        Source::File(path) => format!("the file {}", path.display()),
        Source::Command(program) => {
            format!("an answer of the command `{}`", program.argv.first().map_or("", String::as_str))
        }
        _ => "its source".to_owned(),
    }
}

/// Makes the proof for a server that calls itself `audience`.
///
/// # Errors
/// [`ClientProofError`] when the secret or key is absent or cannot be used.
pub async fn prove(
    client: &ClientAuthentication,
    audience: &str,
    caller: &Caller,
    now: Timestamp,
    deadline: Deadline,
) -> Result<ClientProof, ClientProofError> {
    let secret = async |source: &Source| read(client_id(client), source, caller, deadline).await;
    match client {
        ClientAuthentication::Basic { secret: source, .. } => secret(source).await.map(ClientProof::Basic),
        ClientAuthentication::Post { secret: source, .. } => secret(source).await.map(ClientProof::Post),
        ClientAuthentication::PrivateKeyJwt { client_id, key, key_id } => {
            let failed = |error| ClientProofError::Assertion { client_id: client_id.clone(), error };
            let key = secret(key).await?;
            let jwt = client_assertion(&key, client_id, audience, key_id.as_deref(), now).map_err(failed)?;
            Ok(ClientProof::Assertion(jwt))
        }
        _ => Ok(ClientProof::None),
    }
}

/// Makes sure that the secret or key is there, before anybody takes the trouble to sign in.
pub(crate) async fn be_provable(
    client: &ClientAuthentication,
    caller: &Caller,
    deadline: Deadline,
) -> Result<(), ClientProofError> {
    match client {
        ClientAuthentication::Basic { secret: source, .. }
        | ClientAuthentication::Post { secret: source, .. }
        | ClientAuthentication::PrivateKeyJwt { key: source, .. } => {
            read(client_id(client), source, caller, deadline).await.map(drop)
        }
        _ => Ok(()),
    }
}

async fn read(
    client_id: &str,
    source: &Source,
    caller: &Caller,
    deadline: Deadline,
) -> Result<Secret<String>, ClientProofError> {
    let failed = |error| ClientProofError::Source { client_id: client_id.to_owned(), error };
    let absent = || ClientProofError::Absent { client_id: client_id.to_owned(), source_name: source_name(source) };
    read_source(source, caller, deadline).await.map_err(failed)?.ok_or_else(absent)
}
