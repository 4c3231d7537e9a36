//! `credmint-google`: a subject token for Google's authentication libraries, as the executable of an external account.
//! The name of a provider comes in, one JSON object goes out, also for a failure.
//! Writes nothing on standard error: some of the libraries read it as the answer.

use std::process::ExitCode;

mod call;
#[path = "../../credmint-aws/src/program.rs"]
mod program;

fn main() -> ExitCode {
    call::run()
}
