//! The helper in Terraform's plug-in directory.
//! The plug-in directory and the helper beside our executable come in, the change that is needed goes out.
//! Looks, and changes nothing. `protocol-spec/helper-protocol.md` §1: what else may not lie there.

use std::fs;
use std::path::{Path, PathBuf};

use credmint_vocabulary::{Failure, FailureKind};

use super::change::Change;
use crate::programs::{self, AGENT, HELPER, file_name};

/// Finds out what is needed so that `program` is run, from one of the directories that have `plugins` in them.
pub(crate) fn install(directories: &[PathBuf], program: &Path) -> Result<Option<Change>, Failure> {
    directories.iter().try_for_each(|directory| refuse_shadows(directory))?;
    if directories.iter().any(|directory| is_the_same(&place(directory, HELPER), program)) {
        return Ok(None);
    }
    let Some(at) = directories.first().map(|directory| place(directory, HELPER)) else { return Ok(None) };
    match fs::symlink_metadata(&at) {
        Ok(found) if !found.is_symlink() && cfg!(unix) => Err(other_file(&at)),
        _ => Ok(Some(Change::Install { at, program: program.to_owned() })),
    }
}

/// Finds out what is needed so that a helper which is a copy, as on Windows, has the agent beside it.
pub(crate) fn install_agent(directories: &[PathBuf]) -> Result<Option<Change>, Failure> {
    let Some(directory) = directories.first().filter(|_| cfg!(windows)) else { return Ok(None) };
    let (at, program) = (place(directory, AGENT), programs::agent()?);
    Ok((!is_the_same(&at, &program)).then_some(Change::Install { at, program }))
}

/// Finds out what has to go; a file that is no link to a helper of ours stays.
pub(crate) fn uninstall(directories: &[PathBuf]) -> Vec<Change> {
    let names = if cfg!(windows) { &[HELPER, AGENT][..] } else { &[HELPER] };
    let places = directories.iter().flat_map(|directory| names.iter().map(|name| place(directory, name)));
    places.filter(|at| is_ours(at)).map(|at| Change::Uninstall { at }).collect()
}

fn is_ours(at: &Path) -> bool {
    match fs::read_link(at) {
        Ok(target) => target.file_stem().is_some_and(|name| name == HELPER),
        Err(_) => cfg!(windows) && at.is_file(),
    }
}

fn place(terraform_directory: &Path, name: &str) -> PathBuf {
    terraform_directory.join("plugins").join(file_name(name))
}

#[cfg(unix)]
fn is_the_same(at: &Path, program: &Path) -> bool {
    let resolved = |path: &Path| fs::canonicalize(path).ok();
    resolved(at).is_some_and(|at| Some(at) == resolved(program))
}

/// A program with everything that a debugger wants; far above what is installed.
#[cfg(windows)]
const LARGEST: usize = 256 << 20;

#[cfg(windows)]
fn is_the_same(at: &Path, program: &Path) -> bool {
    let bytes = |path| credmint_local_machine::files::read_bounded(path, LARGEST).ok().flatten();
    bytes(at).is_some_and(|at| Some(at) == bytes(program))
}

/// Terraform takes the highest version of a name, from either directory; a broken version makes it panic.
fn refuse_shadows(terraform_directory: &Path) -> Result<(), Failure> {
    let plugins = terraform_directory.join("plugins");
    let below = fs::read_dir(&plugins).into_iter().flatten().flatten().map(|entry| entry.path());
    let directories = std::iter::once(plugins.clone()).chain(below.filter(|path| path.is_dir()));
    match directories.filter_map(|directory| shadow_in(&directory)).next() {
        None => Ok(()),
        Some(path) => Err(Failure::new(
            FailureKind::Settings,
            format!("{} would be run in place of {HELPER}, or stop Terraform with a panic", path.display()),
        )
        .hint(format!("rm {}", path.display()))),
    }
}

fn shadow_in(directory: &Path) -> Option<PathBuf> {
    let shadows = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        name.strip_prefix(HELPER).is_some_and(|rest| rest.starts_with("_v"))
    };
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).find(shadows)
}

fn other_file(at: &Path) -> Failure {
    let at = at.display();
    Failure::new(FailureKind::Settings, format!("{at} is there already, and is no link to this credmint"))
        .hint(format!("if it is not wanted, move it away and run this again: mv {at} {at}.old"))
}
