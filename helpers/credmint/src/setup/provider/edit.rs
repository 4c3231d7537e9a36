//! One file of a client: read, its text changed, and the change that comes of it.
//! A path and what is to become of its text come in, a change or none goes out.
//! Reads only. A file that was not there begins with a line by which it goes again when nothing else is in it.

use std::path::{Path, PathBuf};

use credmint_local_machine::environment;
use credmint_vocabulary::{Failure, FailureKind};

use super::Wanted;
use crate::setup::block::MARK;
use crate::setup::change::Change;
use crate::setup::configuration_file::read;

/// The only line of a file that we made, apart from blocks.
const HEADER: &str = "# Made by `credmint setup`.";

/// Says why a file is left alone: what stands at a line of it, and what to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct InTheWay {
    /// Line, from 1.
    pub(super) line: usize,
    /// What is there, in words.
    pub(super) what: String,
    /// The next thing to do.
    pub(super) hint: String,
}

impl InTheWay {
    /// Puts it into words for people.
    pub(super) fn failure(&self, path: &Path) -> Failure {
        let what = format!("{}:{} {}; nothing was changed", path.display(), self.line, self.what);
        Failure::new(FailureKind::Settings, what).hint(&self.hint)
    }
}

/// Edits a text file whose comments begin with `#`; `first` is what a new file has at its top, beside our line.
pub(super) fn file(
    path: PathBuf,
    first: &str,
    wanted: &Wanted<'_>,
    edited: impl FnOnce(&str) -> Result<String, InTheWay>,
) -> Result<Option<Change>, Failure> {
    if wanted.print {
        return Ok(None);
    }
    let (old, remove) = (read(&path)?, wanted.remove);
    let made = format!("{HEADER}\n{first}");
    if remove && old.is_none() {
        return Ok(None);
    }
    let text = old.clone().unwrap_or_else(|| made.clone());
    let new = edited(&text).map_err(|error| error.failure(&path))?;
    Ok(match old {
        Some(old) if old == new => None,
        Some(old) if remove && new == made => Some(Change::Delete { path, old }),
        old => Some(Change::Write { path, old, new }),
    })
}

/// Gives the comment that stands above what we write for a provider.
pub(super) fn comment(wanted: &Wanted<'_>) -> String {
    format!("{MARK}; `credmint setup provider {} --for {} --remove` takes it out again.", wanted.name, wanted.client)
}

/// Finds a file or a directory by the variable that names it, else below the home directory.
pub(super) fn place(variable: &str, usual: &str) -> Result<PathBuf, Failure> {
    let named = environment::read(variable).filter(|path| !path.is_empty());
    match named.and_then(|path| std::path::absolute(path).ok()) {
        Some(path) => Ok(path),
        None => Ok(home()?.join(usual)),
    }
}

/// Gives the home directory.
pub(super) fn home() -> Result<PathBuf, Failure> {
    environment::home().ok_or_else(|| {
        let name = if cfg!(windows) { environment::USERPROFILE } else { environment::HOME };
        Failure::new(FailureKind::Settings, "there is no home directory to set up").hint(format!("set {name}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use credmint_settings::Settings;
    use std::fs;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test is the somebody else who writes the file")]
    fn a_file_that_somebody_else_changes_between_reading_and_writing_is_left_alone() {
        let home = std::env::temp_dir().join(format!("credmint-edit-{}", std::process::id()));
        fs::create_dir_all(&home).expect("a directory");
        let (path, settings) = (home.join("config"), Settings::default());
        let planned = |remove, new: &str| {
            let (name, client, audience, service_account) = ("prod", "aws", None, None);
            let (hosts, issuer, settings, print) = (&[][..], None, &settings, false);
            let wanted = Wanted { name, client, hosts, issuer, settings, audience, service_account, remove, print };
            let change = file(path.clone(), "", &wanted, |_| Ok(new.to_owned())).expect("read");
            change.expect("a change")
        };
        let ours = format!("{HEADER}\n");
        // An edit, a file that comes into being, and one of ours that goes.
        for (before, remove, new) in [(Some("a\n"), false, "a\nb\n"), (None, false, "b\n"), (Some("b\n"), true, &ours)]
        {
            let put = |text: Option<&str>| match text {
                Some(text) => fs::write(&path, text).expect("writes"),
                None => fs::remove_file(&path).unwrap_or_default(),
            };
            let now = || fs::read_to_string(&path).ok();
            put(before);
            let change = planned(remove, new);
            put(Some("theirs\n"));
            let told = change.apply().expect_err("refused").what;
            assert!(told.ends_with("was changed by somebody else meanwhile; it was left alone"), "{told}");
            assert_eq!(now().as_deref(), Some("theirs\n"));
            // As it was read, it is changed.
            put(before);
            change.apply().expect("changes");
            assert_eq!(now().as_deref(), (!remove).then_some(new));
        }
        fs::remove_dir_all(&home).expect("gone");
    }
}
