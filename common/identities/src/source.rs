//! Reads a secret from the place that the settings name: a variable or file of the caller, or a program.
//! A source and what the caller sent come in, the secret without line end or its absence goes out.
//! Shows no value, in errors neither.

use std::path::PathBuf;

use credmint_settings::Source;
use credmint_vocabulary::{Deadline, FailureKind, Secret};

use crate::caller::Caller;
use crate::command::{self, CommandError};
use crate::subject_token::without_line_end;

/// Says why a source has no usable answer, where one was to be expected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The file is there and could not be read.
    #[error("the file {} cannot be read: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason that the caller's system gave.
        why: String,
    },
    /// The program gave nothing usable.
    #[error(transparent)]
    Command(#[from] CommandError),
}

impl SourceError {
    /// Says whose turn it is.
    #[must_use]
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Unreadable { .. } => FailureKind::Settings,
            Self::Command(error) => error.kind(),
        }
    }

    /// Says what to do next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unreadable { path, .. } => Some(format!("ls -l {}", path.display())),
            Self::Command(error) => error.hint(),
        }
    }
}

/// Reads a source; `None` when the variable or the file is not there, or empty.
///
/// # Errors
/// [`SourceError`] when a file is there and cannot be read, or a program fails.
pub async fn read_source(
    source: &Source,
    caller: &Caller,
    deadline: Deadline,
) -> Result<Option<Secret<String>>, SourceError> {
    let found = match source {
        Source::Env(name) => caller.variable(name).map(Secret::copied),
        Source::File(path) => read_file(path, caller)?,
        Source::Command(program) => command::run(program, deadline).await?,
        _ => None,
    };
    Ok(found.map(without_line_end).filter(|secret| !secret.is_empty()))
}

/// Reads a file of the caller.
pub(crate) fn read_file(path: &std::path::Path, caller: &Caller) -> Result<Option<Secret<String>>, SourceError> {
    let unreadable = |why| SourceError::Unreadable { path: path.to_owned(), why };
    Ok(caller.file(path).map_err(unreadable)?.map(Secret::copied))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn soon() -> Deadline {
        Deadline::after(Instant::now(), Duration::from_secs(10))
    }

    #[tokio::test]
    async fn line_ends_go_and_empty_is_absent() {
        let mut caller = Caller::default();
        caller.files.insert("/a".into(), Secret::from("one\n"));
        caller.files.insert("/empty".into(), Secret::from("\n"));
        let read = async |path: &str| read_source(&Source::File(path.into()), &caller, soon()).await.unwrap();
        assert!(read("/a").await.unwrap().same_as(b"one"));
        assert!(read("/empty").await.is_none() && read("/none").await.is_none());
    }

    #[tokio::test]
    async fn an_unreadable_file_is_no_absent_file() {
        let mut caller = Caller::default();
        caller.unreadable.insert("/a".into(), "permission denied".into());
        let error = read_source(&Source::File("/a".into()), &caller, soon()).await.unwrap_err();
        assert_eq!(error.to_string(), "the file /a cannot be read: permission denied");
        assert_eq!(error.kind(), FailureKind::Settings);
    }
}
