//! Where our other executables are, and the tools that people have.
//! A name comes in, a path goes out.
//! Starts nothing.

use std::path::{Path, PathBuf};

use credmint_local_machine::{environment, find_agent};
use credmint_vocabulary::{Failure, FailureKind};

/// Name of the helper that most people configure.
pub(crate) const HELPER: &str = "terraform-credentials-credmint";
/// Name of the agent.
pub(crate) const AGENT: &str = "credmint-agent";

/// Finds one of our executables beside this one, symbolic links resolved.
pub(crate) fn beside(name: &str) -> Result<PathBuf, Failure> {
    let own = std::env::current_exe().and_then(|path| path.canonicalize());
    let own = own.map_err(|error| Failure::new(FailureKind::Internal, format!("this executable: {error}")))?;
    let path = own.with_file_name(file_name(name));
    if path.is_file() {
        return Ok(path);
    }
    let place = own.parent().unwrap_or(&own);
    let profile = if place.ends_with("release") { "--release " } else { "" };
    Err(Failure::new(FailureKind::Settings, format!("{name} is not beside credmint in {}", place.display())).hint(
        format!("install all executables of credmint together; from source: cargo build {profile}--bins -p {name}"),
    ))
}

/// Finds the agent as the helpers do.
pub(crate) fn agent() -> Result<PathBuf, Failure> {
    find_agent().map_or_else(|| beside(AGENT), Ok)
}

/// Finds a program in the absolute directories of `PATH`.
pub(crate) fn in_path(name: &str) -> Option<PathBuf> {
    let path = environment::read(environment::PATH)?;
    let mut candidates = std::env::split_paths(&path).filter(|directory| directory.is_absolute());
    candidates.find_map(|directory| Some(directory.join(file_name(name))).filter(|path| is_program(path)))
}

/// Gives the name of an executable file on this system.
pub(crate) fn file_name(name: &str) -> String {
    format!("{name}{}", std::env::consts::EXE_SUFFIX)
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(windows)]
fn is_program(path: &Path) -> bool {
    path.is_file()
}
