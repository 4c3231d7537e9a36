//! `credmint-github`: what Terraform's github provider runs as `gh`, by `GH_PATH`.
//! `auth token --hostname HOST` comes in, a token goes out; the provider is the one that has the host among its hosts.
//! Knows no other command of `gh`.

use std::process::ExitCode;

#[path = "../../credmint-aws/src/program.rs"]
mod program;

use credmint_protocols::github;
use program::Program;

fn main() -> ExitCode {
    let (name, help) = (env!("CARGO_PKG_NAME"), include_str!("help.txt"));
    let asked = || github::call(std::env::args_os().skip(1).collect());
    Program { name, help, absent: None, failed: None }.run(asked, &|credential, _| github::answer(credential))
}
