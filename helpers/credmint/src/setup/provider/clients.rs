//! Who asks credmint for a provider's credential, and which of them goes with which issuer.
//! An issuer or a word of the command line comes in, what is to be done goes out.
//! Changes nothing itself.

use clap::ValueEnum;
use credmint_settings::Issuer;
use credmint_vocabulary::Failure;

use super::{Plan, Wanted, aws, docker, git, github, google, kubernetes, vault};

/// Whose configuration is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Client {
    /// A profile in ~/.aws/config, for the AWS SDKs and Terraform's aws provider.
    Aws,
    /// A file for GOOGLE_CREDENTIALS, without any secret, for Google's libraries and Terraform's google provider.
    Google,
    /// A user in ~/.kube/config, for kubectl and its like; and what Terraform's kubernetes and helm providers take.
    Kubernetes,
    /// The token helper in ~/.vault and ~/.bao, for vault, bao and Terraform's vault provider.
    Vault,
    /// GH_PATH, for Terraform's github provider; nothing is written.
    Github,
    /// A credential helper in ~/.gitconfig, for the provider's hosts.
    Git,
    /// A credential helper in ~/.docker/config.json, for the provider's hosts.
    Docker,
}

impl Client {
    /// Chooses it by the issuer, where that leaves no doubt.
    pub(super) fn of(issuer: &Issuer) -> Option<Self> {
        match issuer {
            _ if issuer.grants_keys() => Some(Self::Aws),
            Issuer::GoogleSts(_) => Some(Self::Google),
            Issuer::KubernetesToken(_) => Some(Self::Kubernetes),
            _ if issuer.grants_certificate() => Some(Self::Kubernetes),
            Issuer::VaultToken(_) => Some(Self::Vault),
            Issuer::GithubApp(_) => Some(Self::Github),
            _ => None,
        }
    }

    /// Finds out what is to be done.
    pub(super) fn plan(self, wanted: &Wanted<'_>) -> Result<Plan, Failure> {
        match self {
            Self::Aws => aws::plan(wanted),
            Self::Google => google::plan(wanted),
            Self::Kubernetes => kubernetes::plan(wanted),
            Self::Vault => vault::plan(wanted),
            Self::Github => github::plan(wanted),
            Self::Git => git::plan(wanted),
            Self::Docker => docker::plan(wanted),
        }
    }

    /// Gives its word on the command line.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Aws => "aws",
            Self::Google => "google",
            Self::Kubernetes => "kubernetes",
            Self::Vault => "vault",
            Self::Github => "github",
            Self::Git => "git",
            Self::Docker => "docker",
        }
    }

    /// Tells whether it has no file: what to do is said, and no more.
    pub(super) const fn is_told_only(self) -> bool {
        matches!(self, Self::Github)
    }
}
