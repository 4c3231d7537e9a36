//! How the programs are called whose only argument of their own is the name of a provider of the settings.
//! Arguments come in, a call goes out.
//! Pure.

use std::ffi::OsString;

use credmint_vocabulary::Phase;

/// Says what a program was started for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// `--help` alone.
    Help,
    /// `--version` alone.
    Version,
    /// The credential of a provider, by its name or by a host.
    Provider(String),
    /// The same, for a run that is said to be about this.
    During(Phase, String),
    /// Something that its protocol has and that we leave undone: what comes on standard input is read.
    Nothing,
}

/// Says why a call is none of its protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// None, or too many.
    #[error("one argument is needed, the name of a provider of the settings, and {0} came")]
    Count(usize),
    /// A phase that there is not.
    #[error("--phase is followed by plan or apply")]
    Phase,
    /// The verb is none that the protocol has.
    #[error("the argument is none of {0}")]
    UnknownVerb(&'static str),
    /// An argument is not UTF-8.
    #[error("argument {0} is not UTF-8 text")]
    NotText(usize),
    /// What stands on standard input or in the environment is not what the protocol says.
    #[error("{0}")]
    Malformed(&'static str),
}

/// Reads `NAME`, with `--phase plan` or `--phase apply` before or behind it, `--help` or `--version`.
///
/// # Errors
/// [`CallError`], with what is wrong first.
pub fn named(arguments: Vec<OsString>) -> Result<Asked, CallError> {
    match texts(arguments)?.as_slice() {
        [only] if only == "--help" => Ok(Asked::Help),
        [only] if only == "--version" => Ok(Asked::Version),
        [name] => Ok(Asked::Provider(name.clone())),
        [name, flag, phase] | [flag, phase, name] if flag == "--phase" => {
            let phase = Phase::from_word(phase).ok_or(CallError::Phase)?;
            Ok(Asked::During(phase, name.clone()))
        }
        others => Err(CallError::Count(others.len())),
    }
}

/// Reads arguments as text.
pub(crate) fn texts(arguments: Vec<OsString>) -> Result<Vec<String>, CallError> {
    let text = |(at, argument): (usize, OsString)| argument.into_string().map_err(|_| CallError::NotText(at + 1));
    arguments.into_iter().enumerate().map(text).collect()
}
