//! One call of `git-credential-credmint`.
//! The verb and git's description of the place come in; `key=value` lines go out.
//! Keeps nothing that git brings. `common/protocols/src/git.rs`.

use std::cell::OnceCell;
use std::process::ExitCode;

use credmint_local_machine::streams;
use credmint_protocols::git::{self, Call, Description};
use credmint_protocols::{Asked, CallError};

use crate::program::Program;

/// Serves it.
pub(crate) fn run() -> ExitCode {
    let (name, help) = (env!("CARGO_PKG_NAME"), include_str!("help.txt"));
    let place = OnceCell::new();
    // Another helper of git's may know it.
    Program { name, help, absent: Some((b"", 0)), failed: None }.run(|| asked(&place), &|credential, now| {
        git::answer(credential, place.get().unwrap_or(&Description::default()), now)
    })
}

fn asked(place: &OnceCell<Description>) -> Result<Asked, CallError> {
    let call = git::call(std::env::args_os().skip(1).collect())?;
    match call {
        Call::Help => return Ok(Asked::Help),
        Call::Version => return Ok(Asked::Version),
        Call::Get | Call::Other => {}
    }
    let input = streams::read_stdin(git::MAXIMUM_INPUT).ok().flatten();
    let input = input.ok_or(CallError::Malformed("what git says cannot be read, or is too long"))?;
    let found = place.get_or_init(|| git::description(&input));
    Ok(if call == Call::Get && found.protocol == "https" {
        Asked::Provider(found.host.clone())
    } else {
        Asked::Nothing
    })
}
