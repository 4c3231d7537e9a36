//! One change to the person's files: shown first, checked, then made.
//! Paths and texts come in, lines for the eye go out; nothing is touched before `apply`.
//! Replaces files at once and whole, through symbolic links, keeping mode and owner.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use credmint_vocabulary::{Failure, FailureKind};

use super::{configuration_file, diff, replace};
use crate::out::{Style, Tone};

/// Something that is to be different afterwards.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The helper is put into the plug-in directory.
    Install {
        /// Where Terraform looks.
        at: PathBuf,
        /// The executable beside ours.
        program: PathBuf,
    },
    /// The helper is taken out of the plug-in directory.
    Uninstall {
        /// Where Terraform looks.
        at: PathBuf,
    },
    /// A file gets another text, or comes into being.
    Write {
        /// Which file.
        path: PathBuf,
        /// Its text so far, if it is there.
        old: Option<String>,
        /// Its text afterwards.
        new: String,
    },
    /// A file that we made goes.
    Delete {
        /// Which file.
        path: PathBuf,
        /// Its text so far.
        old: String,
    },
}

impl Change {
    /// Shows what is going to be different.
    pub(crate) fn show(&self, style: Style) -> Vec<String> {
        match self {
            Self::Install { at, program } => {
                vec![head("install", at), style.paint(Tone::Good, &format!("    + {}", program.display()))]
            }
            Self::Uninstall { at } => vec![head("remove", at)],
            Self::Write { path, old: None, new } => with_diff(head("create", path), "", new, style),
            Self::Write { path, old: Some(old), new } => with_diff(head("edit", path), old, new, style),
            Self::Delete { path, old } => with_diff(head("remove", path), old, "", style),
        }
    }

    /// Checks what can be checked before anything is changed.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match self {
            Self::Write { path, old: Some(_), .. } if is_read_only(path) => Err(read_only(path)),
            _ => Ok(()),
        }
    }

    /// Makes the change, unless somebody else changed the file since it was read.
    pub(crate) fn apply(&self) -> Result<(), Failure> {
        self.check_unchanged()?;
        let (path, outcome) = match self {
            Self::Install { at, program } => (at, install(at, program)),
            Self::Uninstall { at } => (at, fs::remove_file(at)),
            Self::Write { path, new, .. } => (path, replace::file(path, new.as_bytes())),
            Self::Delete { path, .. } => (path, fs::remove_file(path)),
        };
        outcome.map_err(|error| match self {
            Self::Install { .. } | Self::Uninstall { .. } if cfg!(windows) => refused(path, &error)
                .hint("credmint agent stop, and again: Windows keeps the file of a program that runs"),
            _ => refused(path, &error),
        })
    }
}

impl Change {
    fn check_unchanged(&self) -> Result<(), Failure> {
        let (path, seen) = match self {
            Self::Write { path, old, .. } => (path, old.as_ref()),
            Self::Delete { path, old } => (path, Some(old)),
            Self::Install { .. } | Self::Uninstall { .. } => return Ok(()),
        };
        if configuration_file::read(path)?.as_ref() == seen {
            return Ok(());
        }
        let what = format!("{} was changed by somebody else meanwhile; it was left alone", path.display());
        Err(Failure::new(FailureKind::Settings, what).hint("run this again"))
    }
}

fn head(verb: &str, path: &Path) -> String {
    format!("  {verb:<8} {}", path.display())
}

fn with_diff(head: String, old: &str, new: &str, style: Style) -> Vec<String> {
    let line = |change: diff::Line| match change {
        diff::Line::Removed(text) => style.paint(Tone::Bad, format!("    - {text}").trim_end()),
        diff::Line::Added(text) => style.paint(Tone::Good, format!("    + {text}").trim_end()),
    };
    std::iter::once(head).chain(diff::lines(old, new).into_iter().map(line)).collect()
}

fn is_read_only(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.permissions().readonly())
}

fn read_only(path: &Path) -> Failure {
    let path = path.display();
    Failure::new(FailureKind::Settings, format!("{path} is read-only; nothing was changed"))
        .hint(format!("chmod u+w {path} and again, or --dry-run to see what to write there by hand"))
}

fn refused(path: &Path, error: &io::Error) -> Failure {
    Failure::new(FailureKind::Settings, format!("{} cannot be changed: {error}", path.display()))
        .hint("--dry-run shows what to change by hand")
}

/// A symbolic link is followed by Terraform, and stays right when the program is updated.
#[cfg(unix)]
fn install(at: &Path, program: &Path) -> io::Result<()> {
    make_parent(at)?;
    let draft = at.with_file_name(format!(".credmint-{}", std::process::id()));
    std::os::unix::fs::symlink(program, &draft)?;
    fs::rename(&draft, at).inspect_err(|_| fs::remove_file(&draft).unwrap_or_default())
}

#[cfg(windows)]
fn install(at: &Path, program: &Path) -> io::Result<()> {
    make_parent(at)?;
    fs::copy(program, at).map(drop)
}

fn make_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}
