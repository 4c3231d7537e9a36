//! A private directory for the files of one run of `credmint exec`, beside the agent's socket.
//! Made empty and for us alone, held by whoever uses it, and removed with what is in it.
//! Removes nothing but directories that were made here, and of those that were left behind only what nobody holds.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::time::Duration;

use crate::directory::{DirectoryError, make_private};
use crate::places::{self, PlaceError};

/// Says why there is no directory for a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunDirectoryError {
    /// There is no private place for it.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// It cannot be made.
    #[error("the run's directory cannot be made: {0}")]
    Unusable(#[from] io::Error),
}

/// A directory for one run.
#[derive(Debug)]
pub struct RunDirectory(PathBuf);

impl RunDirectory {
    /// Makes one that was not there before.
    ///
    /// # Errors
    /// [`RunDirectoryError`], when there is no place for it.
    pub fn make() -> Result<Self, RunDirectoryError> {
        let base = places::runs_directory()?;
        for number in 0..MOST {
            let path = base.join(format!("{PREFIX}{}-{number}", std::process::id()));
            if fs::symlink_metadata(&path).is_ok() {
                continue;
            }
            return match make_private(&path) {
                Ok(()) => Ok(Self(path)),
                Err(DirectoryError::Unusable(error)) => Err(error.into()),
                Err(DirectoryError::NotOurs(why)) => Err(io::Error::other(why).into()),
            };
        }
        Err(io::Error::other("there are too many").into())
    }

    /// Gives its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Removes it, with what is in it.
    pub fn remove(self) {
        remove(&self.0);
    }

    /// Takes over one that the agent made, and holds it: as long as we live no agent sweeps it away.
    #[must_use]
    pub fn hold(path: PathBuf) -> (Self, HeldRunDirectory) {
        #[cfg(unix)]
        let held = HeldRunDirectory { _lock: crate::directory::lock(&path, Duration::ZERO).ok() };
        #[cfg(windows)]
        let held = HeldRunDirectory {};
        (Self(path), held)
    }

    /// Removes what runs left behind whose agent and whose `credmint` were both killed.
    pub fn sweep() {
        let Ok(base) = places::runs_directory() else { return };
        let entries = fs::read_dir(base).into_iter().flatten().flatten();
        let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
        ours.map(|entry| entry.path()).filter(|path| is_left_behind(path)).for_each(|path| remove(&path));
    }
}

/// Keeps a run's directory from being swept away, until dropped.
#[derive(Debug)]
pub struct HeldRunDirectory {
    #[cfg(unix)]
    _lock: Option<crate::directory::Lock>,
}

fn remove(path: &Path) {
    // Somebody else may have done so.
    fs::remove_dir_all(path).unwrap_or_default();
}

#[cfg(unix)]
fn is_left_behind(path: &Path) -> bool {
    crate::directory::lock(path, Duration::ZERO).is_ok()
}

#[cfg(windows)]
fn is_left_behind(_path: &Path) -> bool {
    // Nothing says whether somebody still uses it; what is open cannot be removed there.
    true
}

const PREFIX: &str = "run-";
const MOST: u32 = 10_000;

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_somebody_holds_is_not_left_behind() {
        let home = crate::testing::EmptyDirectory::new();
        let path = home.path().join("run-1-0");
        make_private(&path).expect("made");
        let (directory, held) = RunDirectory::hold(path.clone());
        assert!(!is_left_behind(&path));
        drop(held);
        assert!(is_left_behind(&path));
        directory.remove();
        assert!(!path.exists());
    }
}
