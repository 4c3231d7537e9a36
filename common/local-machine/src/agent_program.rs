//! Where the agent's executable is: beside our own, which may be reached through a symbolic link, else in `PATH`.
//! Our own place comes in, a path goes out.
//! Starts nothing.

use std::env;
use std::path::{Path, PathBuf};

use crate::environment;

/// Finds the agent's executable: the one that the environment names, else beside our own, else in `PATH`.
#[must_use]
pub fn find() -> Option<PathBuf> {
    if let Some(chosen) = environment::absolute_path(environment::CREDMINT_AGENT_PROGRAM) {
        return Some(chosen);
    }
    let ours = env::current_exe().ok();
    let resolved = ours.as_deref().and_then(|path| path.canonicalize().ok());
    [resolved, ours].into_iter().flatten().filter_map(|path| beside(&path)).next().or_else(in_path)
}

fn beside(program: &Path) -> Option<PathBuf> {
    Some(program.with_file_name(NAME)).filter(|path| path.is_file())
}

/// Relative directories of `PATH` are skipped: the working directory is Terraform's, with strangers' files in it.
fn in_path() -> Option<PathBuf> {
    let path = environment::raw(environment::PATH)?;
    let mut candidates = env::split_paths(&path).filter(|directory| directory.is_absolute());
    candidates.find_map(|directory| Some(directory.join(NAME)).filter(|path| path.is_file()))
}

const NAME: &str = if cfg!(windows) { "credmint-agent.exe" } else { "credmint-agent" };
