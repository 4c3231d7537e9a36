//! `credmint-github`: what Terraform's github provider runs as `gh`, by `GH_PATH`.
//! `auth token --hostname HOST` comes in, a token goes out; the provider is the one that has the host among its hosts.
//! Knows no other command of `gh`.

use std::process::ExitCode;

mod call;
#[path = "../../credmint-aws/src/program.rs"]
mod program;

fn main() -> ExitCode {
    call::run()
}
