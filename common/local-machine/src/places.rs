//! Where things are: the agent's socket and the state directory.
//! The environment comes in, checked paths go out; the socket's directory is made and proved to be ours alone.
//! Never falls back to a place that others can write.

#[cfg(unix)]
use std::path::Path;
use std::path::PathBuf;

#[cfg(unix)]
use crate::directory::{DirectoryError, make_private};
use crate::environment;

/// Says why there is no place for the agent's socket.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// The directory is not private: name another by `CREDMINT_SOCKET`, or repair it.
    #[error("the socket's directory {directory} {why}")]
    NotOurs {
        /// Which directory.
        directory: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The directory cannot be made.
    #[error("the socket's directory {directory} cannot be used: {why}")]
    Unusable {
        /// Which directory.
        directory: PathBuf,
        /// What the system said.
        why: std::io::Error,
    },
    /// `CREDMINT_SOCKET` is no absolute path of a file.
    #[error("CREDMINT_SOCKET is no absolute path of a file")]
    NoFile,
}

impl PlaceError {
    /// Gives the next thing to do.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::NotOurs { directory, .. } => {
                format!(
                    "set CREDMINT_SOCKET to a path in a directory of yours with mode 0700 (not {})",
                    directory.display()
                )
            }
            Self::Unusable { .. } => "set CREDMINT_SOCKET or XDG_RUNTIME_DIR to a directory you can write".to_owned(),
            Self::NoFile => "set CREDMINT_SOCKET to an absolute path, or unset it".to_owned(),
        }
    }
}

/// Gives the path of the agent's socket, its directory made and checked.
///
/// `$CREDMINT_SOCKET`, else `credmint/agent.sock` in `$XDG_RUNTIME_DIR` or `/run/user/UID` if those are ours, else
/// `credmint-UID/agent.sock` in `$TMPDIR` or `/tmp`.
///
/// # Errors
/// [`PlaceError`], when the directory cannot be made or is not ours alone.
#[cfg(unix)]
pub fn socket_path() -> Result<PathBuf, PlaceError> {
    let path = match environment::raw(environment::CREDMINT_SOCKET).filter(|value| !value.is_empty()) {
        Some(chosen) => PathBuf::from(chosen),
        None => usual_directory().join("agent.sock"),
    };
    check(&path)?;
    Ok(path)
}

/// Gives the name of the agent's pipe.
///
/// # Errors
/// None on Windows.
#[cfg(windows)]
pub fn socket_path() -> Result<PathBuf, PlaceError> {
    let chosen = environment::read(environment::CREDMINT_SOCKET);
    let person = environment::read(environment::USERNAME).unwrap_or_default();
    Ok(PathBuf::from(chosen.unwrap_or_else(|| format!(r"\\.\pipe\credmint-{person}"))))
}

/// Gives the directory in which runs have theirs: that of the socket.
///
/// # Errors
/// As [`socket_path`].
#[cfg(unix)]
pub(crate) fn runs_directory() -> Result<PathBuf, PlaceError> {
    let socket = socket_path()?;
    socket.parent().map(Path::to_owned).ok_or(PlaceError::NoFile)
}

/// Gives the directory in which runs have theirs: a pipe has none.
#[cfg(windows)]
pub(crate) fn runs_directory() -> Result<PathBuf, PlaceError> {
    state_directory().map(|state| state.join("runs")).ok_or(PlaceError::NoFile)
}

/// Gives the directory where the last failures are kept; it may not exist yet.
#[must_use]
pub fn state_directory() -> Option<PathBuf> {
    if cfg!(windows) {
        return environment::absolute_path(environment::LOCALAPPDATA).map(|base| base.join("credmint"));
    }
    let base = environment::absolute_path(environment::XDG_STATE_HOME);
    base.or_else(|| environment::home().map(|home| home.join(".local/state"))).map(|base| base.join("credmint"))
}

/// Makes the directory of a socket, and proves that it is ours alone.
#[cfg(unix)]
fn check(path: &Path) -> Result<(), PlaceError> {
    let directory = path.parent().filter(|_| path.is_absolute() && path.file_name().is_some());
    let directory = directory.ok_or(PlaceError::NoFile)?;
    make_private(directory).map_err(|error| place_error(directory, error))
}

/// Chooses the directory; under `sudo` the variable still names the other user's, which is not ours.
#[cfg(unix)]
fn usual_directory() -> PathBuf {
    let uid = crate::socket::own_uid();
    let runtime = environment::absolute_path(environment::XDG_RUNTIME_DIR).filter(|path| is_our_directory(path, uid));
    let system = || Some(PathBuf::from(format!("/run/user/{uid}"))).filter(|path| is_our_directory(path, uid));
    if let Some(runtime) = runtime.or_else(system) {
        return runtime.join("credmint");
    }
    let temporary = environment::absolute_path(environment::TMPDIR).filter(|path| path.is_dir());
    temporary.unwrap_or_else(|| PathBuf::from("/tmp")).join(format!("credmint-{uid}"))
}

#[cfg(unix)]
fn is_our_directory(path: &Path, uid: u32) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).is_ok_and(|found| found.is_dir() && found.uid() == uid)
}

#[cfg(unix)]
fn place_error(directory: &Path, error: DirectoryError) -> PlaceError {
    let directory = directory.to_owned();
    match error {
        DirectoryError::NotOurs(why) => PlaceError::NotOurs { directory, why },
        DirectoryError::Unusable(why) => PlaceError::Unusable { directory, why },
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;
    use crate::testing::EmptyDirectory;

    fn why(path: &Path) -> Option<&'static str> {
        match check(path) {
            Err(PlaceError::NotOurs { why, .. }) => Some(why),
            _ => None,
        }
    }

    #[test]
    fn the_directory_is_made_private() {
        let home = EmptyDirectory::new();
        let directory = home.path().join("a/b");
        check(&directory.join("agent.sock")).expect("a private place");
        assert_eq!(std::fs::metadata(&directory).expect("made").permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_directory_that_others_may_enter_is_refused() {
        let home = EmptyDirectory::new();
        for mode in [0o770, 0o701, 0o777, 0o1777] {
            std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(mode)).expect("changes");
            assert_eq!(why(&home.path().join("agent.sock")), Some("is open to other users"), "{mode:o}");
        }
    }

    #[test]
    fn a_symbolic_link_and_a_file_are_refused() {
        let home = EmptyDirectory::new();
        std::fs::create_dir(home.path().join("real")).expect("makes");
        symlink(home.path().join("real"), home.path().join("link")).expect("links");
        assert_eq!(why(&home.path().join("link/agent.sock")), Some("is no directory"));
        crate::files::write_private(&home.path().join("file"), b"").expect("writes");
        assert!(check(&home.path().join("file/agent.sock")).is_err());
    }

    #[test]
    fn a_directory_of_another_user_is_refused() {
        let home = EmptyDirectory::new();
        let directory = home.path().join("theirs");
        std::fs::create_dir(&directory).expect("makes");
        // Only root can give a directory away; without it `/` stands in, which is root's.
        let given = chown(&directory, Some(65_534), None).is_ok();
        let path = if given { directory.join("agent.sock") } else { PathBuf::from("/agent.sock") };
        assert_eq!(why(&path), Some("belongs to another user"));
    }

    #[test]
    fn a_path_that_is_not_absolute_is_refused() {
        for path in ["agent.sock", "./agent.sock", "/", ""] {
            assert!(matches!(check(Path::new(path)), Err(PlaceError::NoFile)), "{path}");
        }
    }
}
