//! A program in the foreground of a console: Ctrl-C reaches every process there, and we wait for what the program makes of it.
//! A program, its arguments and variables come in, how it ended goes out.
//! Standard streams and console are the program's: it inherits them untouched.

use std::ffi::OsString;
use std::io;
use std::process::{Command, ExitCode, ExitStatus};
use std::thread;

use super::variables::Variable;

/// How a program ended.
pub(crate) struct Ended(ExitStatus);

/// Nothing: a console has no such thing.
pub(crate) struct Before;

/// Keeps Ctrl-C and Ctrl-Break from ending us.
pub(crate) fn hold_signals() -> io::Result<Before> {
    stay();
    Ok(Before)
}

/// Runs a program to its end.
#[expect(clippy::disallowed_methods, reason = "the person's own program is started here")]
pub(crate) fn run(_before: &Before, words: &[OsString], variables: &[Variable]) -> io::Result<Ended> {
    let (program, words) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    for variable in variables {
        match variable.value() {
            Some(value) => command.env(variable.name(), value),
            None => command.env_remove(variable.name()),
        };
    }
    command.args(words).spawn()?.wait().map(Ended)
}

/// Lets Ctrl-C and Ctrl-Break be the program's own: once they are listened for, they do not end us.
fn stay() {
    thread::spawn(|| -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(hear())
    });
}

async fn hear() -> io::Result<()> {
    let (mut interrupt, mut pause) = (tokio::signal::windows::ctrl_c()?, tokio::signal::windows::ctrl_break()?);
    loop {
        let heard = tokio::select! {
            heard = interrupt.recv() => heard,
            heard = pause.recv() => heard,
        };
        if heard.is_none() {
            return Ok(());
        }
    }
}

impl Ended {
    /// Tells whether the program says that all went well.
    pub(crate) fn is_success(&self) -> bool {
        self.0.success()
    }

    /// Ends with the program's exit status; one that does not fit is 1.
    pub(crate) fn pass_on(&self) -> ExitCode {
        ExitCode::from(self.0.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
    }
}
