//! The agent's rooms: requests of the agent protocol come in over a private socket or stdio, credentials go out.
//! From a request to its answer: `server` → `material` → `recipe` → `get` → `entries` → `answers`; the bridge speaks HTTP.
//! Writes no file but the last failure. `protocol-spec/agent-protocol.md`, `protocol-spec/bridge-protocol.md`.

mod absence;
mod agent;
mod answers;
mod asking;
mod bridge;
mod certificate;
mod confirm;
mod connection;
mod end_of_run;
mod entries;
mod exec;
mod explain;
mod failure;
mod get;
mod held;
mod holders;
mod hook;
mod late_renewal;
mod listener;
mod lock;
mod login;
mod logout;
mod logout_remembered;
mod loopback;
mod material;
mod metrics;
mod offline;
mod options;
mod recipe;
mod renewal;
mod run;
mod run_provider;
mod self_check;
mod server;
mod services;
mod sessions;
mod status;
mod stored;
mod terraform_login;
mod told;
mod who;

use std::alloc::System;
use std::process::ExitCode;

use credmint_local_machine::{anew_as_before_exec, report};
use credmint_vocabulary::{Failure, FailureKind};

use zeroizing_alloc::ZeroAlloc;

/// Wipes all memory that is given back: buffers of the libraries that a secret passes through are not ours to wipe.
#[global_allocator]
static ALLOCATOR: ZeroAlloc<System> = ZeroAlloc(System);

/// Runs the agent as its command line says.
#[must_use]
pub fn main() -> ExitCode {
    let options = options::Options::from_command_line();
    match anew_as_before_exec() {
        None => run::run(options),
        Some(Ok(ended)) => ended,
        Some(Err(error)) => {
            let what = format!("the agent could not be started without the proxy of this run: {error}");
            report::failure(run::PROGRAM, None, &Failure::new(FailureKind::Internal, what))
        }
    }
}
