//! Lines at the end of a file that others may move away: a log.
//! A path and a line come in; the file is made if it is missing, readable by its owner only.
//! Opens the file anew for each line, so that whoever rotates it need tell nobody; never waits for a pipe or a device.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use crate::files::open_with;
use crate::home::below_home;

/// Appends one line, whole or not at all as far as the system can.
///
/// # Errors
/// What the system says; the line is lost then.
pub fn append_line(path: &Path, line: &str) -> io::Result<()> {
    let mut file = open(&below_home(path)?)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("is no regular file"));
    }
    // One write: lines of several writers do not mix.
    file.write_all(format!("{line}\n").as_bytes())
}

#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    open_with(OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags), path)
}

#[cfg(windows)]
fn open(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().append(true).create(true), path)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::testing::EmptyDirectory;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn lines_are_added_for_the_owner_only_and_to_a_new_file_once_the_old_one_is_moved_away() {
        let home = EmptyDirectory::new();
        let (path, moved) = (home.path().join("audit.log"), home.path().join("audit.log.1"));
        append_line(&path, "one").and_then(|()| append_line(&path, "two")).expect("writes");
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
        fs::rename(&path, &moved).expect("rotates");
        append_line(&path, "three").expect("writes");
        let read = |path| String::from_utf8(crate::files::read_bounded(path, 100).expect("reads").expect("there"));
        assert_eq!((read(&moved).as_deref(), read(&path).as_deref()), (Ok("one\ntwo\n"), Ok("three\n")));
    }

    #[test]
    fn what_is_no_file_is_refused_and_not_waited_for() {
        let home = EmptyDirectory::new();
        assert!(append_line(home.path(), "x").is_err());
        assert!(append_line(&home.path().join("missing/audit.log"), "x").is_err());
        let pipe = home.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("makes");
        assert!(append_line(&pipe, "x").is_err());
    }
}
