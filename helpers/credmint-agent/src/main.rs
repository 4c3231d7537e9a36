//! `credmint-agent`: the only process that ever holds a secret.
//! Requests of the agent protocol come in over a private socket or stdio, credentials go out; the bridge speaks HTTP.
//! Writes no file but the last failure; `protocol-spec/agent-protocol.md`, `protocol-spec/bridge-protocol.md`.

mod agent;
mod answers;
mod bridge;
mod connection;
mod entries;
mod explain;
mod failure;
mod get;
mod listener;
mod material;
mod options;
mod recipe;
mod renewal;
mod run;
mod server;
mod status;

fn main() -> std::process::ExitCode {
    run::run(options::Options::from_command_line())
}
