//! How an answer reaches the program that asked, and a failure the person: standard error, the terminal, the file of last failures.
//! An answer or a failure comes in, an exit status goes out.
//! Writes each text in one piece, so that lines of several helpers do not mix.

use std::process::ExitCode;

use credmint_vocabulary::{Failure, FailureKind};

use crate::{clock, last_failure, streams, terminal};

/// Tells a failure wherever a person might look, and gives the exit status of its kind.
#[must_use]
pub fn failure(program: &str, hostname: Option<&str>, failure: &Failure) -> ExitCode {
    let failure = with_a_hint(program, hostname, failure);
    write_stderr(&format!("{program}: {failure}\n"));
    terminal::say(&one_line(program, &failure));
    last_failure::record(program, hostname, &failure, clock::now());
    ExitCode::from(failure.kind.exit_status())
}

/// Prints an answer; that nobody takes it is told as any failure.
#[must_use]
pub fn answer(program: &str, hostname: Option<&str>, bytes: &[u8]) -> ExitCode {
    match streams::write_stdout(bytes) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let what = format!("the answer cannot be written: {error}");
            failure(program, hostname, &Failure::new(FailureKind::Unreachable, what))
        }
    }
}

/// Makes a panic say whose it is and nothing else: its message could hold anything.
pub fn quiet_panics(program: &'static str) {
    std::panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
        write_stderr(&format!("{program}: internal error{place}; please report it\n"));
    }));
}

/// Gives a failure that came without a next step the one that shows most.
fn with_a_hint(program: &str, hostname: Option<&str>, failure: &Failure) -> Failure {
    let next = || match (failure.kind, hostname) {
        (FailureKind::Usage, _) => format!("{program} --help"),
        (_, Some(hostname)) => format!("credmint explain {hostname}"),
        (_, None) => "credmint status".to_owned(),
    };
    let failure = failure.clone();
    if failure.hint.is_some() { failure } else { failure.hint(next()) }
}

fn one_line(program: &str, failure: &Failure) -> String {
    let hint = failure.hint.as_ref().map(|hint| format!(" (hint: {hint})")).unwrap_or_default();
    format!("{program}: {}{hint}", failure.what)
}

fn write_stderr(text: &str) {
    use std::io::Write;
    std::io::stderr().write_all(text.as_bytes()).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_left_without_a_next_step() {
        let hint = |kind, hostname| with_a_hint("helper", hostname, &Failure::new(kind, "no")).hint.unwrap_or_default();
        assert_eq!(hint(FailureKind::Usage, Some("a.example")), "helper --help");
        assert_eq!(hint(FailureKind::Refused, Some("a.example")), "credmint explain a.example");
        assert_eq!(hint(FailureKind::Internal, None), "credmint status");
        let own = Failure::new(FailureKind::Usage, "no").hint("own");
        assert_eq!(with_a_hint("helper", None, &own), own);
    }
}
