//! Starts the agent: one that stays, or a child for a single request.
//! A program, a socket and a deadline come in, a connection goes out once the agent answers.
//! The agent gets none of our descriptors, streams or tokens: Terraform waits for whoever holds its pipes.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use credmint_vocabulary::Deadline;

use crate::environment;
use crate::socket::{ConnectError, Connection, connect};

/// Says why there is no agent although one was to be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// There is no executable: install it.
    #[error("credmint-agent is neither beside this program nor in PATH")]
    NoProgram,
    /// It cannot be run.
    #[error("{program} cannot be started: {why}")]
    NotRunnable {
        /// Which executable.
        program: PathBuf,
        /// What the system said.
        why: io::Error,
    },
    /// It ended at once; it has recorded why.
    #[error("the agent ended as soon as it was started ({0})")]
    Ended(ExitStatus),
    /// It runs and does not listen in time.
    #[error("the agent was started and does not answer")]
    TooSlow,
    /// Something else is wrong with the socket.
    #[error(transparent)]
    Connect(#[from] ConnectError),
}

/// Starts an agent in a session of its own (it calls [`crate::detach`]) and waits until its socket answers.
///
/// # Errors
/// [`StartError`]; an agent that lost the race against another counts as started.
pub fn start_detached(program: &Path, socket: &Path, deadline: Deadline) -> Result<Connection, StartError> {
    let mut command = agent_command(program);
    command.env(environment::CREDMINT_SOCKET, socket).stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = spawn(command, program)?;
    let patience = deadline.at_most(Instant::now(), PATIENCE);
    let mut step = Duration::from_millis(1);
    loop {
        match connect(socket, deadline) {
            Ok(connection) => return Ok(connection),
            Err(ConnectError::Absent | ConnectError::Refused) => {}
            Err(error) => return Err(error.into()),
        }
        if let Some(status) = child.try_wait().ok().flatten().filter(|status| !status.success()) {
            return Err(StartError::Ended(status));
        }
        if patience.remaining(Instant::now()).is_zero() {
            return Err(StartError::TooSlow);
        }
        thread::sleep(step);
        step = (step * 2).min(Duration::from_millis(20));
    }
}

/// Starts an agent for one request, as a child whose standard streams are the connection.
///
/// # Errors
/// [`StartError`], when it cannot be run.
pub fn start_once(program: &Path, deadline: Deadline) -> Result<Connection, StartError> {
    let mut command = agent_command(program);
    command.arg("--once").stdin(Stdio::piped()).stdout(Stdio::piped());
    let child = spawn(command, program)?;
    Connection::over_child(child, deadline).map_err(|error| StartError::Connect(error.into()))
}

#[expect(clippy::disallowed_methods, reason = "the agent is started here")]
fn agent_command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().stderr(Stdio::null());
    for name in environment::FOR_THE_AGENT {
        if let Some(value) = environment::raw(name) {
            command.env(name, value);
        }
    }
    hide_window(&mut command);
    command
}

fn spawn(mut command: Command, program: &Path) -> Result<Child, StartError> {
    leave_descriptors_behind();
    command.spawn().map_err(|why| match why.kind() {
        io::ErrorKind::NotFound => StartError::NoProgram,
        _ => StartError::NotRunnable { program: program.to_owned(), why },
    })
}

/// Marks what the caller's shell left open (`flock 9`, `exec 3>log`) as close-on-exec; our own is so already.
#[cfg(unix)]
pub(crate) fn leave_descriptors_behind() {
    close_fds::set_fds_cloexec(3, &[]);
}

/// What is started inherits every handle with that mark: Terraform would wait for the end of its pipes.
#[cfg(windows)]
pub(crate) fn leave_descriptors_behind() {
    credmint_windows_handles::keep_standard_streams();
}

#[cfg(unix)]
fn hide_window(_command: &mut Command) {}

#[cfg(windows)]
fn hide_window(command: &mut Command) {
    use std::os::windows::process::CommandExt;
    const DETACHED_PROCESS: u32 = 0x8;
    const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
    command.creation_flags(DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP);
}

/// How long an agent may take until it listens.
const PATIENCE: Duration = Duration::from_secs(3);
