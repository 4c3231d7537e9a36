//! The words that a person types: one subcommand a verb, each with a help text worth reading.
//! Arguments come in, one [`Command`] goes out; what clap refuses becomes a usage failure in our own two lines.
//! Does nothing itself.

use std::path::PathBuf;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand, ValueEnum};
use credmint_vocabulary::{Failure, FailureKind};

use crate::cert::CertArguments;
use crate::enrol::ByHandArguments;
use crate::examples;
use crate::exec::{EnvArguments, ExecArguments};
use crate::print::PrintArguments;
use crate::setup::SetupArguments;

/// Credentials for Terraform and OpenTofu, minted when they are needed and never written to disk.
///
/// Terraform and OpenTofu run the helper `terraform-credentials-credmint` for every host they talk to. The helper
/// asks the agent, and the agent gets what the settings say: a bearer token, or a client certificate that it presents
/// for you. This program prepares that, shows it, and explains it.
#[derive(Debug, Parser)]
#[command(name = "credmint", version, max_term_width = 100, disable_help_subcommand = true, after_help = AFTER_HELP)]
pub(crate) struct CommandLine {
    /// What is to be done.
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
First steps:
  credmint demo                           see it work, in a throw-away home
  credmint setup registry.corp.example    let Terraform ask credmint for it
  credmint explain registry.corp.example  what would happen, without doing it
  credmint login                          sign in, if the settings name a person
  credmint status                         what is kept, and what failed last

Settings: the file that $CREDMINT_CONFIG names, else
$XDG_CONFIG_HOME/credmint/config.toml (~/.config/credmint/config.toml).
Exit status: 0 done, 64 usage, 69 unreachable, 70 internal, 77 refused,
78 settings.";

/// One verb.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Let Terraform or OpenTofu ask credmint for a host.
    ///
    /// Installs the helper into ~/.terraform.d/plugins (a link to the one beside this program), adds a
    /// `credentials_helper` and a `host` block to the CLI configuration and, with --upstream, writes where the bridge
    /// goes into the drop-in directory of the settings. Everything else in these files stays as it is, comments too.
    /// A second run changes nothing, and --remove takes back exactly what was added.
    ///
    /// `credmint setup provider NAME` does the same for AWS SDKs, kubectl, vault, git, docker and others.
    ///
    /// On a terminal it shows what changes and asks; elsewhere it shows and goes on.
    #[command(after_help = examples::SETUP)]
    Setup(SetupArguments),
    /// Sign in; until the session ends, nothing asks again.
    ///
    /// For identities of kind `oidc` and `vault-oidc`. Opens the browser, or shows a code to approve on another device where no browser
    /// would be seen (over ssh, in a container, without a display). The agent signs in and keeps the session in memory:
    /// it ends with the agent. Ctrl-C at any point leaves nothing.
    ///
    /// Go on only with what you started yourself: nobody else should have sent you a link or a code.
    ///
    /// For a host whose certificates people sign (issuer kind `offline`): `credmint login HOST --csr out.pem` writes the
    /// certification request, `credmint login HOST --certificate in.pem` takes what they signed. The key is made in the agent
    /// and is in its memory only: when the agent ends it is lost, and the request is worth nothing.
    #[command(after_help = examples::LOGIN)]
    Login(LoginArguments),
    /// Tell by the exit status whether somebody has to sign in.
    ///
    /// 0: a sign-in is needed; 1: signed in; others: failures. Prints nothing, asks nobody but a running agent. Without a
    /// name it is about everybody whom the settings name. For shell prompts and scripts:
    /// `credmint needs-login && credmint login`
    #[command(after_help = examples::NEEDS_LOGIN)]
    NeedsLogin {
        /// Name in the settings, for example me.
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
    /// Sign out, here and at the issuer.
    ///
    /// Revokes the session at the issuer if that can be done (RFC 7009), drops it and every entry that was made from it,
    /// and says what could not be revoked.
    #[command(after_help = examples::LOGOUT)]
    Logout(LogoutArguments),
    /// Encrypt everything that the agent keeps, under a passphrase.
    ///
    /// Until `credmint unlock` nothing is handed out, renewed or signed in, and nobody who reads the agent's memory finds a
    /// token or a key. Asks for the passphrase twice; without a terminal it is one line of standard input. Who forgets it ends
    /// the agent (`credmint agent stop`) and signs in again.
    #[command(after_help = examples::LOCK)]
    Lock,
    /// Decrypt what `credmint lock` encrypted.
    ///
    /// After a wrong passphrase the next try has to wait: 1 s, 2 s, 4 s, up to a minute.
    #[command(after_help = examples::UNLOCK)]
    Unlock,
    /// Show the agent, what it keeps, and what failed last.
    ///
    /// Names, times and serial numbers; never a secret. An agent that is not running is no error: the next
    /// `terraform init` starts it.
    #[command(after_help = examples::STATUS)]
    Status(StatusArguments),
    /// Say what would happen for a host, without doing it.
    ///
    /// Which route, which identities in order and what each has to say (state and claims), which issuer, how it is
    /// delivered. Nothing is asked of an issuer and nothing is minted. Asks the running agent; without one, a child
    /// that answers this one question and ends.
    #[command(after_help = examples::EXPLAIN)]
    Explain(ExplainArguments),
    /// Show the certificate that a host gets, and whether the host accepts it.
    ///
    /// Made if none is kept, as `terraform init` would have it made. Subject, names, key, validity, the path to the trust
    /// anchor, what is not as it was asked for, and what the rules of the issuer say, if it lets us read them. The private
    /// key stays in the agent.
    ///
    /// With --self-check the exit status says what the upstream made of it: 0 accepted, 1 it asks for no certificate,
    /// 77 refused, 69 not reached or not trusted, 78 settings.
    #[command(after_help = examples::CERT)]
    Cert(CertArguments),
    /// Print the credential of a provider, for scripts.
    ///
    /// NAME is that of a [provider.NAME] table of the settings, or one of its hosts; or a host whose token Terraform gets itself.
    /// Standard output has the secret and nothing else; what fails is told on standard error, and nothing is printed.
    ///
    /// A program that runs for long should not be given what is printed: it ends. What AWS SDKs, Google's libraries, clients of
    /// Kubernetes, git and others start by themselves asks anew each time: credmint-aws, credmint-google and their like.
    ///
    /// `env` assigns a token to GOOGLE_OAUTH_ACCESS_TOKEN, KUBE_TOKEN, GITHUB_TOKEN or VAULT_TOKEN by its issuer, that of a host
    /// to TF_TOKEN_…; keys to AWS_…, a certificate and its key to KUBE_CLIENT_CERT_DATA and KUBE_CLIENT_KEY_DATA.
    #[command(after_help = examples::PRINT)]
    Print(PrintArguments),
    /// Run a program that reaches the hosts of the settings, and nothing that has to be installed for it.
    ///
    /// The program, and what it starts, has a CLI configuration of its own for as long as it runs: yours, with the hosts of the
    /// settings on the bridge at a port of this run, and a session token for each of them that is worth nothing elsewhere or
    /// afterwards. Needs neither the helper nor `credmint setup`. An `http` state backend whose TF_HTTP_ADDRESS leads to such a
    /// host goes through the bridge, too.
    ///
    /// Set for the program: TF_CLI_CONFIG_FILE, TF_TOKEN_… for each host, and, where TF_HTTP_ADDRESS leads to one of them,
    /// TF_HTTP_ADDRESS, TF_HTTP_LOCK_ADDRESS, TF_HTTP_UNLOCK_ADDRESS, TF_HTTP_USERNAME and TF_HTTP_PASSWORD; with --env
    /// TF_HTTP_CLIENT_CERTIFICATE_PEM, TF_HTTP_CLIENT_PRIVATE_KEY_PEM and TF_HTTP_CLIENT_CA_CERTIFICATE_PEM; with --provider
    /// what programs of its kind read, and nothing that would go before that. `credmint env` shows which of them, and `credmint status` the runs that are open.
    ///
    /// Signals, terminal, standard streams and exit status are the program's own. Exit status besides: 127 no such program, 126 it
    /// cannot be run, 128 and the number of the signal that ended it.
    #[command(after_help = examples::EXEC)]
    Exec(ExecArguments),
    /// Show what `credmint exec` would set.
    ///
    /// Names, and what each is for. Ports and session tokens belong to a run and end with it: `credmint exec -- env` shows those of
    /// one. A shell may read what is printed.
    #[command(after_help = examples::ENV)]
    Env(EnvArguments),
    /// Look after the agent: how it is, start it, stop it.
    #[command(after_help = examples::AGENT)]
    Agent(AgentArguments),
    /// See the main job on embedded parts, in a throw-away home.
    ///
    /// Starts a registry on loopback that demands a client certificate, sets up a home directory for it, runs the real
    /// `terraform init` (or `tofu init`; without either, plays the client), shows what was minted and what travelled
    /// over mTLS, and ends by searching the home directory and its own processes for secrets.
    #[command(after_help = examples::DEMO)]
    Demo(DemoArguments),
    /// Print the completion script of a shell.
    ///
    /// In ~/.bashrc: source <(credmint completion bash)
    #[command(after_help = examples::COMPLETION)]
    Completion {
        /// Which shell.
        shell: clap_complete::Shell,
    },
}

/// `credmint login`.
#[derive(Debug, Default, Args)]
pub(crate) struct LoginArguments {
    /// Name in the settings, for example me; not needed if there is one person only. With --csr and --certificate: a host.
    #[arg(value_name = "NAME|HOST")]
    pub(crate) name: Option<String>,
    /// Show a code, to be approved on any device.
    #[arg(long, conflicts_with_all = ["paste", "no_browser"])]
    pub(crate) device: bool,
    /// Paste the address that a browser elsewhere ended at, on standard input.
    #[arg(long, conflicts_with = "no_browser")]
    pub(crate) paste: bool,
    /// Sign out by itself after this time, for example 8h; the settings' `lifetime` is the most.
    #[arg(long, value_name = "TIME", value_parser = lifetime)]
    pub(crate) lifetime: Option<Duration>,
    /// Open no browser; the page is opened by hand, on this machine.
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// What concerns certificates that people sign.
    #[command(flatten)]
    pub(crate) by_hand: ByHandArguments,
    /// Print the session, the request or the certificate as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn lifetime(text: &str) -> Result<Duration, &'static str> {
    credmint_settings::duration(text).ok_or("a time looks like 8h, 30m or 1h30m")
}

/// `credmint logout`.
#[derive(Debug, Args)]
pub(crate) struct LogoutArguments {
    /// Name in the settings, for example me; not needed if there is one person only.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Everybody whom the settings name.
    #[arg(long, conflicts_with = "name")]
    pub(crate) all: bool,
}

/// Whose CLI configuration is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tool {
    /// HashiCorp Terraform.
    Terraform,
    /// OpenTofu.
    Tofu,
}

