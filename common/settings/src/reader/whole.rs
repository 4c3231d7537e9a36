//! All tables together: sections in, [`Settings`] out.
//! The merged tree comes in; what has to exist before it is referred to is read first.
//! Reads nothing but the tree.

use std::collections::BTreeMap;

use crate::error::SettingsError;
use crate::reader::certificate_issuer;
use crate::reader::host::{agent, bridge, host, hostname, provider};
use crate::reader::identity::identity;
use crate::reader::issuer::issuer;
use crate::reader::item::Item;
use crate::route::Settings;
use crate::text::nearest;
use crate::tree::{Entry, Table};

/// The tables that there are.
pub(crate) const SECTIONS: [&str; 6] = ["identity", "issuer", "host", "provider", "bridge", "agent"];

/// The tables that a later version will know.
const LATER: [&str; 1] = ["site"];

pub(crate) fn settings(root: &Table) -> Result<Settings, SettingsError> {
    root.entries.iter().try_for_each(known_section)?;
    let mut settings = Settings {
        identities: named(root, "identity", identity)?,
        issuers: named(root, "issuer", issuer)?,
        hosts: BTreeMap::new(),
        providers: BTreeMap::new(),
        bridge: section(root, "bridge")?.map(bridge).transpose()?.unwrap_or_default(),
        agent: section(root, "agent")?.map(agent).transpose()?.unwrap_or_default(),
    };
    certificate_issuer::check(section(root, "issuer")?, &settings.issuers)?;
    for entry in section(root, "host")?.map_or(&[][..], |table| &table.entries) {
        let hostname = hostname(entry)?;
        let host = host(inner(entry, "host")?, &settings)?;
        settings.hosts.insert(hostname, host);
    }
    for entry in section(root, "provider")?.map_or(&[][..], |table| &table.entries) {
        let provider = provider(inner(entry, "provider")?, &settings)?;
        settings.providers.insert(entry_name(entry)?, provider);
    }
    Ok(settings)
}

fn known_section(entry: &Entry) -> Result<(), SettingsError> {
    let name = entry.name.as_str();
    if SECTIONS.contains(&name) {
        return Ok(());
    }
    if LATER.contains(&name) {
        return Err(SettingsError::at(
            &entry.place,
            format!("this version of credmint does not know [{name}.…] tables"),
        )
        .with_hint("leave them out, or use a later version"));
    }
    let hint = nearest::hint(name, SECTIONS, "tables");
    Err(SettingsError::at(&entry.place, format!("unknown table or key `{name}`")).with_hint(hint))
}

fn section<'t>(root: &'t Table, name: &str) -> Result<Option<&'t Table>, SettingsError> {
    let example = if ["bridge", "agent"].contains(&name) { format!("[{name}]") } else { format!("[{name}.NAME]") };
    root.find(name).map(|entry| Item::of(entry).table("a table", &example)).transpose()
}

fn named<T>(
    root: &Table,
    name: &str,
    read: fn(&Table) -> Result<T, SettingsError>,
) -> Result<BTreeMap<String, T>, SettingsError> {
    let entries = section(root, name)?.map_or(&[][..], |table| &table.entries);
    entries.iter().map(|entry| Ok((entry_name(entry)?, read(inner(entry, name)?)?))).collect()
}

fn inner<'t>(entry: &'t Entry, section: &str) -> Result<&'t Table, SettingsError> {
    Item::of(entry).table("a table", &format!("[{section}.NAME], and the keys below it"))
}

fn entry_name(entry: &Entry) -> Result<String, SettingsError> {
    if entry.name.is_empty() || entry.name.chars().any(char::is_control) {
        return Err(SettingsError::at(&entry.place, "a name is empty or has a control character in it")
            .with_hint("names look like registry-cert"));
    }
    Ok(entry.name.clone())
}
