//! `[identity.NAME]`: who is asking.
//! Tables of the file become one enum variant a kind.
//! Holds names and paths only; `credmint-identities` reads what they name.

use std::path::PathBuf;
use std::time::Duration;

use crate::issuer::Peer;
use crate::source::Source;

/// Says where the token that proves who is asking is found.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Identity {
    /// `kind = "env"`: a variable of the caller's environment (`variable`). Empty counts as absent.
    Env {
        /// Name of the variable.
        variable: String,
    },
    /// `kind = "file"`: a file that the caller can read (`path`), read again each time. A missing file counts as absent.
    File {
        /// Absolute path; `~/` is the caller's home.
        path: PathBuf,
    },
    /// `kind = "kubernetes"`: a projected service-account token
    /// (`path`, default `/var/run/secrets/kubernetes.io/serviceaccount/token`). A missing file counts as absent.
    Kubernetes {
        /// Absolute path of the projected token.
        path: PathBuf,
        /// Audience that the token must have, if it is to be checked before it is sent anywhere.
        audience: Option<String>,
    },
    /// `kind = "command"`: standard output of a program that the agent runs (`command`, `timeout`).
    Command(CommandSource),
    /// `kind = "client-credentials"`: RFC 6749 §4.4.
    ClientCredentials(Box<ClientCredentials>),
}

/// Names a program: argument vector, no shell.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CommandSource {
    /// Program (absolute path, or looked up in the agent's `PATH`) and arguments.
    pub argv: Vec<String>,
    /// How long it may take (default 5 s).
    pub timeout: Duration,
}

/// Asks the token endpoint for a token in the client's own name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClientCredentials {
    /// Issuer URL, for discovery (RFC 8414, OIDC Discovery); unless `token_endpoint` is given.
    pub issuer: Option<String>,
    /// Token endpoint, given directly.
    pub token_endpoint: Option<String>,
    /// Client identifier and how the client proves to be it.
    pub client: ClientAuthentication,
    /// `scope` values.
    pub scopes: Vec<String>,
    /// `audience` parameter, for servers that want one.
    pub audience: Option<String>,
    /// `resource` parameters (RFC 8707).
    pub resources: Vec<String>,
    /// How to reach the authorization server.
    pub peer: Peer,
}

/// Says how a client authenticates at a token endpoint (RFC 6749 §2.3, RFC 7523).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClientAuthentication {
    /// `client_auth = "none"`: a public client, `client_id` in the form.
    None {
        /// Client identifier.
        client_id: String,
    },
    /// `client_auth = "basic"`: `client_secret_basic`.
    Basic {
        /// Client identifier.
        client_id: String,
        /// Where the client secret is found.
        secret: Source,
    },
    /// `client_auth = "post"`: `client_secret_post`.
    Post {
        /// Client identifier.
        client_id: String,
        /// Where the client secret is found.
        secret: Source,
    },
    /// `client_auth = "private_key_jwt"`: a client assertion signed by a private key (RFC 7523 §2.2).
    PrivateKeyJwt {
        /// Client identifier.
        client_id: String,
        /// Where the PKCS #8 PEM of the key is found: P-256 (ES256), P-384 (ES384) or RSA (RS256).
        key: Source,
        /// `kid` header, if the server wants one.
        key_id: Option<String>,
    },
}
