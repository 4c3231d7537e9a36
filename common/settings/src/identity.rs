//! `[identity.NAME]`: who is asking.
//! Tables of the file become one enum variant a kind.
//! Holds names and paths only; `credmint-identities` reads what they name.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::aws::AwsCaller;
use crate::issuer::Peer;
use crate::source::Source;
use crate::spiffe::SpiffeIdentity;
use crate::workload::Workload;

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
    /// `kind = "spiffe"`: a JWT-SVID of the SPIFFE Workload API. No address of one counts as absent.
    Spiffe(Box<SpiffeIdentity>),
    /// `kind = "command"`: standard output of a program that the agent runs (`command`, `timeout`).
    Command(CommandSource),
    /// `kind = "client-credentials"`: RFC 6749 §4.4.
    ClientCredentials(Box<ClientCredentials>),
    /// `kind = "oidc"`: a person who signs in with `credmint login` (OpenID Connect Core, RFC 8252, RFC 8628).
    Oidc(Box<OidcIdentity>),
    /// `kind = "aws-caller"`: a request that the caller's own keys of AWS signed.
    AwsCaller(Box<AwsCaller>),
    /// `kind = "vault-oidc"`: a person who signs in with `credmint login` at a Vault, by its own OIDC method.
    VaultOidc(Box<VaultOidcIdentity>),
    /// `kind = "coder"`, `"gitlab"` and others: what runs on a platform that gives it a token.
    Workload(Workload),
}

/// Signs a person in at a Vault or OpenBao, which alone is registered with the OpenID Provider.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VaultOidcIdentity {
    /// `address`: as for an issuer.
    pub address: String,
    /// `namespace`: value of the `X-Vault-Namespace` header.
    pub namespace: Option<String>,
    /// `mount` (default `oidc`): mount path of the auth method.
    pub mount: String,
    /// `role`; `None`: the method's default role.
    pub role: Option<String>,
    /// `redirect_ports` (default 8250): loopback ports to listen at, in order; 0, or none at all, means any free one.
    pub redirect_ports: Vec<u16>,
    /// `redirect_host` (default `localhost`).
    pub redirect_host: RedirectHost,
    /// `browser`: argument vector, to which the URL is added; `None`: the platform's opener.
    pub browser: Option<Vec<String>>,
    /// `lifetime`: how long a session lives at most; `None`: until the Vault ends it.
    pub lifetime: Option<Duration>,
    /// `sign_in_timeout` (default 3 min): how long the whole sign-in may take.
    pub sign_in_timeout: Duration,
    /// How to reach the Vault.
    pub peer: Peer,
}

/// Signs a person in at an OpenID Provider.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OidcIdentity {
    /// `issuer`: issuer URL, for discovery; with its path if it has one.
    pub issuer: String,
    /// `client_id` and how the client proves to be it.
    pub client: ClientAuthentication,
    /// `scopes`; `openid` is sent whether it is among them or not. `None`: `openid`, and `offline_access` where the issuer has it.
    pub scopes: Option<Vec<String>>,
    /// `resource`: RFC 8707.
    pub resources: Vec<String>,
    /// `authorization_parameters`: more parameters of the authorization request.
    pub authorization_parameters: BTreeMap<String, String>,
    /// `redirect_ports`: loopback ports to listen at, in order; 0, or none at all, means any free one.
    pub redirect_ports: Vec<u16>,
    /// `redirect_path`: the path of the redirect URI.
    pub redirect_path: String,
    /// `redirect_host`.
    pub redirect_host: RedirectHost,
    /// `token`: which of the tokens proves who is asking.
    pub token: OidcTokenKind,
    /// `remember`: where the refresh token is kept.
    pub remember: Remember,
    /// `browser`: argument vector, to which the URL is added; `None`: the platform's opener.
    pub browser: Option<Vec<String>>,
    /// `lifetime`: how long a session lives at most; `None`: until the issuer ends it.
    pub lifetime: Option<Duration>,
    /// `sign_in_timeout` (default 3 min): how long the whole sign-in may take.
    pub sign_in_timeout: Duration,
    /// How to reach the issuer.
    pub peer: Peer,
}

/// Says how the redirect URI names this machine (RFC 8252 §7.3, §8.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RedirectHost {
    /// `127.0.0.1`.
    #[default]
    Address,
    /// `localhost`, for issuers that take nothing else.
    Localhost,
}

impl RedirectHost {
    /// Gives the host as it stands in the redirect URI.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Address => "127.0.0.1",
            Self::Localhost => "localhost",
        }
    }
}

/// Says which token of a sign-in is the subject token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OidcTokenKind {
    /// The ID token: says who the person is, to the client.
    #[default]
    Id,
    /// The access token: for the resources.
    Access,
}

/// Says where the refresh token of a sign-in is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Remember {
    /// In the agent's memory: the sign-in ends with the agent.
    #[default]
    Memory,
    /// In the operating system's store of secrets, too: the next agent goes on with the sign-in.
    Keyring,
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
