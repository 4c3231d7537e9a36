//! `credmint print NAME`: a credential on standard output, for scripts.
//! A name and a form come in; the route of the settings is found, the agent asked, and the form written, whole or not at all.
//! Prints a secret, because that is what was asked for; nothing else does in this program. `common/protocols` writes the forms.

#[path = "../../../credmint-aws/src/form.rs"]
mod form;
mod route;

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use credmint_agent_protocol::Credential;
use credmint_local_machine::{hardening, report, streams};
use credmint_protocols::{AnswerError, aws, docker, git, github, google, kubernetes, plain, vault};
use credmint_vocabulary::{Failure, FailureKind, Timestamp};
use zeroize::Zeroizing;

use crate::agent;
use form::written;

/// `credmint print`.
#[derive(Debug, Args)]
pub(crate) struct PrintArguments {
    /// Name of a [provider.NAME] table, or one of its hosts; or a host that gets a token itself.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// In which form.
    #[arg(long, short, value_name = "FORM", default_value = "token")]
    pub(crate) format: Format,
    /// Variable that `env` assigns a token to, where its issuer does not tell.
    #[arg(long, value_name = "VARIABLE", value_parser = variable)]
    pub(crate) variable: Option<String>,
    /// Whose assignments `env` writes.
    #[arg(long, value_name = "SHELL", default_value = "sh")]
    pub(crate) shell: Shell,
}

/// In which form a credential is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The token and a line break.
    Token,
    /// All of it, as one JSON object.
    Json,
    /// Assignments for a shell to read.
    Env,
    /// What `credential_process` of a profile gives.
    Aws,
    /// What the executable of an external account gives.
    Google,
    /// ExecCredential, version v1.
    Kubernetes,
    /// The token without a line break.
    Vault,
    /// User name and password, as git's helpers give them.
    Git,
    /// What docker's helpers give.
    Docker,
}

/// Whose assignments are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    /// sh, bash, zsh, ksh, dash.
    Sh,
    /// fish.
    Fish,
    /// PowerShell.
    Powershell,
}

impl From<Shell> for plain::Shell {
    fn from(shell: Shell) -> Self {
        match shell {
            Shell::Sh => Self::Sh,
            Shell::Fish => Self::Fish,
            Shell::Powershell => Self::Powershell,
        }
    }
}

fn variable(text: &str) -> Result<String, &'static str> {
    let is_name = plain::is_variable(text);
    is_name.then(|| text.to_owned()).ok_or("a variable has letters, digits and _, and begins with none of the digits")
}

/// Runs the verb.
pub(crate) fn run(arguments: &PrintArguments) -> Result<ExitCode, Failure> {
    report::quiet_panics("credmint");
    hardening::harden_helper();
    let printed = route::find(&arguments.name)?;
    let variable = printed.variable(arguments.variable.as_deref());
    let server = if arguments.format == Format::Docker { printed.server()? } else { String::new() };
    let credential = agent::get(&printed.name)?.ok_or_else(|| route::unknown(&printed.name.to_string()))?;
    let bytes = written(&credential, &writer(arguments, variable.as_deref(), &server));
    let bytes = bytes.map_err(|why| printed.refuse(&why, usual(&credential)))?;
    streams::write_stdout(&bytes)
        .map_err(|error| Failure::new(FailureKind::Unreachable, format!("the answer cannot be written: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

/// Names the form that fits what was granted.
const fn usual(credential: &Credential) -> &'static str {
    match credential {
        Credential { access_key_id: Some(_), .. } => "aws",
        Credential { token: Some(_), .. } => "token",
        _ => "json",
    }
}

/// Writes a credential in a form.
type Writer<'f> =
    Box<dyn Fn(&credmint_protocols::Credential<'_>, Timestamp) -> Result<Zeroizing<Vec<u8>>, AnswerError> + 'f>;

/// Chooses who writes the form.
fn writer<'f>(arguments: &PrintArguments, variable: Option<&'f str>, server: &'f str) -> Writer<'f> {
    let shell = arguments.shell.into();
    match arguments.format {
        Format::Token => Box::new(|credential, now| {
            credential.announced_end(now)?;
            github::answer(credential)
        }),
        Format::Json => Box::new(plain::json),
        Format::Env => Box::new(move |credential, now| plain::assignments(credential, variable, shell, now)),
        Format::Aws => Box::new(aws::answer),
        Format::Google => Box::new(|credential, now| google::answer(credential, None, now)),
        Format::Kubernetes => Box::new(|credential, now| kubernetes::answer(credential, <_>::default(), now)),
        Format::Vault => Box::new(|credential, _| vault::answer(credential)),
        Format::Git => Box::new(|credential, now| git::answer(credential, &<_>::default(), now)),
        Format::Docker => Box::new(move |credential, _| docker::answer(credential, server)),
    }
}
