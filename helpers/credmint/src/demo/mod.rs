//! `credmint demo`: the main job from end to end on embedded parts, in a throw-away home.
//! Nothing comes in but the choice of a tool; numbered steps for people go out, and success only if every step held.
//! Uses the executables that a person uses, by their command lines; touches nothing outside the throw-away home.

mod client;
mod client_certificate;
mod command;
mod home;
mod module;
mod needles;
mod played;
mod proof;
mod registry;
mod search;
mod session;
mod stage;
mod steps;
mod stranger;
mod tls;
mod token;
mod watch;
mod zip;

use credmint_vocabulary::Failure;

use crate::command_line::DemoArguments;
use crate::out;
use client::Client;
use stage::Stage;

/// The host that the demo is about; nobody has to resolve it.
pub(crate) const HOST: &str = "registry.corp.example";

/// Runs the verb.
pub(crate) fn run(arguments: &DemoArguments) -> Result<(), Failure> {
    let client = Client::find(arguments.tool.as_deref())?;
    let mut stage = Stage::prepare(client, arguments.keep)?;
    stage.introduce();
    steps::registry(&mut stage)?;
    steps::settings(&mut stage)?;
    steps::agent(&mut stage)?;
    steps::setup(&mut stage)?;
    steps::explain(&mut stage)?;
    let minted = steps::first_init(&mut stage)?;
    steps::second_init(&mut stage, &minted)?;
    proof::nothing_was_written(&mut stage, &minted)?;
    steps::stop(&mut stage)?;
    out::text("\nEvery step held.");
    Ok(())
}
