//! `~` at the beginning of a path of the settings: the home of whoever reads it.
//! A path comes in, one that the system knows goes out, or an error that says that there is no home.
//! The one place of the house that does so; looks at no file. `protocol-spec/settings.md`, Paths.

use std::io;
use std::path::{Path, PathBuf};

use crate::environment;

/// Puts the home in place of a `~` that a path begins with.
///
/// # Errors
/// There is no home to put there.
pub fn below_home(path: &Path) -> io::Result<PathBuf> {
    below(path, environment::home())
}

fn below(path: &Path, home: Option<PathBuf>) -> io::Result<PathBuf> {
    match (path.strip_prefix("~"), home) {
        (Err(_), _) => Ok(path.to_owned()),
        (Ok(rest), Some(home)) => Ok(home.join(rest)),
        (Ok(_), None) => Err(io::Error::new(io::ErrorKind::NotFound, "there is no home directory")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_below_the_home_is_found_there_and_nowhere_without_one() {
        let found = |path: &str, home: Option<&str>| below(Path::new(path), home.map(PathBuf::from)).ok();
        for (path, is) in [
            ("~/corp-ca.pem", "/home/ada/corp-ca.pem"),
            ("~", "/home/ada"),
            ("/etc/~/ca.pem", "/etc/~/ca.pem"),
            // Another user's home is not looked up; `~bob` is a name like every other.
            ("~bob/ca.pem", "~bob/ca.pem"),
        ] {
            assert_eq!(found(path, Some("/home/ada")), Some(PathBuf::from(is)), "{path}");
        }
        assert_eq!(found("~/corp-ca.pem", None), None);
        assert_eq!(found("/etc/ca.pem", None), Some(PathBuf::from("/etc/ca.pem")));
    }
}