impl Tool {
    /// Gives the name of the executable.
    pub(crate) const fn program(self) -> &'static str {
        match self {
            Self::Terraform => "terraform",
            Self::Tofu => "tofu",
        }
    }
}

/// `credmint status`.
#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `credmint explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// Hostname as it stands in a module or provider address.
    #[arg(value_name = "HOST")]
    pub(crate) host: String,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `credmint agent`.
#[derive(Debug, Args)]
pub(crate) struct AgentArguments {
    /// What is to be done.
    #[command(subcommand)]
    pub(crate) command: AgentCommand,
}

/// One verb of `credmint agent`.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// Show how the agent is: process, version, hardening, bridge.
    Status(StatusArguments),
    /// Start the agent, if there is none, and have its bridge listen for a host.
    ///
    /// `terraform login` asks no helper before it opens the browser: then the agent has to be there already. Every
    /// `terraform init` starts it, too.
    Start {
        /// Host that the bridge serves.
        #[arg(value_name = "HOST")]
        host: String,
    },
    /// Let the agent drop everything it keeps, and end.
    Stop,
    /// Print the trust anchor of a `local-ca` issuer, for the server that is to trust it.
    ///
    /// The authority lives in the agent's memory: this starts an agent if there is none, and the anchor is another
    /// one after the agent has ended.
    Anchor {
        /// Host whose issuer is meant.
        #[arg(value_name = "HOST")]
        host: String,
    },
}

