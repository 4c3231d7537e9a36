//! One call of `docker-credential-credmint`.
//! The verb and a server's address come in; one JSON object goes out.
//! Keeps nothing. `common/protocols/src/docker.rs`.

use std::cell::OnceCell;
use std::process::ExitCode;

use credmint_local_machine::streams;
use credmint_protocols::docker::{self, Call};
use credmint_protocols::{Asked, CallError};

use crate::list;
use crate::program::Program;

/// Serves it.
pub(crate) fn run() -> ExitCode {
    let (name, help) = (env!("CARGO_PKG_NAME"), include_str!("help.txt"));
    if docker::call(std::env::args_os().skip(1).collect()) == Ok(Call::List) {
        return list::run(name);
    }
    let server = OnceCell::new();
    Program { name, help, absent: Some((docker::NOT_FOUND, 1)), failed: None }
        .run(|| asked(&server), &|credential, _| docker::answer(credential, server.get().map_or("", String::as_str)))
}

fn asked(server: &OnceCell<String>) -> Result<Asked, CallError> {
    match docker::call(std::env::args_os().skip(1).collect())? {
        Call::Help => return Ok(Asked::Help),
        Call::Version => return Ok(Asked::Version),
        // Without other arguments it is another call, and answered before this one.
        Call::List => return Ok(Asked::Nothing),
        Call::Keep => {
            return Err(CallError::Malformed(
                "credentials are made anew, and none is kept: there is nothing to log in to",
            ));
        }
        Call::Get => {}
    }
    let input = streams::read_stdin(docker::MAXIMUM_INPUT).ok().flatten();
    let input = input.ok_or(CallError::Malformed("the server's address cannot be read, or is too long"))?;
    let host = docker::host(&input)?;
    server.get_or_init(|| String::from_utf8_lossy(&input).trim().to_owned());
    Ok(Asked::Provider(host))
}
