//! The words of `credmint setup`.
//! Arguments come in, plain structs go out.
//! Does nothing itself.

use clap::{Args, Subcommand};
use credmint_vocabulary::Hostname;

use super::provider::ProviderArguments;
use crate::command_line::Tool;
use crate::examples;

/// `credmint setup`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct SetupArguments {
    /// What is set up, if that is no host.
    #[command(subcommand)]
    pub(crate) what: Option<SetupWhat>,
    /// Hostname as it stands in a module or provider address, for example registry.corp.example.
    #[arg(value_name = "HOST", required = true)]
    pub(crate) host: Option<String>,
    /// Where the bridge goes, if that is not https://HOST; the certificate must still be HOST's.
    #[arg(long, value_name = "URL", conflicts_with = "remove")]
    pub(crate) upstream: Option<String>,
    /// Whose CLI configuration is edited [default: terraform, or tofu if only that is in PATH].
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<Tool>,
    /// Do not ask.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Show what would change and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Take back what an earlier run added for this host.
    #[arg(long)]
    pub(crate) remove: bool,
    /// Leave `terraform login HOST` as it is, also where a person signs in for the host.
    #[arg(long, conflicts_with = "remove")]
    pub(crate) no_login: bool,
    /// Whether it does not matter how `terraform login` is.
    #[arg(skip)]
    pub(crate) any_login: bool,
}

/// What is set up beside hosts.
#[derive(Debug, Subcommand)]
pub(crate) enum SetupWhat {
    /// Let what belongs to a provider of the settings ask credmint: an AWS profile, a kubeconfig, git, docker and others.
    ///
    /// Adds to the file of that tool what makes it ask, and nothing else of the file changes, comments and line ends included.
    /// A second run changes nothing, and --remove takes back exactly what was added. None of it is a secret.
    ///
    /// On a terminal it shows what changes and asks; elsewhere it shows and goes on.
    #[command(after_help = examples::SETUP_PROVIDER)]
    Provider(ProviderArguments),
}

impl SetupArguments {
    /// Makes the arguments of somebody who only wants to see.
    pub(crate) fn look(host: &Hostname) -> Self {
        Self {
            what: None,
            host: Some(host.as_str().to_owned()),
            upstream: None,
            tool: None,
            yes: false,
            dry_run: true,
            remove: false,
            no_login: false,
            any_login: true,
        }
    }
}
