//! The program that a client starts, as it stands in that client's configuration.
//! Its name comes in, an absolute path of plain words goes out.
//! Looks for files, and starts nothing. Some clients split the line at blanks, some give it to a shell.

use std::path::{Path, PathBuf};

use credmint_vocabulary::{Failure, FailureKind};

use super::Wanted;
use crate::programs;

/// Finds the program: in `PATH`, if that leads to the one beside this executable, for such a path outlives an update.
pub(super) fn path(name: &str) -> Result<PathBuf, Failure> {
    let beside = programs::beside(name)?;
    let same = |path: &PathBuf| path.canonicalize().ok() == beside.canonicalize().ok();
    Ok(programs::in_path(name).filter(same).unwrap_or(beside))
}

/// Gives the same as a text that no client takes apart.
pub(super) fn plain_path(name: &str) -> Result<String, Failure> {
    plain(&path(name)?)
}

/// Gives a path as a text that no client takes apart.
pub(super) fn plain(path: &Path) -> Result<String, Failure> {
    path.to_str().filter(|text| is_plain(text)).map(str::to_owned).ok_or_else(|| {
        let what =
            format!("{} cannot stand there: its client splits the line at blanks, or reads quotes", path.display());
        Failure::new(FailureKind::Settings, what)
            .hint("install credmint where the path has letters, digits and the signs -_./ alone")
    })
}

/// Gives the name of a provider, where it is one word of a command.
pub(super) fn word(name: &str) -> Result<&str, Failure> {
    let is_word = is_plain(name) && !name.starts_with('-');
    is_word.then_some(name).ok_or_else(|| {
        let what = format!(
            "the name provider/{name} cannot stand there: its client splits the line at blanks, or reads quotes"
        );
        Failure::new(FailureKind::Settings, what).hint("name the table with letters, digits and the signs -_. alone")
    })
}

/// Refuses a provider without hosts, for a client that knows nothing else.
pub(super) fn needs_hosts(wanted: &Wanted<'_>, client: &str) -> Result<(), Failure> {
    if !wanted.hosts.is_empty() || wanted.remove {
        return Ok(());
    }
    let what = format!("provider/{} has no hosts, and {client} knows nothing else", wanted.name);
    Err(Failure::new(FailureKind::Settings, what)
        .hint(format!("add hosts = [\"gitlab.corp.example\"] to [provider.{}], and run this again", wanted.name)))
}

/// Tells what neither a shell nor a reader of words takes apart.
fn is_plain(text: &str) -> bool {
    let sign = |byte: u8| b"-_./@:+,=%".contains(&byte) || (cfg!(windows) && b"\\~".contains(&byte));
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || sign(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_somebody_would_split_is_refused() {
        assert_eq!(plain(Path::new("/usr/local/bin/credmint-aws")).as_deref(), Ok("/usr/local/bin/credmint-aws"));
        for path in ["/home/my tools/credmint-aws", "/a'b", "/a\"b", "/a$b", "/a;b", "/ä", "/a#b"] {
            let failure = plain(Path::new(path)).expect_err(path);
            assert!(failure.what.contains(path) && failure.hint.is_some(), "{failure}");
        }
        assert!(word("prod-1.eu").is_ok());
        assert!(["my prod", "-x", "", "a;b", "a\"b"].iter().all(|name| word(name).is_err()));
    }
}
