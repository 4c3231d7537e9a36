//! The environment variables that credmint itself reads, by name; settings may name others, which the caller supplies.
//! A name comes in, the value goes out if it is set, not empty and readable.
//! The only place of the house that reads the environment.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use credmint_vocabulary::Secret;

/// Settings file in place of the usual one.
pub const CREDMINT_CONFIG: &str = "CREDMINT_CONFIG";
/// `auto` (default): use a running agent, else start one. `once`: a child for each request, nothing kept.
pub const CREDMINT_AGENT: &str = "CREDMINT_AGENT";
/// Path of the agent's socket in place of the usual one; its directory must be private.
pub const CREDMINT_SOCKET: &str = "CREDMINT_SOCKET";
/// The agent's executable, in place of the one beside the helper or in `PATH`.
pub const CREDMINT_AGENT_PROGRAM: &str = "CREDMINT_AGENT_PROGRAM";
/// What the run is about, where the agent cannot see it: `plan` or `apply`.
pub const CREDMINT_PHASE: &str = "CREDMINT_PHASE";
/// What the variables of `credmint exec` replaced, as a JSON object; those that were not set are `null`.
pub const CREDMINT_BEFORE_EXEC: &str = "CREDMINT_BEFORE_EXEC";
/// Directory for sockets (XDG Base Directory).
pub const XDG_RUNTIME_DIR: &str = "XDG_RUNTIME_DIR";
/// Directory for settings (XDG Base Directory).
pub const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";
/// Directory for state (XDG Base Directory).
pub const XDG_STATE_HOME: &str = "XDG_STATE_HOME";
/// The person's home directory.
pub const HOME: &str = "HOME";
/// Directory for temporary files.
pub const TMPDIR: &str = "TMPDIR";
/// Where programs are found.
pub const PATH: &str = "PATH";
/// Windows: the person's home directory.
pub const USERPROFILE: &str = "USERPROFILE";
/// Windows: roaming settings.
pub const APPDATA: &str = "APPDATA";
/// Windows: state of this machine.
pub const LOCALAPPDATA: &str = "LOCALAPPDATA";
/// Windows: name of the person.
pub const USERNAME: &str = "USERNAME";
/// Windows: where the system is; without it sockets do not open.
pub const SYSTEM_ROOT: &str = "SystemRoot";
/// Where the desktop session's bus is, with its store of secrets; the library that asks it reads the variable itself.
pub const DBUS_SESSION_BUS_ADDRESS: &str = "DBUS_SESSION_BUS_ADDRESS";
/// The person's browser: commands, the first that can be started is taken.
pub const BROWSER: &str = "BROWSER";
/// X11: there is a display.
pub const DISPLAY: &str = "DISPLAY";
/// Wayland: there is a display.
pub const WAYLAND_DISPLAY: &str = "WAYLAND_DISPLAY";
/// X11: where the key to the display is.
pub const XAUTHORITY: &str = "XAUTHORITY";
/// Set over ssh.
pub const SSH_CONNECTION: &str = "SSH_CONNECTION";
/// Set over ssh.
pub const SSH_CLIENT: &str = "SSH_CLIENT";
/// Set over ssh with a terminal.
pub const SSH_TTY: &str = "SSH_TTY";
/// Set by container managers (systemd's convention).
pub const CONTAINER: &str = "container";
/// Set in each container of Kubernetes.
pub const KUBERNETES_SERVICE_HOST: &str = "KUBERNETES_SERVICE_HOST";
/// Set in Windows' Linux subsystem, where the browser is Windows' one.
pub const WSL_DISTRO_NAME: &str = "WSL_DISTRO_NAME";

/// What the proxy of a run replaces for its program, and what is none of ours: we and what we start have it as it was.
const REPLACED: [&str; 5] = ["HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE"];

/// What an agent gets of our environment; no token, no proxy, no trust store of the caller's is among it.
pub(crate) const FOR_THE_AGENT: &[&str] = &[
    CREDMINT_CONFIG,
    CREDMINT_SOCKET,
    XDG_RUNTIME_DIR,
    DBUS_SESSION_BUS_ADDRESS,
    XDG_CONFIG_HOME,
    XDG_STATE_HOME,
    HOME,
    TMPDIR,
    PATH,
    USERPROFILE,
    APPDATA,
    LOCALAPPDATA,
    USERNAME,
    SYSTEM_ROOT,
];

/// Reads a variable; empty, unset and non-Unicode are the same.
#[must_use]
pub fn read(name: &str) -> Option<String> {
    raw(name)?.into_string().ok().filter(|value| !value.is_empty())
}

/// Reads a variable that names an absolute path; relative ones are ignored, as XDG wants it.
#[must_use]
pub fn absolute_path(name: &str) -> Option<PathBuf> {
    raw(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Gives the home directory, if there is one.
#[must_use]
pub fn home() -> Option<PathBuf> {
    absolute_path(if cfg!(windows) { USERPROFILE } else { HOME })
}

/// Gives all of it, for a program that is to have the same.
#[expect(clippy::disallowed_methods, reason = "the one door to the environment")]
pub fn all() -> impl Iterator<Item = (OsString, OsString)> {
    env::vars_os()
}

/// Writes down what the proxy of a run is about to replace; `None` inside of another run, where that is written down already.
#[must_use]
pub fn before_exec() -> Option<Secret<String>> {
    if raw(CREDMINT_BEFORE_EXEC).is_some() {
        return None;
    }
    let values = REPLACED.iter().map(|name| (*name, raw(name).and_then(|value| value.into_string().ok())));
    serde_json::to_string(&values.collect::<BTreeMap<_, _>>()).ok().map(Secret::new)
}

/// Tells what the proxies of the runs that we are in have replaced: for each name what was there, if anything.
#[must_use]
pub fn replaced() -> Vec<(String, Option<String>)> {
    let Some(text) = read(CREDMINT_BEFORE_EXEC) else { return Vec::new() };
    let before: BTreeMap<String, Option<String>> = serde_json::from_str(&text).unwrap_or_default();
    before.into_iter().filter(|(name, _)| REPLACED.contains(&name.as_str())).collect()
}

/// Gives a program what was there before.
pub(crate) fn as_before(command: &mut Command) {
    for (name, value) in replaced() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env_remove(CREDMINT_BEFORE_EXEC);
}

#[expect(clippy::disallowed_methods, reason = "the one door to the environment")]
pub(crate) fn raw(name: &str) -> Option<OsString> {
    let sane = !name.is_empty() && !name.contains(['=', '\0']);
    if sane { env::var_os(name) } else { None }
}
