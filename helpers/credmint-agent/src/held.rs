//! What an entry holds: a token, a certificate with its key, or keys for AWS.
//! What an issuer granted comes in, the credential and what may be said of it go out.
//! Pure; nothing here asks anybody, and what may be said holds no secret.

use std::sync::Arc;

use credmint_client_identity::ClientIdentity;
use credmint_issuers::{AccessKeys, BearerToken, Granted};
use credmint_vocabulary::Timestamp;

/// Holds a credential; connections share an identity.
pub(crate) enum Held {
    /// A bearer token.
    Token(BearerToken),
    /// A private key with its certification path.
    Identity(Arc<ClientIdentity>),
    /// Keys that requests to AWS are signed with.
    Keys(AccessKeys),
}

/// Says what a credential is, without the credential.
pub(crate) struct Facts {
    /// The end of its life.
    pub(crate) expires: Option<Timestamp>,
    /// Subject and serial number of a certificate; `None` for a token.
    pub(crate) certificate: Option<(String, String)>,
}

impl Held {
    /// Gives what may be said of it.
    pub(crate) fn facts(&self) -> Facts {
        match self {
            Self::Token(token) => Facts { expires: token.expires, certificate: None },
            Self::Keys(keys) => Facts { expires: Some(keys.expires), certificate: None },
            Self::Identity(identity) => Facts {
                expires: Some(identity.not_after()),
                certificate: Some((identity.subject().to_owned(), identity.serial().to_owned())),
            },
        }
    }
}

impl From<Granted> for Held {
    fn from(granted: Granted) -> Self {
        match granted {
            Granted::Token(token) => Self::Token(token),
            Granted::Identity(identity) => Self::Identity(Arc::from(identity)),
            Granted::Keys(keys) => Self::Keys(keys),
        }
    }
}
