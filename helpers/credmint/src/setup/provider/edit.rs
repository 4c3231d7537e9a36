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
