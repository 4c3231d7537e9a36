//! `credmint-aws`: keys of AWS for the profile of an SDK, by `credential_process`.
//! The name of a provider comes in, one JSON object goes out.
//! Reads no settings: the agent does.

use std::process::ExitCode;

mod program;

use credmint_protocols::{aws, named};
use program::Program;

fn main() -> ExitCode {
    let (name, help) = (env!("CARGO_PKG_NAME"), include_str!("help.txt"));
    Program { name, help, absent: None, failed: None }
        .run(|| named(std::env::args_os().skip(1).collect()), &aws::answer)
}
