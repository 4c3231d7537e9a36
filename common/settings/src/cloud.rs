//! `[issuer.NAME]` of clouds and platforms whose credential is a bearer token: Google, Azure, Kubernetes, GitHub.
//! Tables of the file become one struct a kind.
//! Holds names, addresses and sources only; `credmint-issuers` talks to them.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::issuer::Peer;
use crate::source::Source;

/// `kind = "google-sts"`: workload or workforce identity federation, then perhaps a service account.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GoogleSts {
    /// `audience`: the full name of the provider, `//iam.googleapis.com/…/providers/NAME`.
    pub audience: String,
    /// `certificate_issuer`: name of the issuer of the certificate that is exchanged in place of the identity's token.
    pub certificate_issuer: Option<String>,
    /// `subject_token_type` (default `urn:ietf:params:oauth:token-type:jwt`, of a certificate `…:mtls`).
    pub subject_token_type: String,
    /// `scopes` (default the whole platform).
    pub scopes: Vec<String>,
    /// `user_project`: which project's quota counts; for workforce pools.
    pub user_project: Option<String>,
    /// `service_account`: email address of the account that is impersonated.
    pub service_account: Option<String>,
    /// `lifetime`: of the impersonation's token.
    pub lifetime: Option<Duration>,
    /// `token_audience`: what the token's `aud` must contain before it is sent.
    pub token_audience: Option<String>,
    /// `endpoint` of the Security Token Service.
    pub endpoint: String,
    /// `iam_endpoint` of the IAM Credentials API.
    pub iam_endpoint: String,
    /// How to reach them.
    pub peer: Peer,
}

/// `kind = "azure"`: the identity's token as the client's assertion.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Azure {
    /// `tenant`: identifier or domain.
    pub tenant: String,
    /// `client_id` of the application or the managed identity.
    pub client_id: String,
    /// `scope` (default the Resource Manager's).
    pub scope: String,
    /// `token_audience`: what the token's `aud` must contain before it is sent.
    pub token_audience: Option<String>,
    /// `endpoint`: the authority host.
    pub endpoint: String,
    /// How to reach it.
    pub peer: Peer,
}

/// `kind = "kubernetes-token"`: TokenRequest.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KubernetesToken {
    /// `address` of the API server.
    pub address: String,
    /// `namespace` of the service account.
    pub namespace: String,
    /// `service_account`.
    pub service_account: String,
    /// `audience`: whom the token is for; without it, the API server.
    pub audiences: Vec<String>,
    /// `ttl`: life to ask for; without it the API server decides.
    pub ttl: Option<Duration>,
    /// `token_audience`: what the identity's token's `aud` must contain before it is sent.
    pub token_audience: Option<String>,
    /// How to reach it.
    pub peer: Peer,
}

/// `kind = "github-app"`: an installation token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GithubApp {
    /// `app_id`: identifier or client ID of the app.
    pub app_id: String,
    /// `installation_id`.
    pub installation_id: String,
    /// `app_key`: where the app's private key is found.
    pub app_key: Source,
    /// `permissions`: what the token may do, of what the installation may.
    pub permissions: BTreeMap<String, String>,
    /// `repositories`: names without their owner.
    pub repositories: Vec<String>,
    /// `endpoint` of the API.
    pub endpoint: String,
    /// How to reach it.
    pub peer: Peer,
}
