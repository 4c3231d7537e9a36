//! `credmint exec`: a program that sees the hosts of the settings through the bridge, for its life only.
//! A command line comes in, the program's own end goes out; everything that it was given is gone then.
//! Prints nothing while all goes well but what is reached in another way than asked for. `protocol-spec/bridge-protocol.md` §9.

mod carrier;
mod configuration;
#[cfg(unix)]
#[path = "foreground_unix.rs"]
mod foreground;
#[cfg(windows)]
#[path = "foreground_windows.rs"]
mod foreground;
mod installation;
mod json;
mod mirrors;
mod open_run;
mod phase;
mod providers;
mod proxy;
mod show;
mod stand_in;
mod state;
mod told;
mod variables;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use credmint_agent_protocol::RunWanted;
use credmint_local_machine::environment;
use credmint_vocabulary::{Failure, FailureKind, Hostname, Phase, printable};

use crate::command_line::lifetime;
use crate::out;
use carrier::{Carrier, Ways};
use mirrors::Mirrors;
use open_run::{OpenRun, Over, Watch};
pub(crate) use show::{EnvArguments, run as env};
pub(crate) use told::status;
#[cfg(test)]
pub(crate) use told::tests::run as run_for_tests;
use variables::Variable;

/// `credmint exec`.
#[derive(Debug, Args)]
pub(crate) struct ExecArguments {
    /// Also put certificate and key of a host whose settings hand them out (`deliver = "inline"`) into the environment, as
    /// TF_HTTP_CLIENT_…; without HOST the one that TF_HTTP_ADDRESS leads to.
    #[arg(long, value_name = "HOST", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    env: Option<String>,
    /// How the program reaches the hosts of the settings.
    #[arg(long, value_name = "WAY", default_value = "auto")]
    carrier: Carrier,
    /// Let the program have the credential of a provider of the settings, `[provider.NAME]`: at an endpoint of the run where its
    /// SDK asks one and has it renewed, else in its environment. May be given more than once.
    #[arg(long = "provider", value_name = "NAME")]
    providers: Vec<String>,
    /// What the run is about, where that cannot be seen (wrappers, macOS, Windows): `plan` or `apply`; the program finds it as
    /// CREDMINT_PHASE.
    #[arg(long, value_name = "PHASE", value_parser = phase::parse)]
    phase: Option<Phase>,
    /// How long what `--provider` gives may live at most, for example 15m, where its issuer lets anybody choose.
    #[arg(long, value_name = "TIME", value_parser = lifetime, requires = "providers")]
    ttl: Option<Duration>,
    /// The program and its arguments, after `--`.
    #[arg(value_name = "CMD", required = true, last = true)]
    command: Vec<OsString>,
}

/// Runs the program.
pub(crate) fn run(arguments: &ExecArguments) -> Result<ExitCode, Failure> {
    let words = &arguments.command;
    let Some(program) = words.first() else {
        return Err(Failure::new(FailureKind::Usage, "a command is missing").hint("credmint exec -- terraform init"));
    };
    let pem = arguments.env.as_deref().map(state::pem).transpose()?;
    let ways = Ways::of(arguments.carrier, mirrors(program)?);
    let (mut open, connection) = OpenRun::begin(program, &ways, wanted_of(arguments))?;
    let has_any = !open.hosts.is_empty() || !open.confirm.is_empty() || !open.providers.is_empty();
    configuration::leave_to_outer_run(&mut open, program)?;
    say_who_is_left_out(&open.confirm);
    say_who_was_not_asked(&open);
    ways.remarks().iter().for_each(|remark| out::remark(remark));
    if pem.is_none() && ways.has_blocks && state::is_used() {
        state::not_taken(&show::settings()?).iter().for_each(|line| out::remark(line));
    }
    let mut variables = variables::for_run(&open, &ways, program)?;
    let of_providers = providers::variables(std::mem::take(&mut open.providers), open.directory())?;
    providers::check(&variables, &of_providers)?;
    variables.extend(of_providers);
    proxy::exempt_endpoints(&mut variables);
    match pem {
        Some(pem) => variables.extend(pem),
        None if !has_any => return Err(nothing_to_reach()),
        None => {}
    }
    variables.extend(arguments.phase.map(|phase| Variable::open(environment::CREDMINT_PHASE, phase.word())));
    let before = foreground::hold_signals().map_err(|error| internal(&error))?;
    let watch = Watch::over(connection, open.port)?;
    let ended = foreground::run(&before, words, &variables);
    let (failures, not_revoked) = told(watch.end());
    open.remove();
    not_revoked.iter().for_each(out::failure);
    Ok(match ended {
        Ok(ended) if ended.is_success() => ExitCode::SUCCESS,
        Ok(ended) => {
            failures.iter().for_each(out::failure);
            ended.pass_on()
        }
        Err(error) => not_started(program, &error),
    })
}

/// Says what the options want of the providers.
fn wanted_of(arguments: &ExecArguments) -> RunWanted {
    let phase = phase::of(arguments.phase, providers::phase(&arguments.command));
    let (providers, ttl_seconds) = (arguments.providers.clone(), arguments.ttl.map(|ttl| ttl.as_secs()));
    RunWanted { providers, phase, ttl_seconds, ..RunWanted::default() }
}

/// Says of which hosts each use is judged, by a person or by who asks: a run would be a way around that.
fn say_who_is_left_out(confirm: &[Hostname]) {
    for host in confirm {
        out::remark(&format!("{host} is judged at each use (confirm, allow): Terraform asks its helper for it"));
    }
}

/// Finds the mirrors of the CLI configuration that lead to hosts of the settings.
fn mirrors(program: &OsString) -> Result<Mirrors, Failure> {
    let Some(found) = configuration::installation(program)? else { return Ok(Mirrors::default()) };
    Ok(Mirrors::of(&found, &show::hosts(&show::settings()?).1))
}

/// Says of which hosts the run has the usual services alone, and why.
fn say_who_was_not_asked(open: &OpenRun) {
    for (host, why) in open.hosts.iter().filter_map(|host| Some((&host.hostname, host.unasked.as_ref()?))) {
        let why = printable(why, 300);
        out::remark(&format!(
            "{host} was not asked which services it has ({why}): the run has its modules and providers"
        ));
    }
}

fn nothing_to_reach() -> Failure {
    Failure::new(FailureKind::Settings, "the settings name no host that is reached through the bridge")
        .hint("credmint explain HOST says how a host is delivered")
}

fn internal(error: &io::Error) -> Failure {
    Failure::new(FailureKind::Internal, format!("signals: {error}"))
}

/// Says what the program could not: Terraform shows no cause of many a refusal.
fn told(over: Over) -> (Vec<Failure>, Vec<Failure>) {
    match over {
        Over::Ended(failures, not_revoked) => (failures, not_revoked),
        Over::AgentGone => {
            let what = "the agent ended during this run, and its credentials with it";
            (vec![Failure::new(FailureKind::Unreachable, what).hint("run the command again")], Vec::new())
        }
    }
}

/// Ends as a shell would: 127 for what is not there, 126 for what cannot be run.
fn not_started(program: &OsString, error: &io::Error) -> ExitCode {
    let name = printable(&program.to_string_lossy(), 200);
    let (why, status) = match error.kind() {
        io::ErrorKind::NotFound => ("there is no such program".to_owned(), 127),
        _ => (format!("it cannot be run: {error}"), 126),
    };
    out::failure(&Failure::new(FailureKind::Usage, format!("{name}: {why}")).hint(format!("command -v {name}")));
    ExitCode::from(status)
}
