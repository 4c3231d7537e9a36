//! `docker-credential-credmint`: a token for registries of images, for docker, ORAS and OpenTofu.
//! A server's address comes in, one JSON object goes out; the provider is the one that has the host among its hosts.
//! Answers `get` and `list`, and keeps nothing.

use std::process::ExitCode;

mod call;
mod list;
#[path = "../../credmint-aws/src/program.rs"]
mod program;

fn main() -> ExitCode {
    call::run()
}
