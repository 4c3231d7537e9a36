//! Which changes a setup needs: found out whole before the first is made.
//! A hostname, a tool and the arguments come in, changes and notes go out.
//! Reads files and changes none.

use credmint_local_machine::{SettingsFiles, own_uid};
use credmint_settings::Bridge;
use credmint_vocabulary::{Failure, FailureKind, Hostname};

use super::arguments::SetupArguments;
use super::change::Change;
use super::configuration_file::{Places, read, refuse, refuse_other_helpers};
use super::host_settings::{HostSettings, check_upstream};
use super::services::Services;
use super::{cli_configuration, drop_in, helper_file, offered, shadow};
use crate::command_line::Tool;
use crate::programs;

/// Holds what is to be done.
pub(crate) struct Plan {
    /// The host that is meant.
    pub(crate) host: Hostname,
    /// What people should know beside it.
    pub(crate) notes: Vec<String>,
    /// In the order in which they are made.
    pub(crate) changes: Vec<Change>,
    /// Whether the host can be asked for its services once they are made.
    pub(crate) asks_again: bool,
}

/// Finds out what is to be done.
pub(crate) fn make(host: &Hostname, tool: Tool, arguments: &SetupArguments) -> Result<Plan, Failure> {
    let places = Places::of(tool)?;
    let (settings, files) = settings(host)?;
    if arguments.remove {
        let changes = removal(host, &places, &settings, files.as_ref())?;
        return Ok(Plan { host: host.clone(), notes: Vec::new(), changes, asks_again: false });
    }
    let drop_in = match (&arguments.upstream, files) {
        (Some(upstream), Some(files)) => {
            check_upstream(host, upstream)?;
            drop_in::add(host, upstream, &files, &settings)?
        }
        _ => None,
    };
    refuse_other_helpers(&places, host)?;
    let helper = helper_file::install(&places.plugins, &programs::beside(programs::HELPER)?)?;
    let agent = helper_file::install_agent(&places.plugins)?;
    // A host whose upstream is about to be settled is asked afterwards; whoever only looks asks nobody.
    let asks = !settings.without_bridge && !arguments.any_login && drop_in.is_none();
    let (services, told) = offered::services(host, &settings, asks);
    let configuration = addition(host, &places, &settings, arguments, services)?;
    let notes =
        shadow::notes(host, &places)?.into_iter().chain(helper.as_ref().and(places.note())).chain(told).collect();
    let asks_again = drop_in.is_some() && settings.complete && !settings.without_bridge;
    let changes = [helper, agent, drop_in, configuration].into_iter().flatten().collect();
    Ok(Plan { host: host.clone(), notes, changes, asks_again })
}

/// Reads what the settings say about the host, and where they are.
pub(crate) fn settings(host: &Hostname) -> Result<(HostSettings, Option<SettingsFiles>), Failure> {
    let files = SettingsFiles::find();
    let texts = files.as_ref().map(SettingsFiles::read).transpose();
    let texts = texts.map_err(|error| Failure::new(FailureKind::Settings, error.to_string()))?;
    Ok((HostSettings::of(host, &texts.unwrap_or_default())?, files))
}

fn addition(
    host: &Hostname,
    places: &Places,
    settings: &HostSettings,
    arguments: &SetupArguments,
    services: Services,
) -> Result<Option<Change>, Failure> {
    let path = &places.configuration;
    let old = read(path)?;
    let port = Bridge { port: settings.port, ..Bridge::default() }.port_for(own_uid());
    let services = match settings.person {
        Some(_) if !arguments.no_login => services.with_login(host, port),
        _ => services,
    };
    let services = (!settings.without_bridge).then(|| services.with_any_login(arguments.any_login));
    let text = old.clone().unwrap_or_else(cli_configuration::new_file);
    let new = cli_configuration::add(&text, host, services.as_ref()).map_err(|error| refuse(path, host, &error))?;
    Ok((old.as_ref() != Some(&new)).then(|| Change::Write { path: path.clone(), old, new }))
}

fn removal(
    host: &Hostname,
    places: &Places,
    settings: &HostSettings,
    files: Option<&SettingsFiles>,
) -> Result<Vec<Change>, Failure> {
    let path = places.configuration.clone();
    let old = read(&path)?.unwrap_or_default();
    let new = cli_configuration::remove(&old, host, settings.others_without_bridge);
    let new = new.map_err(|error| refuse(&path, host, &error))?;
    let unused = !cli_configuration::names_our_helper(&new) && !used_elsewhere(places)?;
    let edit = match () {
        () if new == old => None,
        () if cli_configuration::is_bare(&new) => Some(Change::Delete { path, old }),
        () => Some(Change::Write { path, old: Some(old), new }),
    };
    let drop_in = files.map(|files| drop_in::remove(host, files)).transpose()?.flatten();
    let helpers = if unused { helper_file::uninstall(&places.plugins) } else { Vec::new() };
    Ok([edit, drop_in].into_iter().flatten().chain(helpers).collect())
}

/// Tells whether another CLI configuration names our helper: both tools use one plug-in directory.
fn used_elsewhere(places: &Places) -> Result<bool, Failure> {
    let mut texts = places.others().into_iter().chain(places.further()).map(|path| read(&path));
    texts.try_fold(false, |used, text| Ok(used || text?.is_some_and(|text| cli_configuration::names_our_helper(&text))))
}
