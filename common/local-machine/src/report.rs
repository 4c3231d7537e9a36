//! How a failure reaches the person: standard error, the terminal, and the file of last failures.
//! A failure comes in, an exit status goes out.
//! Writes each text in one piece, so that lines of several helpers do not mix.

use std::process::ExitCode;

use credmint_vocabulary::Failure;

use crate::{clock, last_failure, terminal};

/// Tells a failure wherever a person might look, and gives the exit status of its kind.
#[must_use]
pub fn failure(program: &str, hostname: Option<&str>, failure: &Failure) -> ExitCode {
    write_stderr(&format!("{program}: {failure}\n"));
    terminal::say(&one_line(program, failure));
    last_failure::record(program, hostname, failure, clock::now());
    ExitCode::from(failure.kind.exit_status())
}

/// Makes a panic say whose it is and nothing else: its message could hold anything.
pub fn quiet_panics(program: &'static str) {
    std::panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
        write_stderr(&format!("{program}: internal error{place}; please report it\n"));
    }));
}

fn one_line(program: &str, failure: &Failure) -> String {
    let hint = failure.hint.as_ref().map(|hint| format!(" (hint: {hint})")).unwrap_or_default();
    format!("{program}: {}{hint}", failure.what)
}

fn write_stderr(text: &str) {
    use std::io::Write;
    std::io::stderr().write_all(text.as_bytes()).unwrap_or_default();
}
