//! Where a secret comes from: the settings name a source, never the secret.
//! A source comes in from the file, the names that must be read from the caller go out.
//! Reads nothing itself.

use std::path::PathBuf;

use crate::identity::CommandSource;

/// Names the place where a secret is found.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// An environment variable of the caller.
    Env(String),
    /// A file that the caller can read; a trailing newline is dropped.
    File(PathBuf),
    /// A program that the agent runs; its standard output is the secret.
    Command(CommandSource),
}
