//! `kind = "command"`: a program of the user's whose standard output is the token.
//! An argument vector and a deadline come in, what was printed goes out.
//! Uses no shell; shows nothing that the program printed, on standard error neither; ends the whole process group.

use std::process::{ExitStatus, Stdio};
use std::time::Instant;

use credmint_settings::CommandSource;
use credmint_vocabulary::{Deadline, FailureKind, Secret, printable};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};
use zeroize::Zeroizing;

/// Says why a program gave nothing usable. It names the program and never what that printed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// The settings name no program.
    #[error("the command is empty")]
    Empty,
    /// The program cannot be started.
    #[error("the command `{program}` does not start: {why}")]
    Start {
        /// First word of the command.
        program: String,
        /// The system's reason.
        why: std::io::ErrorKind,
    },
    /// It did not end in time and was ended.
    #[error("the command `{program}` did not end within {seconds} s")]
    Timeout {
        /// First word of the command.
        program: String,
        /// How long it was given.
        seconds: u64,
    },
    /// It ended with something else than success.
    #[error("the command `{program}` ended with {status}{}", if *complained { ", with a message on standard error" } else { "" })]
    Failed {
        /// First word of the command.
        program: String,
        /// How it ended.
        status: ExitStatus,
        /// Whether it printed anything on standard error.
        complained: bool,
    },
    /// It printed more than any token has.
    #[error("the command `{program}` printed more than 64 KiB")]
    TooLong {
        /// First word of the command.
        program: String,
    },
    /// It printed something that is not text.
    #[error("the command `{program}` printed something that is not UTF-8")]
    NotText {
        /// First word of the command.
        program: String,
    },
}

impl CommandError {
    /// Says whose turn it is.
    #[must_use]
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Timeout { .. } => FailureKind::Unreachable,
            Self::Failed { .. } => FailureKind::Refused,
            _ => FailureKind::Settings,
        }
    }

    /// Says what to do next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Failed { .. } | Self::Timeout { .. } => {
                Some("run the command by hand to see what it says".to_owned())
            }
            Self::Start { program, .. } => Some(format!("command -v {program}")),
            _ => None,
        }
    }
}

/// Most that is read from standard output.
const LIMIT: u64 = 64 * 1024;

/// Runs the program; `None` when it succeeds and prints nothing.
pub(crate) async fn run(source: &CommandSource, deadline: Deadline) -> Result<Option<Secret<String>>, CommandError> {
    let program = printable(source.argv.first().ok_or(CommandError::Empty)?, 80);
    let now = Instant::now();
    let own = deadline.at_most(now, source.timeout);
    let running = Running::start(&source.argv, &program, None)?;
    let seconds = own.remaining(now).as_secs();
    let ended = tokio::time::timeout_at(own.instant().into(), running.finish());
    let ended = ended.await.map_err(|_| CommandError::Timeout { program: program.clone(), seconds })?;
    ended.map_err(|kind| CommandError::Start { program: program.clone(), why: kind })?.judge(program)
}

/// Runs a program that is only to be told something: in a process group of its own, with this environment and no other.
///
/// # Errors
/// It does not start, does not end in time, or does not end with success. What it prints is not looked at.
pub async fn tell(argv: &[String], environment: &[(String, String)], deadline: Deadline) -> Result<(), CommandError> {
    let program = printable(argv.first().ok_or(CommandError::Empty)?, 80);
    let now = Instant::now();
    let running = Running::start(argv, &program, Some(environment))?;
    let seconds = deadline.remaining(now).as_secs();
    let ended = tokio::time::timeout_at(deadline.instant().into(), running.finish());
    let ended = ended.await.map_err(|_| CommandError::Timeout { program: program.clone(), seconds })?;
    ended.map_err(|kind| CommandError::Start { program: program.clone(), why: kind })?.judge(program).map(drop)
}

/// A started program; dropping it ends its process group.
struct Running {
    child: Child,
    group: Group,
}

/// What a program left behind.
struct Ended {
    status: ExitStatus,
    output: Zeroizing<Vec<u8>>,
    complained: bool,
}

impl Running {
    #[expect(clippy::disallowed_methods, reason = "the command identity is one of the two places that start programs")]
    fn start(argv: &[String], program: &str, environment: Option<&[(String, String)]>) -> Result<Self, CommandError> {
        let (first, rest) = argv.split_first().ok_or(CommandError::Empty)?;
        let mut command = Command::new(first);
        if let Some(environment) = environment {
            command.env_clear().envs(environment.iter().cloned());
        }
        // Who is told something with an environment of its own has nothing to say to us.
        let stdout = if environment.is_some() { Stdio::null() } else { Stdio::piped() };
        command.args(rest).stdin(Stdio::null()).stdout(stdout).stderr(Stdio::piped()).kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let failed = |error: std::io::Error| CommandError::Start { program: program.to_owned(), why: error.kind() };
        let child = command.spawn().map_err(failed)?;
        let group = Group::of(&child);
        Ok(Self { child, group })
    }

    async fn finish(mut self) -> Result<Ended, std::io::ErrorKind> {
        let (stdout, stderr) = (self.child.stdout.take(), self.child.stderr.take());
        let (output, complained) = tokio::join!(read_bounded(stdout), drain(stderr));
        let output = output?;
        let status = self.child.wait().await.map_err(|error| error.kind())?;
        self.group.is_over();
        Ok(Ended { status, output, complained })
    }
}

