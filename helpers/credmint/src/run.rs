//! From arguments to an exit status.
//! The words of the command line come in, one verb is run, a failure becomes two lines on standard error.
//! Decides nothing else.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::CommandFactory;
use credmint_vocabulary::Failure;

use crate::command_line::{Command, CommandLine, Parsed, parse};
use crate::{cert, demo, exec, explain, lock, out, print, setup, sign_in, status};

/// Runs what the arguments say.
pub(crate) fn from_arguments(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    match parse(arguments).and_then(|parsed| run(&parsed)) {
        Ok(code) => code,
        Err(failure) => {
            out::failure(&failure);
            ExitCode::from(failure.kind.exit_status())
        }
    }
}

fn run(parsed: &Parsed) -> Result<ExitCode, Failure> {
    match parsed {
        Parsed::Text(text) => out::text(text),
        Parsed::Command(Command::Completion { shell }) => completion(*shell),
        Parsed::Command(Command::Setup(arguments)) => setup::run(arguments)?,
        Parsed::Command(Command::Login(arguments)) => sign_in::login(arguments)?,
        Parsed::Command(Command::Logout(arguments)) => sign_in::logout(arguments)?,
        Parsed::Command(Command::Lock) => lock::lock()?,
        Parsed::Command(Command::Unlock) => lock::unlock()?,
        Parsed::Command(Command::NeedsLogin { name }) => return sign_in::needs_login(name.as_deref()),
        Parsed::Command(Command::Status(arguments)) => status::run(arguments)?,
        Parsed::Command(Command::Explain(arguments)) => explain::run(arguments)?,
        Parsed::Command(Command::Cert(arguments)) => return cert::run(arguments),
        Parsed::Command(Command::Print(arguments)) => return print::run(arguments),
        Parsed::Command(Command::Exec(arguments)) => return exec::run(arguments),
        Parsed::Command(Command::Env(arguments)) => exec::env(arguments)?,
        Parsed::Command(Command::Agent(arguments)) => status::run_agent(&arguments.command)?,
        Parsed::Command(Command::Demo(arguments)) => demo::run(arguments)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn completion(shell: clap_complete::Shell) {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut CommandLine::command(), "credmint", &mut script);
    out::text(&String::from_utf8_lossy(&script));
}
