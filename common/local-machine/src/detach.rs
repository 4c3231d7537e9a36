//! What the agent does first when it is to outlive its caller.
//! Nothing comes in; afterwards the process has a session of its own and stands at the root of the file system.
//! Its streams are on the null device and nothing of the caller's is open: [`crate::start`] saw to that.

use std::io;

/// Leaves the caller's session, so that neither Ctrl-C nor the end of the terminal reaches the agent.
///
/// # Errors
/// What the system says; a process that leads its group already (started from a shell) stays in its session.
pub fn detach() -> io::Result<()> {
    leave_working_directory()?;
    match rustix::process::setsid() {
        Ok(_) | Err(rustix::io::Errno::PERM) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Leaves the caller's working directory: what a command or `PATH` names relatively would be found among a stranger's files.
///
/// # Errors
/// What the system says.
pub fn leave_working_directory() -> io::Result<()> {
    Ok(rustix::process::chdir("/")?)
}
