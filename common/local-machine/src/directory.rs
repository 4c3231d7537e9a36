//! A directory that only we can reach, and a lock on it.
//! A path comes in, the same path goes out once the directory exists and is ours alone.
//! Changes no directory that was there before: one that others can write is refused, not repaired.

use std::fs::{self, DirBuilder};
use std::io;
use std::path::Path;

/// Says what is wrong with a directory that should be private.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum DirectoryError {
    /// It cannot be made or looked at.
    #[error("{0}")]
    Unusable(#[from] io::Error),
    /// It is there and not private.
    #[error("{0}")]
    NotOurs(&'static str),
}

/// Makes the directory with mode 0700 if it is missing, and checks that it is a directory of ours with that mode.
pub(crate) fn make_private(path: &Path) -> Result<(), DirectoryError> {
    match look(path) {
        Err(DirectoryError::Unusable(error)) if error.kind() == io::ErrorKind::NotFound => {
            private_builder().create(path)?;
            look(path)
        }
        outcome => outcome,
    }
}

#[cfg(unix)]
fn private_builder() -> DirBuilder {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder
}

#[cfg(windows)]
fn private_builder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    builder
}

#[cfg(unix)]
fn look(path: &Path) -> Result<(), DirectoryError> {
    use std::os::unix::fs::MetadataExt;
    let found = fs::symlink_metadata(path)?;
    if !found.is_dir() {
        return Err(DirectoryError::NotOurs("is no directory"));
    }
    if found.uid() != crate::socket::own_uid() {
        return Err(DirectoryError::NotOurs("belongs to another user"));
    }
    if found.mode() & 0o077 != 0 {
        return Err(DirectoryError::NotOurs("is open to other users"));
    }
    Ok(())
}

#[cfg(windows)]
fn look(path: &Path) -> Result<(), DirectoryError> {
    let found = fs::symlink_metadata(path)?;
    if found.is_dir() { Ok(()) } else { Err(DirectoryError::NotOurs("is no directory")) }
}

/// Holds a directory's lock until dropped.
#[cfg(unix)]
#[derive(Debug)]
pub(crate) struct Lock {
    _directory: std::os::fd::OwnedFd,
}

/// Locks a directory against other processes of ours; waits at most `patience`.
#[cfg(unix)]
pub(crate) fn lock(path: &Path, patience: std::time::Duration) -> io::Result<Lock> {
    use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    let directory = open(path, flags, Mode::empty())?;
    let end = std::time::Instant::now() + patience;
    loop {
        match flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Lock { _directory: directory }),
            Err(rustix::io::Errno::WOULDBLOCK) if std::time::Instant::now() < end => {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            Err(error) => return Err(error.into()),
        }
    }
}
