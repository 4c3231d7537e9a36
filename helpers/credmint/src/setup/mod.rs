//! `credmint setup HOST`: lets Terraform or OpenTofu ask credmint for a host, and takes that back again.
//! A hostname comes in; the helper's file, the CLI configuration and a drop-in are changed, and shown before that.
//! Finds out everything first: when something is in the way, nothing is changed at all.

mod arguments;
mod block;
mod change;
mod cli_configuration;
mod configuration_file;
mod diff;
mod drop_in;
mod helper_file;
mod host_settings;
mod missing;
mod offered;
mod plan;
mod provider;
mod replace;
mod services;
mod shadow;

pub(crate) use arguments::SetupArguments;
pub(crate) use cli_configuration::names as is_name_of;
pub(crate) use configuration_file::{Places, read};
pub(crate) use host_settings::failure as settings_failure;
pub(crate) use services::{Services, services_in};
pub(crate) use shadow::variable as token_variable;

use std::path::PathBuf;

use credmint_vocabulary::{Failure, Hostname};

use crate::command_line::Tool;
use crate::out::Style;
use crate::{agent, out, people_host, programs};
use arguments::SetupWhat;
use change::Change;
use plan::Plan;

/// Runs the verb.
pub(crate) fn run(arguments: &SetupArguments) -> Result<(), Failure> {
    if let Some(SetupWhat::Provider(provider)) = &arguments.what {
        return provider::run(provider);
    }
    let host = people_host::read(arguments.host.as_deref().unwrap_or_default())?;
    let mood = Mood { yes: arguments.yes, dry_run: arguments.dry_run };
    let tool = arguments.tool.unwrap_or_else(usual_tool);
    let mut plan = plan::make(&host.hostname, tool, arguments)?;
    host.note.iter().chain(&plan.notes).for_each(|note| out::text(&format!("note: {note}")));
    if !carry_out(&plan.changes, mood)? {
        return Ok(());
    }
    if plan.asks_again {
        plan = plan::make(&host.hostname, tool, arguments)?;
        plan.notes.iter().for_each(|note| out::text(&format!("note: {note}")));
        if !plan.changes.is_empty() && !carry_out(&plan.changes, mood)? {
            return Ok(());
        }
    }
    if !arguments.remove {
        out::text(&format!("\n{}", next(&plan, arguments, tool)?.join("\n")));
    }
    Ok(())
}

/// Says what keeps Terraform from asking credmint for a host, as far as that can be seen: headings, and words for each.
pub(crate) fn notes(host: &Hostname) -> Vec<(&'static str, String)> {
    let tool = usual_tool();
    let Ok(plan) = plan::make(host, tool, &SetupArguments::look(host)) else { return Vec::new() };
    let notes = plan.notes.into_iter().map(|note| ("note", note));
    let missing = [
        ("note", format!("{} is not set up to ask credmint for this host", tool.program())),
        ("next", format!("credmint setup {host}")),
    ];
    notes.chain(missing.into_iter().filter(|_| !plan.changes.is_empty())).collect()
}

/// Says whether somebody is asked, and whether anything is changed at all.
#[derive(Clone, Copy)]
struct Mood {
    yes: bool,
    dry_run: bool,
}

/// Shows the changes, asks if somebody is there, and makes them. Says whether to go on.
fn carry_out(changes: &[Change], mood: Mood) -> Result<bool, Failure> {
    if changes.is_empty() {
        out::text("Nothing to change.");
        return Ok(true);
    }
    let style = Style::of_stdout();
    let lines: Vec<String> = changes.iter().flat_map(|change| change.show(style)).collect();
    out::text(&lines.join("\n"));
    if mood.dry_run {
        out::text("\nNothing was changed (--dry-run).");
        return Ok(false);
    }
    changes.iter().try_for_each(Change::check)?;
    if !mood.yes && out::confirm("\nMake these changes?") == Some(false) {
        out::text("Nothing was changed.");
        return Ok(false);
    }
    changes.iter().try_for_each(Change::apply)?;
    out::text("Done.");
    Ok(true)
}

/// Looks at the settings again, for a drop-in may just have been written.
fn next(plan: &Plan, arguments: &SetupArguments, tool: Tool) -> Result<Vec<String>, Failure> {
    let (settings, files) = plan::settings(&plan.host)?;
    if let Some(person) = settings.person.as_ref().filter(|_| settings.complete) {
        let by_tool = !settings.without_bridge && !arguments.no_login;
        return Ok(if by_tool { login(&plan.host, tool) } else { vec![format!("Next: credmint login {person}")] });
    }
    let main = files.map_or_else(|| PathBuf::from("config.toml"), |files| files.main);
    Ok(missing::next(&plan.host, &settings, &main))
}

/// Says how to sign in; the tool asks no helper first, so the agent has to be there before it.
fn login(host: &Hostname, tool: Tool) -> Vec<String> {
    let next = format!("Next: {} login {host}", tool.program());
    match agent::listen(host) {
        Ok(()) => vec![next],
        Err(failure) => vec![format!("note: {} login cannot work yet: {failure}", tool.program()), next],
    }
}

/// Chooses the tool of somebody who names none.
pub(crate) fn usual_tool() -> Tool {
    let there = |tool: Tool| programs::in_path(tool.program()).is_some();
    if there(Tool::Tofu) && !there(Tool::Terraform) { Tool::Tofu } else { Tool::Terraform }
}