impl Ended {
    fn judge(self, program: String) -> Result<Option<Secret<String>>, CommandError> {
        if self.output.len() as u64 > LIMIT {
            return Err(CommandError::TooLong { program });
        }
        if !self.status.success() {
            return Err(CommandError::Failed { program, status: self.status, complained: self.complained });
        }
        let text = std::str::from_utf8(&self.output).map_err(|_| CommandError::NotText { program })?;
        Ok(Some(text).filter(|text| !text.trim().is_empty()).map(Secret::from))
    }
}

/// Reads into one buffer of the right size, which is wiped; one byte too many tells that there was more.
///
/// Closing the pipe then ends a program that goes on printing.
async fn read_bounded(stdout: Option<impl AsyncRead + Unpin>) -> Result<Zeroizing<Vec<u8>>, std::io::ErrorKind> {
    let mut output = Zeroizing::new(Vec::with_capacity(70_000));
    if let Some(stdout) = stdout {
        stdout.take(LIMIT + 1).read_to_end(&mut output).await.map_err(|error| error.kind())?;
    }
    Ok(output)
}

/// Reads standard error to its end, so that the program never waits for a reader, and says whether there was any.
async fn drain(stderr: Option<impl AsyncRead + Unpin>) -> bool {
    let Some(mut stderr) = stderr else { return false };
    let mut buffer = Zeroizing::new([0_u8; 4096]);
    let mut complained = false;
    while let Ok(1..) = stderr.read(buffer.as_mut_slice()).await {
        complained = true;
    }
    complained
}

/// Ends what the program started, if the program itself did not come to its end.
#[derive(Debug)]
struct Group {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
}

impl Group {
    #[cfg(unix)]
    fn of(child: &Child) -> Self {
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
        Self { leader }
    }

    #[cfg(not(unix))]
    fn of(_child: &Child) -> Self {
        Self {}
    }

    fn is_over(&mut self) {
        #[cfg(unix)]
        {
            self.leader = None;
        }
    }
}

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.leader {
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::time::Duration;

    async fn shell(script: &str, timeout: Duration) -> Result<Option<Secret<String>>, CommandError> {
        let argv = ["/bin/sh", "-c", script].map(String::from).into();
        let deadline = Deadline::after(Instant::now(), Duration::from_secs(20));
        run(&CommandSource { argv, timeout }, deadline).await
    }

    const LONG: Duration = Duration::from_secs(15);

    #[tokio::test]
    async fn what_it_prints_is_the_answer_and_nothing_is_none() {
        assert!(shell("echo token", LONG).await.unwrap().unwrap().same_as(b"token\n"));
        assert!(shell("cat; echo", LONG).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_failure_tells_the_status_and_never_the_output() {
        let error = shell("echo canary; echo canary >&2; exit 3", LONG).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the command `/bin/sh` ended with exit status: 3, with a message on standard error"
        );
        assert!(!format!("{error:?}").contains("canary"));
        assert!(!shell("exit 3", LONG).await.unwrap_err().to_string().contains("message"));
    }

    #[tokio::test]
    async fn too_much_and_no_text_are_refused() {
        let error = shell("yes", LONG).await.unwrap_err();
        assert!(matches!(error, CommandError::TooLong { .. }), "{error}");
        let error = shell(r"printf '\377'", LONG).await.unwrap_err();
        assert!(matches!(error, CommandError::NotText { .. }), "{error}");
    }

    #[tokio::test]
    async fn what_a_program_prints_that_is_only_told_something_is_not_looked_at() {
        let argv = ["/bin/sh", "-c", r"printf '\377'; head -c 100000 /dev/zero"].map(String::from);
        let path = [("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
        tell(&argv, &path, Deadline::after(Instant::now(), LONG)).await.unwrap();
    }

    #[tokio::test]
    async fn a_missing_program_is_told() {
        let argv = vec!["/no/such/program".to_owned()];
        let deadline = Deadline::after(Instant::now(), LONG);
        let error = run(&CommandSource { argv, timeout: LONG }, deadline).await.unwrap_err();
        assert_eq!(error.to_string(), "the command `/no/such/program` does not start: entity not found");
        assert_eq!(error.kind(), FailureKind::Settings);
    }

    #[tokio::test]
    async fn a_slow_program_is_ended_with_all_that_it_started() {
        let marker = tempfile::tempdir().unwrap();
        let pid_file = marker.path().join("pid");
        let script = format!("sleep 600 & echo $! > {}; wait", pid_file.display());
        let error = shell(&script, Duration::from_millis(500)).await.unwrap_err();
        assert!(matches!(error, CommandError::Timeout { .. }), "{error}");
        assert_gone(&tokio::fs::read_to_string(pid_file).await.unwrap()).await;
    }

    /// A process that was ended may remain as a zombie until init takes it over.
    async fn assert_gone(pid: &str) {
        for _ in 0..200 {
            match tokio::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).await {
                Ok(stat) if !stat.contains(") Z ") => tokio::time::sleep(Duration::from_millis(10)).await,
                _ => return,
            }
        }
        panic!("process {pid} still runs");
    }
}
