//! `git-credential-credmint`: a token for git over https.
//! git's description of where it goes comes in, `key=value` lines go out; the provider is the one that has the host among its hosts.
//! Answers `get` alone, and keeps nothing that git brings.

use std::process::ExitCode;

mod call;
#[path = "../../credmint-aws/src/program.rs"]
mod program;

fn main() -> ExitCode {
    call::run()
}
