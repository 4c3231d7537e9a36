//! `[issuer.NAME]`: who grants.
//! Tables of the file become one struct a kind.
//! Holds addresses, roles and templates only; `credmint-issuers` talks to them.

use std::path::PathBuf;
use std::time::Duration;

use credmint_client_identity::KeyAlgorithm;

use crate::aws::{AwsSts, RolesAnywhere};
use crate::cloud::{Azure, GithubApp, GoogleSts, KubernetesToken};
use crate::enrolment::{Est, EstAuth, NameTemplates, Offline, StepCa};
use crate::identity::ClientAuthentication;
use crate::source::Source;
use crate::spiffe::SpiffeWorkload;
use crate::text::template::{TemplatePart, template_parts};

/// Says who grants the credential, and what is asked of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Issuer {
    /// `kind = "vault-pki"`: a certificate from a PKI secrets engine, for a certification request of ours.
    VaultPki(Box<VaultPki>),
    /// `kind = "oidc"`: the identity's token itself, passed on as the bearer token.
    Oidc(OidcToken),
    /// `kind = "token-exchange"`: RFC 8693.
    TokenExchange(Box<TokenExchange>),
    /// `kind = "vault-token"`: the client token of a login.
    VaultToken(Box<VaultToken>),
    /// `kind = "vault-secret"`: a field of what a path of Vault answers to a read.
    VaultSecret(Box<VaultSecret>),
    /// `kind = "local-ca"`: an authority in the agent's memory, for trying things out.
    LocalCa(LocalCa),
    /// `kind = "est"`: RFC 7030.
    Est(Box<Est>),
    /// `kind = "step-ca"`.
    StepCa(Box<StepCa>),
    /// `kind = "offline"`: people sign.
    Offline(Box<Offline>),
    /// `kind = "spiffe"`: an X.509-SVID of the SPIFFE Workload API.
    Spiffe(Box<SpiffeWorkload>),
    /// `kind = "aws-sts"`: keys for a role.
    AwsSts(Box<AwsSts>),
    /// `kind = "aws-roles-anywhere"`: keys for a role, for a certificate.
    RolesAnywhere(Box<RolesAnywhere>),
    /// `kind = "google-sts"`: an access token of Google.
    GoogleSts(Box<GoogleSts>),
    /// `kind = "azure"`: an access token of Entra.
    Azure(Box<Azure>),
    /// `kind = "kubernetes-token"`: a token of a service account.
    KubernetesToken(Box<KubernetesToken>),
    /// `kind = "github-app"`: a token of an app's installation.
    GithubApp(Box<GithubApp>),
}

impl Issuer {
    /// Tells whether the credential is a certificate; otherwise it is a token, or keys.
    #[must_use]
    pub const fn grants_certificate(&self) -> bool {
        matches!(
            self,
            Self::VaultPki(_) | Self::LocalCa(_) | Self::Est(_) | Self::StepCa(_) | Self::Offline(_) | Self::Spiffe(_)
        )
    }

    /// Tells whether the credential is a pair of keys that requests to AWS are signed with.
    #[must_use]
    pub const fn grants_keys(&self) -> bool {
        matches!(self, Self::AwsSts(_) | Self::RolesAnywhere(_))
    }

    /// Gives the name of the issuer whose certificate this one wants to see.
    #[must_use]
    pub fn certificate_issuer(&self) -> Option<&str> {
        match self {
            Self::RolesAnywhere(anywhere) => Some(&anywhere.certificate_issuer),
            Self::GoogleSts(sts) => sts.certificate_issuer.as_deref(),
            _ => None,
        }
    }

    /// Gives the login of an issuer that is a Vault.
    #[must_use]
    pub fn vault_login(&self) -> Option<&VaultLogin> {
        match self {
            Self::VaultPki(pki) => Some(&pki.login),
            Self::VaultToken(token) => Some(&token.login),
            Self::VaultSecret(secret) => Some(&secret.login),
            _ => None,
        }
    }

    /// Tells whether the identity's token is sent to somebody, or handed out.
    #[must_use]
    pub fn sends_identity(&self) -> bool {
        let login = |login: &VaultLogin| login.auth.sends_identity();
        match self {
            Self::Oidc(_) | Self::TokenExchange(_) | Self::StepCa(_) => true,
            Self::AwsSts(_) | Self::Azure(_) | Self::KubernetesToken(_) => true,
            Self::GoogleSts(sts) => sts.certificate_issuer.is_none(),
            Self::Est(est) => est.auth == EstAuth::Bearer,
            _ => self.vault_login().is_some_and(login),
        }
    }

    /// Tells whether nothing can be granted without an identity: its token is sent, or its claims are templated.
    #[must_use]
    pub fn asks_who(&self) -> bool {
        match self {
            _ if self.sends_identity() => true,
            Self::VaultPki(pki) => pki.names.templates().any(|template| has_claims(template)),
            Self::LocalCa(ca) => std::iter::once(&ca.common_name).chain(&ca.uris).any(|template| has_claims(template)),
            Self::Est(est) => est.wanted.names.templates().any(|template| has_claims(template)),
            Self::RolesAnywhere(anywhere) => anywhere.session_name.as_deref().is_some_and(has_claims),
            Self::Offline(offline) => offline.wanted.names.templates().any(|template| has_claims(template)),
            _ => false,
        }
    }
}

impl VaultAuth {
    /// Tells whether the login presents the identity's token.
    #[must_use]
    pub const fn sends_identity(&self) -> bool {
        matches!(self, Self::Jwt { .. } | Self::Kubernetes { .. } | Self::Aws { .. } | Self::Identity)
    }
}

