//! Runs a program as somebody who lives in the throw-away home.
//! A program, its arguments and perhaps the workload's token come in, what it printed goes out.
//! The token travels in the environment, as a CI job has it; never in an argument.

use std::path::Path;
use std::process::{Command, Stdio};

use credmint_vocabulary::{Failure, FailureKind, Secret};

use super::home::Home;

/// Name of the variable that the demo's settings read from the caller.
pub(crate) const VARIABLE: &str = "WORKLOAD_TOKEN";

/// Runs a program to its end; its standard output comes back, or its standard error as a failure.
pub(crate) fn run(
    home: &Home,
    program: &Path,
    arguments: &[&str],
    token: Option<&Secret<String>>,
) -> Result<Secret<String>, Failure> {
    let output = command(home, program, arguments, token).output();
    let output = output.map_err(|error| failed(program, arguments, &error.to_string()))?;
    let text = |bytes| String::from_utf8(bytes).unwrap_or_default();
    if !output.status.success() {
        return Err(failed(program, arguments, &format!("{}: {}", output.status, text(output.stderr))));
    }
    Ok(Secret::new(text(output.stdout)))
}

#[expect(clippy::disallowed_methods, reason = "the demo runs the programs that a person would run")]
fn command(home: &Home, program: &Path, arguments: &[&str], token: Option<&Secret<String>>) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(home.environment()).current_dir(home.join("work")).stdin(Stdio::null());
    if let Some(token) = token {
        command.env(VARIABLE, token.expose());
    }
    command
}

fn failed(program: &Path, arguments: &[&str], why: &str) -> Failure {
    let name = program.file_stem().unwrap_or_default().to_string_lossy();
    Failure::new(FailureKind::Internal, format!("{name} {}: {why}", arguments.join(" ")))
        .hint("credmint demo --keep leaves the home directory for a look")
}
