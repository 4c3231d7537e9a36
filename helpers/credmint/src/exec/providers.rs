//! Providers of a run: their credentials in the program's environment, or endpoints there at which it asks for them.
//! Names come in and are asked for; what the agent gave goes out as variables, with what must not stay beside them.
//! Writes an empty file into the run's directory, and nothing else. `protocol-spec/bridge-protocol.md` §11.

use std::ffi::OsString;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use credmint_agent_protocol::RunProvider;
use credmint_local_machine::{environment, files};
use credmint_settings::{Channel, Settings};
use credmint_vocabulary::{Failure, FailureKind, Phase, printable};

use super::variables::Variable;
use crate::out;

/// Does something that may take a while; after a second the person is told what is waited for.
pub(crate) fn waiting_for<T>(names: &[String], something: impl FnOnce() -> T) -> T {
    let (done, is_done) = channel::<()>();
    let names = names.iter().map(|name| format!("provider/{}", plain(name))).collect::<Vec<_>>().join(", ");
    thread::scope(|scope| {
        if !names.is_empty() {
            scope.spawn(move || {
                if is_done.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                    out::remark(&format!("waiting for the credential of {names}"));
                }
            });
        }
        let made = something();
        drop(done);
        made
    })
}

/// Says what a program is about, where it is Terraform: what the environment says makes that less, never more.
pub(crate) fn phase(words: &[OsString]) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    let name = Path::new(program).file_stem()?.to_str()?;
    let arguments = arguments.iter().map(|word| word.to_str().unwrap_or_default());
    let seen = Phase::subcommand(arguments).and_then(Phase::of_subcommand).filter(|_| Phase::is_of_program(name))?;
    let said = environment::read(environment::CREDMINT_PHASE);
    match said.as_deref().map(Phase::from_word) {
        None => Some(seen.word().to_owned()),
        Some(Some(said)) => Some(seen.min(said).word().to_owned()),
        // The agent refuses what is no phase.
        Some(None) => said,
    }
}

/// Makes the variables of what the agent gave.
pub(crate) fn variables(providers: Vec<RunProvider>, directory: &Path) -> Result<Vec<Variable>, Failure> {
    let mut all = Vec::new();
    for provider in providers {
        say_what_is_left_out(&provider);
        provider.remark.iter().for_each(|remark| out::remark(&printable(remark, 300)));
        all.extend(provider.left_out.into_iter().map(Variable::left_out));
        for name in provider.emptied {
            all.push(Variable::open(name, empty_file(directory)?));
        }
        all.extend(provider.variables.into_iter().map(|(name, value)| Variable::secret(name, value.into_secret())));
    }
    Ok(all)
}

/// Refuses what two parts of a run want to say in one variable.
pub(crate) fn check(before: &[Variable], added: &[Variable]) -> Result<(), Failure> {
    let is_said = |name: &str| before.iter().any(|variable| variable.name() == name);
    let Some(twice) = added.iter().find(|variable| is_said(variable.name())) else { return Ok(()) };
    let what = format!("{} is for the state at a host of this run, and a provider wants it too", twice.name());
    Err(Failure::new(FailureKind::Usage, what).hint("leave out --provider for it: the state goes through the bridge"))
}

/// Says which variables of the person's the program does not have.
fn say_what_is_left_out(provider: &RunProvider) {
    let lost: Vec<&str> = provider.left_out.iter().map(String::as_str).filter(|name| is_set(name)).collect();
    if !lost.is_empty() {
        let (names, name) = (lost.join(", "), &provider.name);
        out::remark(&format!(
            "without {names} of your environment: the program would take that before provider/{name}"
        ));
    }
    let empty: Vec<&str> = provider.emptied.iter().map(String::as_str).collect();
    if !empty.is_empty() {
        let names = empty.join(" and ");
        out::remark(&format!(
            "{names} lead to an empty file: the profiles there would come before provider/{}",
            provider.name
        ));
    }
}

fn is_set(name: &str) -> bool {
    environment::all().any(|(own, value)| own == *name && !value.is_empty())
}

fn empty_file(directory: &Path) -> Result<String, Failure> {
    let path = directory.join("empty");
    let unwritten = |error| Failure::new(FailureKind::Settings, format!("{}: {error}", path.display()));
    files::write_private(&path, b"").map_err(unwritten)?;
    Ok(path.display().to_string())
}

/// Says that the agent is older than we are.
pub(crate) fn unknown_to_agent() -> Failure {
    let what = "the agent that runs has no providers for a run";
    Failure::new(FailureKind::Settings, what).hint("credmint agent stop (an agent of another version is running)")
}

/// Lists what a run would set for providers, and in which words: values belong to a run, and there is none.
pub(crate) fn described(settings: &Settings, names: &[String]) -> Result<Vec<(&'static str, String)>, Failure> {
    let mut found: Vec<(&str, Channel)> = Vec::new();
    for asked in names {
        let (name, channel) = one(settings, plain(asked))?;
        if let Some((other, _)) = found.iter().find(|(own, of)| *own != name && of.clashes(channel)) {
            let what = format!("provider/{other} and provider/{name} want the same variables");
            return Err(Failure::new(FailureKind::Usage, what).hint("one of the two in a run"));
        }
        found.push((name, channel));
    }
    found.sort();
    found.dedup();
    let of_one = |(name, channel): (&str, Channel)| {
        let words = format!("of provider/{name}, {}: {}", channel.word(), channel.words());
        let empty = channel.emptied().iter().map(|own| (*own, format!("an empty file of a run, for provider/{name}")));
        let set = channel.variables().iter().map(move |own| (*own, words.clone()));
        set.chain(empty).collect::<Vec<_>>()
    };
    Ok(found.into_iter().flat_map(of_one).collect())
}

fn one<'a>(settings: &'a Settings, asked: &str) -> Result<(&'a str, Channel), Failure> {
    let unknown = || {
        Failure::new(FailureKind::Settings, format!("the settings have no table [provider.{asked}]"))
            .hint(format!("credmint explain provider/{asked}"))
    };
    let unsaid = || {
        Failure::new(FailureKind::Settings, format!("the settings do not say how a program gets provider/{asked}"))
            .hint(format!("exec = \"azure-oidc\", \"vault-jwt\", \"gitlab\" or another word, in [provider.{asked}]"))
    };
    let (name, provider) = settings.provider(asked).ok_or_else(unknown)?;
    Ok((name, provider.exec.ok_or_else(unsaid)?))
}

fn plain(name: &str) -> &str {
    name.strip_prefix("provider/").unwrap_or(name)
}

const PATIENCE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_of_a_run_says_what_it_is_about() {
        let of = |line: &str| phase(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        for line in ["terraform apply -auto-approve", "/usr/bin/tofu -chdir=x destroy"] {
            assert_eq!(of(line).as_deref(), Some("apply"), "{line}");
        }
        assert_eq!(of("terraform plan").as_deref(), Some("plan"));
        for line in ["terragrunt apply", "make apply", "terraform of-a-later-version", "terraform"] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
