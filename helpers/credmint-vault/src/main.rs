//! `credmint-vault`: the token helper of `vault`, `bao` and Terraform's vault provider.
//! A verb comes in, the token goes out without a line break; the provider is the one that has the server among its hosts.
//! Keeps nothing that `store` brings: tokens are made anew.

use std::process::ExitCode;

mod call;
#[path = "../../credmint-aws/src/program.rs"]
mod program;

fn main() -> ExitCode {
    call::run()
}