fn has_claims(template: &str) -> bool {
    let claim = |part: &TemplatePart| !matches!(part, TemplatePart::Literal(_));
    template_parts(template).is_ok_and(|parts| parts.iter().any(claim))
}

/// Says how a server is reached: trust, pins and proxy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Peer {
    /// `ca`: a PEM file of trust anchors, beside the system's.
    pub ca: Option<PathBuf>,
    /// `ca_only`: those anchors alone.
    pub ca_only: bool,
    /// `pins`: keys of which one has to be on the server's certification path, as `sha256//` and base64.
    pub pins: Vec<String>,
    /// `proxy`: the URL of an HTTP proxy; without it none is used, whatever the environment says.
    pub proxy: Option<String>,
}

/// Logs in to Vault or OpenBao.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VaultLogin {
    /// `address`: `https://host:port`, with a path prefix if the server has one; `http` only on loopback.
    pub address: String,
    /// `namespace`: value of the `X-Vault-Namespace` header.
    pub namespace: Option<String>,
    /// `auth`: the auth method.
    pub auth: VaultAuth,
    /// How to reach it.
    pub peer: Peer,
}

/// `auth = { method = "…" }`: how the agent logs in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum VaultAuth {
    /// `jwt`: the identity's token.
    Jwt {
        /// Mount path (default `jwt`).
        mount: String,
        /// Role; empty means the method's default role.
        role: String,
    },
    /// `kubernetes`: the identity's token, a projected service-account token.
    Kubernetes {
        /// Mount path (default `kubernetes`).
        mount: String,
        /// Role.
        role: String,
    },
    /// `approle`: a role ID from the settings and a secret ID from a source.
    AppRole {
        /// Mount path (default `approle`).
        mount: String,
        /// Role ID: names the role, is not secret.
        role_id: String,
        /// Where the secret ID is found.
        secret_id: Source,
    },
    /// `cert`: a client identity that another issuer made, presented over TLS.
    Cert {
        /// Mount path (default `cert`).
        mount: String,
        /// Role name; without it the server tries all.
        role: Option<String>,
        /// PEM file or source of the certification path.
        certificate: Source,
        /// Source of the private key (PKCS #8 PEM).
        key: Source,
    },
    /// `token`: a client token from a source; nothing is logged in to.
    Token {
        /// Where the token is found.
        token: Source,
    },
    /// `aws`: a request that the caller's keys of AWS signed (`kind = "aws-caller"`).
    Aws {
        /// Mount path (default `aws`).
        mount: String,
        /// Role; without it the one that is named like the caller's role of AWS.
        role: Option<String>,
    },
    /// `identity`: the identity has a client token of this very Vault (`kind = "vault-oidc"`); nothing is logged in to.
    Identity,
}

/// `kind = "vault-pki"`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VaultPki {
    /// Address and auth method.
    pub login: VaultLogin,
    /// `mount`: mount path of the engine, may have slashes (default `pki`).
    pub mount: String,
    /// `role`: the PKI role.
    pub role: String,
    /// `key`: algorithm of the key that we make; none means ECDSA P-256, or what the role wants instead.
    pub key: Option<KeyAlgorithm>,
    /// Names of the certificate.
    pub names: NameTemplates,
    /// `ttl`: life to ask for; without it the role decides.
    pub ttl: Option<Duration>,
}

/// `kind = "oidc"`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OidcToken {
    /// `audience`: what `aud` must contain, checked before the token is handed out (never trusted for more).
    pub audience: Option<String>,
}

/// `kind = "token-exchange"`: RFC 8693 §2.1.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenExchange {
    /// `issuer`: issuer URL, for discovery; unless `token_endpoint` is given.
    pub issuer: Option<String>,
    /// `token_endpoint`, given directly.
    pub token_endpoint: Option<String>,
    /// `client_id`, `client_auth`, `client_secret`, `client_key`.
    pub client: ClientAuthentication,
    /// `audience`.
    pub audience: Vec<String>,
    /// `resource`.
    pub resources: Vec<String>,
    /// `scopes`.
    pub scopes: Vec<String>,
    /// `subject_token_type` (default `urn:ietf:params:oauth:token-type:jwt`).
    pub subject_token_type: String,
    /// `requested_token_type`.
    pub requested_token_type: Option<String>,
    /// `actor_token`: where the actor token is found.
    pub actor_token: Option<Source>,
    /// `actor_token_type` (default `urn:ietf:params:oauth:token-type:jwt`).
    pub actor_token_type: String,
    /// How to reach it.
    pub peer: Peer,
}

/// `kind = "vault-token"`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VaultToken {
    /// Address and auth method.
    pub login: VaultLogin,
}

/// `kind = "vault-secret"`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VaultSecret {
    /// Address and auth method.
    pub login: VaultLogin,
    /// `path`: what to read, below `/v1/` (for KV version 2 with its `data/`).
    pub path: String,
    /// `field`: the field of `data` that holds the token (for KV version 2, of `data.data`; default `token`).
    pub field: String,
}

/// `kind = "local-ca"`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LocalCa {
    /// `key`: algorithm of the keys (default ECDSA P-256).
    pub key: KeyAlgorithm,
    /// `common_name`: template over the identity's claims (default `{sub}`).
    pub common_name: String,
    /// `uris`: templates.
    pub uris: Vec<String>,
    /// `ttl` (default 1 h).
    pub ttl: Duration,
}
