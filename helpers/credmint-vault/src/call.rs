//! One call of `credmint-vault`.
//! The verb comes in; the token goes out without a line break.
//! Reads the server of two variables, and drops what `store` brings. `common/protocols/src/vault.rs`.

use std::process::ExitCode;

use credmint_local_machine::{environment, streams};
use credmint_protocols::vault::{self, Call};
use credmint_protocols::{Asked, CallError};

use crate::program::Program;

/// Serves it.
pub(crate) fn run() -> ExitCode {
    let (name, help) = (env!("CARGO_PKG_NAME"), include_str!("help.txt"));
    Program { name, help, absent: None, failed: None }.run(asked, &|credential, _| vault::answer(credential))
}

fn asked() -> Result<Asked, CallError> {
    match vault::call(std::env::args_os().skip(1).collect())? {
        Call::Help => Ok(Asked::Help),
        Call::Version => Ok(Asked::Version),
        Call::Get => provider().map(Asked::Provider),
        Call::Store | Call::Erase => {
            // The client would otherwise fail at writing.
            drop(streams::read_stdin(vault::MAXIMUM_INPUT));
            Ok(Asked::Nothing)
        }
    }
}

/// Takes the name that the program was linked under, `credmint-vault-NAME`, else the server's host.
fn provider() -> Result<String, CallError> {
    let own = std::env::args_os().next().and_then(|path| vault::provider_of(&path));
    let address = || environment::read("VAULT_ADDR").or_else(|| environment::read("BAO_ADDR"));
    own.or_else(|| address().and_then(|address| vault::host(&address))).ok_or(CallError::Malformed(
        "neither VAULT_ADDR nor BAO_ADDR names a server, and the program has no name of its own",
    ))
}
