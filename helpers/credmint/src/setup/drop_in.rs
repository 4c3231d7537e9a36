//! The drop-in that says where the bridge goes for a host.
//! A URL and what the settings say so far come in, the change that is needed goes out.
//! Writes nothing itself, and never into a file that a person wrote.

use std::path::PathBuf;

use credmint_local_machine::SettingsFiles;
use credmint_vocabulary::{Failure, FailureKind, Hostname};

use super::change::Change;
use super::configuration_file::read;
use super::host_settings::HostSettings;

const MARK: &str = "# Written by `credmint setup`";

/// Finds out what is needed so that the bridge goes to `upstream`.
pub(crate) fn add(
    host: &Hostname,
    upstream: &str,
    files: &SettingsFiles,
    settings: &HostSettings,
) -> Result<Option<Change>, Failure> {
    let path = place(files, host);
    match &settings.upstream {
        Some((said, _)) if said == upstream => Ok(None),
        Some((said, file)) if *file != path.display().to_string() => Err(other(host, said, file)),
        None if files.explicit => Err(no_drop_ins(host, upstream, files)),
        _ => write(host, upstream, path),
    }
}

/// Finds out what has to go.
pub(crate) fn remove(host: &Hostname, files: &SettingsFiles) -> Result<Option<Change>, Failure> {
    let path = place(files, host);
    let ours = read(&path)?.filter(|text| text.starts_with(MARK));
    Ok(ours.map(|old| Change::Delete { path, old }))
}

fn write(host: &Hostname, upstream: &str, path: PathBuf) -> Result<Option<Change>, Failure> {
    let old = read(&path)?;
    if old.as_ref().is_some_and(|text| !text.starts_with(MARK)) {
        let what = format!("{} is there already, and was not written by `credmint setup`", path.display());
        return Err(Failure::new(FailureKind::Settings, what).hint(format!("put `{}` into it", key(upstream))));
    }
    let new =
        format!("{MARK}; `credmint setup {host} --remove` takes it out again.\n[host.\"{host}\"]\n{}\n", key(upstream));
    Ok(Some(Change::Write { path, old, new }))
}

fn key(upstream: &str) -> String {
    format!("upstream = {}", toml::Value::from(upstream))
}

fn place(files: &SettingsFiles, host: &Hostname) -> PathBuf {
    files.drop_in.join(format!("{}.toml", host.as_str().replace(':', "_")))
}

fn other(host: &Hostname, said: &str, file: &str) -> Failure {
    Failure::new(FailureKind::Settings, format!("{file} already says that the upstream of {host} is {said}"))
        .hint("change it there, or run this again without --upstream")
}

fn no_drop_ins(host: &Hostname, upstream: &str, files: &SettingsFiles) -> Failure {
    let main = files.main.display();
    Failure::new(FailureKind::Settings, format!("CREDMINT_CONFIG names {main}, beside which no drop-ins are read"))
        .hint(format!("put `{}` under [host.\"{host}\"] there, and run this again", key(upstream)))
}