/// `credmint demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArguments {
    /// Keep the throw-away home directory.
    #[arg(long)]
    pub(crate) keep: bool,
    /// The terraform or tofu to run, in place of the first one in PATH.
    #[arg(long, value_name = "PATH")]
    pub(crate) tool: Option<PathBuf>,
}

/// What the arguments came to.
pub(crate) enum Parsed {
    /// A verb.
    Command(Command),
    /// A text that was asked for: help or version.
    Text(String),
}

/// Reads the arguments.
pub(crate) fn parse(arguments: impl IntoIterator<Item = std::ffi::OsString>) -> Result<Parsed, Failure> {
    let arguments: Vec<_> = arguments.into_iter().collect();
    let error = match CommandLine::try_parse_from(&arguments) {
        Ok(line) => return Ok(Parsed::Command(line.command)),
        Err(error) => error,
    };
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(Parsed::Text(error.to_string())),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Err(Failure::new(FailureKind::Usage, "a command is missing").hint(next(&error.to_string(), "")))
        }
        _ => Err(usage(&error.to_string(), verb(arguments.get(1)))),
    }
}

/// Makes two lines of what clap says: its first paragraph, and its tip or its usage line.
fn usage(text: &str, verb: &str) -> Failure {
    let what = text.split("\n\n").next().unwrap_or(text);
    Failure::new(FailureKind::Usage, what.strip_prefix("error: ").unwrap_or(what)).hint(next(text, verb))
}

