//! What is wrong with the settings, where, and what to write instead.
//! A place and words come in, `file:line: what` and a hint go out.
//! Holds names, positions and settings' own words; never a value that could be a secret.

use std::fmt;

use credmint_vocabulary::printable;

use crate::tree::Place;

/// Tells one mistake in the settings. The caller shows it and stops: settings with a mistake are not used at all.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SettingsError {
    /// The name that the caller gave the file; for arguments the program and `argument N`.
    pub file: String,
    /// Line, from 1; 0 when the mistake has no line (arguments, a file that is no text).
    pub line: usize,
    /// Column in characters, from 1; 0 when there is no line.
    pub column: usize,
    /// What is wrong: lower case, no full stop.
    pub what: String,
    /// What to write instead.
    pub hint: Option<String>,
}

impl SettingsError {
    /// Tells that the file is not UTF-8.
    #[must_use]
    pub fn not_utf8(file: &str, byte_position: usize) -> Self {
        Self::of_file(file, format!("the file is not UTF-8, from byte {byte_position} on"))
            .with_hint("save it as UTF-8; a PowerShell redirection writes UTF-16")
    }

    /// Tells that the file is longer than `limit` bytes.
    #[must_use]
    pub fn too_large(file: &str, limit: usize) -> Self {
        Self::of_file(file, format!("the file is larger than {limit} bytes"))
            .with_hint("is this the settings file? CREDMINT_CONFIG names another one")
    }

    /// Gives what to write instead.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    pub(crate) fn at(place: &Place, what: impl AsRef<str>) -> Self {
        Self { line: place.line, column: place.column, ..Self::of_file(&place.file, what) }
    }

    #[must_use]
    pub(crate) fn with_hint(mut self, hint: impl AsRef<str>) -> Self {
        self.hint = Some(printable(hint.as_ref(), LONGEST));
        self
    }

    fn of_file(file: &str, what: impl AsRef<str>) -> Self {
        Self { file: file.to_owned(), line: 0, column: 0, what: printable(what.as_ref(), LONGEST), hint: None }
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.what),
            line => write!(f, "{}:{line}: {}", self.file, self.what),
        }
    }
}

impl std::error::Error for SettingsError {}

/// Characters of a sentence; a longer one is cut.
const LONGEST: usize = 600;
