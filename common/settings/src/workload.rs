//! `[identity.NAME]` of workloads: what a platform that runs them says about them.
//! Tables of the file become one struct, with one enum variant a platform.
//! Holds names only; `credmint-identities` reads what they name.

/// Names the platform that vouches for a workload, and whom its token has to be for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Workload {
    /// The platform.
    pub platform: Platform,
    /// `audience`: what the token's `aud` has to contain, checked before it is sent anywhere; asked for where the platform can be asked.
    pub audience: Option<String>,
}

/// Names a platform that gives its jobs a token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Platform {
    /// `kind = "coder"`: the token of a workspace's owner, in plan and apply.
    Coder,
    /// `kind = "gitlab"`: a job's ID token.
    Gitlab {
        /// `variable` (default `GITLAB_OIDC_TOKEN`): the name that the job gives it under `id_tokens`.
        variable: String,
    },
    /// `kind = "hcp-terraform"`: a run's workload identity token.
    HcpTerraform {
        /// `tag`: which one, where a run has several.
        tag: Option<String>,
    },
    /// `kind = "spacelift"`: a run's token, in a variable or else a file.
    Spacelift,
    /// `kind = "env0"`: a deployment's token.
    Env0,
    /// `kind = "circleci"`: a job's token, of the second version or else of the first.
    Circleci,
    /// `kind = "github-actions"`: a job's token, a new one each time.
    GithubActions,
    /// `kind = "azure-devops"`: the token of a service connection, a new one each time.
    AzureDevops {
        /// `service_connection`: its identifier.
        service_connection: String,
    },
    /// `kind = "buildkite"`: a job's token, a new one each time.
    Buildkite,
}

impl Workload {
    /// Gives the word of its `kind`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self.platform {
            Platform::Coder => "coder",
            Platform::Gitlab { .. } => "gitlab",
            Platform::HcpTerraform { .. } => "hcp-terraform",
            Platform::Spacelift => "spacelift",
            Platform::Env0 => "env0",
            Platform::Circleci => "circleci",
            Platform::GithubActions => "github-actions",
            Platform::AzureDevops { .. } => "azure-devops",
            Platform::Buildkite => "buildkite",
        }
    }

    /// Tells whether the platform is asked for each token, over the network.
    #[must_use]
    pub const fn is_asked(&self) -> bool {
        matches!(self.platform, Platform::GithubActions | Platform::AzureDevops { .. } | Platform::Buildkite)
    }
}
