//! One call of `credmint-github`.
//! `auth token --hostname HOST` comes in; the token goes out as a line.
//! Reads nothing else. `common/protocols/src/github.rs`.

use std::process::ExitCode;

use credmint_protocols::github::{self, Call};
use credmint_protocols::{Asked, CallError};

use crate::program::Program;

/// Serves it.
pub(crate) fn run() -> ExitCode {
    let (name, help) = (env!("CARGO_PKG_NAME"), include_str!("help.txt"));
    Program { name, help, absent: None, failed: None }.run(asked, &|credential, _| github::answer(credential))
}

fn asked() -> Result<Asked, CallError> {
    Ok(match github::call(std::env::args_os().skip(1).collect())? {
        Call::Help => Asked::Help,
        Call::Version => Asked::Version,
        Call::Token(host) => Asked::Provider(host),
    })
}
