//! One call of `credmint-google`.
//! The arguments and the wanted type of token come in; one JSON object goes out.
//! Reads one variable. `common/protocols/src/google.rs`.

use std::process::ExitCode;

use credmint_local_machine::environment;
use credmint_protocols::{google, named};

use crate::program::Program;

/// Serves it.
pub(crate) fn run() -> ExitCode {
    let (name, help) = (env!("CARGO_PKG_NAME"), include_str!("help.txt"));
    let wanted = environment::read("GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE");
    Program { name, help, absent: None, failed: Some(google::failure) }
        .run(|| named(std::env::args_os().skip(1).collect()), &|credential, now| {
            google::answer(credential, wanted.as_deref(), now)
        })
}