/// Gives the verb that was typed, if it is one, with a blank behind it.
fn verb(word: Option<&std::ffi::OsString>) -> &'static str {
    let typed = |name: &&str| word.is_some_and(|word| *word == **name);
    VERBS.iter().find(|name| typed(&name.trim_end())).copied().unwrap_or_default()
}

/// Verbs whose arguments have values that clap can refuse, without saying how it is used.
const VERBS: [&str; 5] = ["setup ", "login ", "demo ", "completion ", "print "];

/// Finds the tip or the usage line of what clap says, in a form that a shell takes: there, `<HOST>` is a redirection.
fn next(text: &str, verb: &str) -> String {
    let line = |start: &str| text.lines().find_map(|line| line.trim().strip_prefix(start)).map(str::trim);
    let usage = || line("Usage:").map(|usage| usage.replace("<COMMAND>", "--help").replace(['<', '>'], ""));
    line("tip:").map(str::to_owned).or_else(usage).unwrap_or_else(|| format!("credmint {verb}--help"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn refused(line: &str) -> Option<Failure> {
        parse(line.split(' ').map(Into::into)).err()
    }

    #[test]
    fn the_command_line_is_sound() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn what_clap_refuses_is_a_usage_failure_with_a_hint() {
        let failure = refused("credmint explian a.example").expect("refused");
        assert_eq!(failure.what, "unrecognized subcommand 'explian'");
        assert_eq!(failure.hint.as_deref(), Some("a similar subcommand exists: 'explain'"));
        let failure = refused("credmint explain").expect("refused");
        assert_eq!(failure.what, "the following required arguments were not provided: <HOST>");
        assert_eq!(failure.hint.as_deref(), Some("credmint explain HOST"));
        let failure = refused("credmint login --lifetime 8").expect("refused");
        assert!(failure.what.ends_with("a time looks like 8h, 30m or 1h30m"), "{}", failure.what);
        assert_eq!(failure.hint.as_deref(), Some("credmint login --help"));
        for (line, hint) in [("credmint", "credmint --help"), ("credmint agent", "credmint agent --help")] {
            let failure = refused(line).expect("refused");
            assert_eq!((failure.what.as_str(), failure.hint.as_deref()), ("a command is missing", Some(hint)));
        }
        assert_eq!(refused("credmint help").and_then(|f| f.hint).as_deref(), Some("credmint --help"));
    }
}
