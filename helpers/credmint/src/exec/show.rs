//! `credmint env`: what `credmint exec` would set, by name; values belong to a run, and there is none.
//! The settings and the caller's own addresses come in, lines for a shell or JSON go out.
//! Shows a secret only where no run is needed for it and `--reveal` asks for it: the PEM of `--env`.

use clap::Args;
use credmint_local_machine::SettingsFiles;
use credmint_settings::{Deliver, Settings};
use credmint_vocabulary::{Failure, FailureKind, Hostname};
use serde_json::json;

use super::carrier::{Carrier, Ways};
use super::variables::{CONFIGURATION, Variable};
use super::{providers, proxy, say_who_is_left_out, state, variables};
use crate::out;
use crate::setup::{settings_failure, token_variable, usual_tool};

/// `credmint env`.
#[derive(Debug, Args)]
pub(crate) struct EnvArguments {
    /// As for `credmint exec`: also certificate and key of a host, for Terraform's `http` state backend.
    #[arg(long, value_name = "HOST", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    env: Option<String>,
    /// As for `credmint exec`: how the program would reach the hosts of the settings.
    #[arg(long, value_name = "WAY", default_value = "auto")]
    carrier: Carrier,
    /// As for `credmint exec`: what a program would have of a provider, and by which way. May be given more than once.
    #[arg(long = "provider", value_name = "NAME")]
    providers: Vec<String>,
    /// Show the values that need no run: certificate and key of --env.
    #[arg(long, requires = "env")]
    reveal: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// One variable, as it is shown.
struct Shown {
    name: String,
    what: String,
    value: Option<String>,
}

/// Runs the verb.
pub(crate) fn run(arguments: &EnvArguments) -> Result<(), Failure> {
    let settings = settings()?;
    let (confirm, hosts) = hosts(&settings);
    say_who_is_left_out(&confirm);
    let ways = Ways::of(arguments.carrier, super::mirrors(&usual_tool().program().into())?);
    ways.remarks().iter().for_each(|remark| out::remark(remark));
    if arguments.env.is_none() && ways.has_blocks {
        state::not_taken(&settings).iter().for_each(|line| out::remark(line));
    }
    let mut all = of_run(&hosts, &ways);
    let of_providers = providers::described(&settings, &arguments.providers)?;
    all.extend(of_providers.into_iter().map(|(name, what)| shown(name, what)));
    if let Some(named) = &arguments.env {
        let pem = state::pem(named)?;
        all.extend(pem.iter().map(|variable| of_pem(variable, arguments.reveal)));
    }
    if arguments.json {
        let variables: Vec<_> =
            all.iter().map(|one| json!({ "name": one.name, "what": one.what, "value": one.value })).collect();
        out::json(&json!({ "variables": variables }));
    } else {
        out::text(&all.iter().map(line).collect::<Vec<_>>().join("\n"));
    }
    Ok(())
}

fn shown(name: &str, what: String) -> Shown {
    Shown { name: name.to_owned(), what, value: None }
}

fn of_run(hosts: &[Hostname], ways: &Ways) -> Vec<Shown> {
    let mirrors = &ways.mirrors;
    let led = if ways.has_blocks { "its hosts on the bridge" } else { "without `host` blocks for its hosts" };
    let configuration = shown(CONFIGURATION, format!("the file of a run: your own configuration, {led}"));
    let tokens = hosts.iter().map(|host| shown(&token_variable(host), format!("a session token of a run, for {host}")));
    let mirrored =
        mirrors.translated.iter().flat_map(|mirror| mirror.registries.iter().map(move |r| (&mirror.hostname, r)));
    let of_mirror = |(mirror, registry)| {
        shown(&token_variable(registry), format!("a session token of a run, for the mirror at {mirror}"))
    };
    let mirrored = mirrored.filter(|(_, registry)| !hosts.contains(registry)).map(of_mirror);
    let mut all: Vec<Shown> = std::iter::once(configuration).chain(tokens).chain(mirrored).collect();
    all.extend(
        variables::patience(mirrors)
            .map(|variable| shown(variable.name(), variable.value().unwrap_or_default().to_owned())),
    );
    if ways.has_proxy && !hosts.is_empty() {
        all.extend(proxy::described().map(|(name, what)| shown(name, what.to_owned())));
    }
    if ways.has_blocks {
        all.extend(of_state(hosts));
    }
    all
}

fn of_state(hosts: &[Hostname]) -> Vec<Shown> {
    let mut all = Vec::new();
    for (name, address) in state::addresses() {
        if let Some((host, path)) = state::led(&address, hosts, |host| host) {
            all.push(shown(name, format!("http://127.0.0.1:PORT/{host}{path}, PORT being that of a run")));
        }
    }
    if !all.is_empty() {
        all.push(shown("TF_HTTP_USERNAME", "credmint".to_owned()));
        all.push(shown("TF_HTTP_PASSWORD", "the session token of that host".to_owned()));
    }
    all
}

fn of_pem(variable: &Variable, reveal: bool) -> Shown {
    let value = variable.value().filter(|_| reveal).map(str::to_owned);
    Shown { name: variable.name().to_owned(), what: "PEM, the same until it ends".to_owned(), value }
}

/// Writes a line that a shell may read: a comment, where there is no value.
fn line(one: &Shown) -> String {
    match &one.value {
        Some(value) => format!("export {}='{}'", one.name, value.replace('\'', "'\\''")),
        None => format!("# {} ({})", one.name, one.what),
    }
}

/// Reads the settings; none are none.
pub(crate) fn settings() -> Result<Settings, Failure> {
    let Some(files) = SettingsFiles::find() else { return Ok(Settings::default()) };
    let texts = files.read().map_err(|error| Failure::new(FailureKind::Settings, error.to_string()))?;
    credmint_settings::read(&texts).map_err(|error| settings_failure(&error))
}

/// Lists the hosts that the bridge serves: of which a person allows each use, and those of a run.
pub(crate) fn hosts(settings: &Settings) -> (Vec<Hostname>, Vec<Hostname>) {
    let bridged = settings.hosts.iter().filter(|(_, host)| host.deliver == Deliver::Bridge);
    let (confirm, of_run): (Vec<_>, Vec<_>) = bridged.partition(|(_, host)| host.confirm);
    let names = |hosts: Vec<(&Hostname, _)>| hosts.into_iter().map(|(name, _)| name.clone()).collect();
    (names(confirm), names(of_run))
}

/// Names the hosts of a run.
pub(crate) fn names_of_run() -> Result<Vec<String>, Failure> {
    Ok(hosts(&settings()?).1.iter().map(ToString::to_string).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::mirrors::Mirrors;

    #[test]
    fn a_shell_may_read_what_is_shown() {
        let host = Hostname::from_comparison_form("my-registry.corp.example").expect("a hostname");
        let lines: Vec<String> =
            of_run(&[host], &Ways::of(Carrier::Auto, Mirrors::default())).iter().map(line).collect();
        assert!(lines.iter().all(|line| line.starts_with("# ")), "{lines:?}");
        assert!(lines.iter().any(|line| line.starts_with("# TF_TOKEN_my__registry_corp_example (")), "{lines:?}");
        let pem = Variable::open("TF_HTTP_CLIENT_CERTIFICATE_PEM", "a'b");
        assert_eq!(line(&of_pem(&pem, true)), "export TF_HTTP_CLIENT_CERTIFICATE_PEM='a'\\''b'");
        assert!(!line(&of_pem(&pem, false)).contains("a'b"));
    }
}
