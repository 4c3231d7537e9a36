//! The executable that this process was started from, and whether another has taken its place since.
//! The file as it was at the start is remembered; whether it is still the same goes out. It may be started anew.
//! Reads no file: size, time and number of it are enough.

use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::SystemTime;

use crate::environment;

/// Holds what the file was at the start; nothing where the system does not say.
#[derive(Debug, Default)]
pub struct OwnProgram(Option<(PathBuf, Mark)>);

/// What changes when a file is replaced.
#[derive(Debug, PartialEq, Eq)]
struct Mark {
    size: u64,
    changed: Option<SystemTime>,
    number: u64,
}

impl OwnProgram {
    /// Remembers the file as it is now.
    #[must_use]
    pub fn now() -> Self {
        Self(std::env::current_exe().ok().and_then(|path| Some((path.clone(), Mark::of(&path)?))))
    }

    /// Tells whether another file is there now. One that is gone was not replaced: its successor may be on its way.
    #[must_use]
    pub fn is_replaced(&self) -> bool {
        self.0.as_ref().is_some_and(|(path, mark)| Mark::of(path).is_some_and(|now| now != *mark))
    }
}

/// Starts this program anew, with the environment as it was before the run of `credmint exec` that we are in; `None` outside of one.
/// A process cannot safely change an environment that libraries read (trust anchors, proxies), and those of a run end with it.
#[must_use]
pub fn anew_as_before_exec() -> Option<io::Result<ExitCode>> {
    environment::raw(environment::CREDMINT_BEFORE_EXEC)?;
    Some(command().and_then(|mut command| {
        environment::as_before(&mut command);
        become_it(command)
    }))
}

#[expect(clippy::disallowed_methods, reason = "we start ourselves anew, from where programs are started")]
fn command() -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(std::env::args_os().skip(1));
    Ok(command)
}

/// Keeps number, parent and descriptors: whoever waits for us waits for it.
#[cfg(unix)]
fn become_it(mut command: Command) -> io::Result<ExitCode> {
    Err(std::os::unix::process::CommandExt::exec(&mut command))
}

/// Waits for it, and ends as it does.
#[cfg(not(unix))]
fn become_it(mut command: Command) -> io::Result<ExitCode> {
    let status = command.status()?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

impl Mark {
    fn of(path: &std::path::Path) -> Option<Self> {
        let file = path.metadata().ok()?;
        Some(Self { size: file.len(), changed: file.modified().ok(), number: number(&file) })
    }
}

#[cfg(unix)]
fn number(file: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(file)
}

#[cfg(not(unix))]
const fn number(_file: &std::fs::Metadata) -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test needs a file")]
    fn another_file_in_its_place_is_noticed_and_a_missing_one_is_not() {
        let path = std::env::temp_dir().join(format!("credmint-own-program-{}", std::process::id()));
        std::fs::write(&path, "old").unwrap();
        let own = OwnProgram(Some((path.clone(), Mark::of(&path).unwrap())));
        assert!(!own.is_replaced());
        std::fs::remove_file(&path).unwrap();
        assert!(!own.is_replaced());
        std::fs::write(&path, "newer").unwrap();
        assert!(own.is_replaced());
        std::fs::remove_file(&path).unwrap();
        assert!(!OwnProgram::now().is_replaced());
    }
}
