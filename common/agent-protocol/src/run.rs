//! The messages of a run of `credmint exec`, as serde sees them.
//! JSON comes in, plain structs go out, and back; unknown properties are skipped.
//! Carries secrets: tokens that are worth something only at the run's own port, and the caller's proxy with its password.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::FailureOnWire;
use crate::wire_secret::WireSecret;

/// Asks for a run: it lasts as long as the connection.
#[derive(Default, Serialize, Deserialize)]
pub struct RunWanted {
    /// Settings file that the caller's environment names; none means the usual place.
    #[serde(default)]
    pub settings: Option<String>,
    /// The usual place, as the caller has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usual_settings: Option<String>,
    /// The caller's build; empty: it does not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub build: String,
    /// Provider mirrors that are to stand for registries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mirrors: Vec<RunMirror>,
    /// Name of the program that is run, for `credmint status`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub program: String,
    /// Hostnames whose services the caller knows: of the others, the run has what their discovery documents say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub described: Vec<String>,
    /// The run's port is to be a proxy, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<ProxyWanted>,
    /// What the program is about, `plan` or `apply`, as far as its command or the environment says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Providers of the settings whose credentials the program is to have, by their names or hosts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub providers: Vec<String>,
    /// How long their credentials are to live at most, in seconds, as far as their issuers let anybody choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u64>,
}

/// A provider mirror that stands for registries in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunMirror {
    /// Hostname in comparison form.
    pub hostname: String,
    /// Path below which its documents are.
    pub path: String,
    /// The registries, as hostnames in comparison form.
    pub registries: Vec<String>,
}

/// What the proxy of a run has to know of the proxy that the caller had.
#[derive(Default, Serialize, Deserialize)]
pub struct ProxyWanted {
    /// URL of that, which may have a password in it (`HTTPS_PROXY`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outer: Option<WireSecret>,
    /// What it is not asked for (`NO_PROXY`).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub no_proxy: String,
}

/// What a run has.
#[derive(Default, Serialize, Deserialize)]
pub struct RunOpen {
    /// Loopback port of the bridge, for this run alone.
    pub port: u16,
    /// Private directory for the files of the run; the agent removes it when the caller goes away.
    pub directory: String,
    /// Who can be reached there.
    pub hosts: Vec<RunHost>,
    /// Hostnames that are no part of the run, because a person allows each use of them (`confirm`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confirm: Vec<String>,
    /// Registries that a mirror stands for and that are no hosts of the run themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub registries: Vec<RunHost>,
    /// The proxy, if one was wanted and there is a host to reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<RunProxy>,
    /// The providers that were wanted, all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub providers: Vec<RunProvider>,
}

/// One provider of a run.
#[derive(Default, Serialize, Deserialize)]
pub struct RunProvider {
    /// Name in the settings.
    pub name: String,
    /// By which way the program gets it, in the word of the settings.
    pub channel: String,
    /// What the program finds in its environment.
    pub variables: BTreeMap<String, WireSecret>,
    /// Variables of the caller that the program is not to have: they would go before these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Variables that are to name an empty file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub emptied: Vec<String>,
    /// What the person should know of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
}

/// The proxy of a run, which is at its port.
#[derive(Serialize, Deserialize)]
pub struct RunProxy {
    /// What it takes for a password, until the run ends.
    pub token: WireSecret,
    /// Certificate of the authority that it was given for this run, in PEM form.
    pub certificate: String,
}

/// One host of a run.
#[derive(Serialize, Deserialize)]
pub struct RunHost {
    /// Hostname in comparison form.
    pub hostname: String,
    /// What the bridge accepts for this host, at this port, until the run ends.
    pub token: WireSecret,
    /// What it says it offers, by name; left out where the caller knows, or it could not be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub services: Option<BTreeMap<String, Value>>,
    /// Why it could not be asked, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unasked: Option<String>,
}

/// Ends a run in good order; its object says nothing but that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnd {
    /// Always true.
    pub end: bool,
}

/// What became of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunOver {
    /// What the bridge refused, each once, the first ones.
    #[serde(default)]
    pub failures: Vec<FailureOnWire>,
    /// What was granted for the run and could not be revoked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_revoked: Vec<FailureOnWire>,
}

/// A run that is open, as `credmint status` shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStatus {
    /// Name of the program, as the caller gave it.
    pub program: String,
    /// Process of the `credmint exec` that runs it, where the kernel tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
    /// When it began, RFC 3339.
    pub since: String,
    /// Hosts that it can reach.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Its loopback port.
    #[serde(default)]
    pub port: u16,
    /// How many requests it was let in with so far.
    #[serde(default)]
    pub requests: u64,
}
