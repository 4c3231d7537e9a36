//! Files, read with a bound and written for our eyes only.
//! A path comes in, bytes go out, or the other way round; a missing file is `None`, not an error.
//! Never waits: what is no regular file (a pipe, a device, a directory) is refused.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use crate::directory::make_private;

/// Says why a file that is there cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Longer than its reader can use.
    #[error("is longer than {0} bytes")]
    TooLong(usize),
    /// A directory, a pipe or a device.
    #[error("is no regular file")]
    NotAFile,
    /// What the system says.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// Reads at most `limit` bytes into a buffer that never grows; `None` when there is no such file.
///
/// # Errors
/// [`ReadError`], when it is there and cannot be read whole.
pub fn read_bounded(path: &Path, limit: usize) -> Result<Option<Vec<u8>>, ReadError> {
    let file = match open(path) {
        Err(error) if is_absence(&error) => return Ok(None),
        outcome => outcome?,
    };
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(ReadError::NotAFile);
    }
    // One byte more than it may have shows that it grew; files under /proc and /sys say zero.
    let expected = usize::try_from(found.len()).unwrap_or(usize::MAX);
    if expected > limit {
        return Err(ReadError::TooLong(limit));
    }
    let mut bytes = Vec::with_capacity(if expected == 0 { limit } else { expected } + 1);
    file.take(bytes.capacity() as u64).read_to_end(&mut bytes)?;
    if bytes.len() > limit { Err(ReadError::TooLong(limit)) } else { Ok(Some(bytes)) }
}

/// Replaces a file at once and whole, readable by its owner only; its directory is made private if it is missing.
///
/// # Errors
/// What the system says; then the old file is still there.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    make_private(directory).map_err(|error| io::Error::other(error.to_string()))?;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let draft = directory.join(format!(".{}.{}", name.to_string_lossy(), std::process::id()));
    let written = create_private(&draft).and_then(|mut file| file.write_all(bytes));
    let outcome = written.and_then(|()| fs::rename(&draft, path));
    if outcome.is_err() {
        fs::remove_file(&draft).unwrap_or_default();
    }
    outcome
}

/// Writes a file at once and whole that everybody may read as far as the umask lets them: for what is public.
///
/// # Errors
/// What the system says; then the old file is still there.
pub fn write_public(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let draft = path.with_file_name(format!(".{}.{}", name.to_string_lossy(), std::process::id()));
    let created = open_with(OpenOptions::new().write(true).create_new(true), &draft);
    let written = created.and_then(|mut file| file.write_all(bytes)).and_then(|()| fs::rename(&draft, path));
    written.inspect_err(|_| fs::remove_file(&draft).unwrap_or_default())
}

#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

#[cfg(windows)]
#[expect(clippy::disallowed_methods, reason = "files are read here")]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

#[cfg(unix)]
fn create_private(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    open_with(OpenOptions::new().write(true).create(true).truncate(true).mode(0o600), path)
}

#[cfg(windows)]
fn create_private(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().write(true).create(true).truncate(true), path)
}

#[expect(clippy::disallowed_methods, reason = "files are written here")]
pub(crate) fn open_with(options: &OpenOptions, path: &Path) -> io::Result<File> {
    options.open(path)
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::EmptyDirectory;

    #[test]
    fn a_missing_file_is_none_and_a_directory_is_an_error() {
        let home = EmptyDirectory::new();
        assert!(read_bounded(&home.path().join("none"), 10).expect("none").is_none());
        assert!(matches!(read_bounded(home.path(), 10), Err(ReadError::NotAFile)));
    }

    #[test]
    fn files_are_read_up_to_their_bound() {
        let home = EmptyDirectory::new();
        let path = home.path().join("file");
        write_private(&path, b"0123456789").expect("writes");
        assert_eq!(read_bounded(&path, 10).expect("reads").as_deref(), Some(&b"0123456789"[..]));
        assert!(matches!(read_bounded(&path, 9), Err(ReadError::TooLong(9))));
    }

    #[cfg(unix)]
    #[test]
    fn written_files_are_private_and_leave_no_draft() {
        use std::os::unix::fs::PermissionsExt;
        let home = EmptyDirectory::new();
        let path = home.path().join("state/file");
        write_private(&path, b"a").expect("writes");
        write_private(&path, b"b").expect("writes again");
        let modes = [&path, &home.path().join("state")].map(|p| fs::metadata(p).expect("there").permissions().mode());
        assert_eq!(modes.map(|mode| mode & 0o777), [0o600, 0o700]);
        assert_eq!(fs::read_dir(home.path().join("state")).expect("lists").count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_refused_and_not_waited_for() {
        let home = EmptyDirectory::new();
        let path = home.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("makes");
        assert!(matches!(read_bounded(&path, 10), Err(ReadError::NotAFile)));
    }
}
