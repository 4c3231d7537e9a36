//! How the agent is, as serde sees it.
//! JSON comes in, plain structs go out, and back; unknown properties are skipped.
//! Carries names and times alone, never a secret.

use serde::{Deserialize, Serialize};

use crate::enrol::RequestStatus;
use crate::lock::LockStatus;
use crate::run::RunStatus;
use crate::sign_in::SessionStatus;

/// How the agent is: names and times, never secrets.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Status {
    /// Version of the program.
    pub version: String,
    /// Its build, with a word when its executable was replaced; empty: it does not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub build: String,
    /// Process id.
    pub pid: u32,
    /// When it started, RFC 3339.
    pub started: String,
    /// What of the hardening took effect, and what did not.
    #[serde(default)]
    pub hardening: Vec<String>,
    /// Addresses the bridge listens on.
    #[serde(default)]
    pub bridge: Vec<String>,
    /// Providers of the caller's settings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub providers: Vec<ProviderStatus>,
    /// What is kept for this caller.
    #[serde(default)]
    pub entries: Vec<EntryStatus>,
    /// How many more entries are kept for callers whose identity this one cannot name.
    #[serde(default)]
    pub other_entries: usize,
    /// Who signed in for the identities that the caller's settings name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<SessionStatus>,
    /// That all of it is encrypted, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locked: Option<LockStatus>,
    /// Certification requests of the caller's hosts that wait for their certificates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<RequestStatus>,
    /// How the program ended that is run after renewals, the last time, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_hook: Option<String>,
    /// Which lines of the bridge's audit could not be written, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<String>,
    /// Runs of `credmint exec` that are open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunStatus>,
    /// Providers of the caller's settings for which a placeholder was given, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placeholders: Vec<String>,
    /// Addresses where numbers are read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<String>,
    /// Where they cannot be read, and why, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics_trouble: Option<String>,
}

/// One entry, without what it holds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EntryStatus {
    /// Host of the route.
    pub hostname: String,
    /// Name of the identity.
    pub identity: String,
    /// `sub` claim of the identity's token, if it was readable.
    #[serde(default)]
    pub subject: Option<String>,
    /// Name of the issuer.
    pub issuer: String,
    /// `certificate`, `token`, or `keys` of AWS.
    pub kind: String,
    /// Certificate subject, or nothing.
    #[serde(default)]
    pub certificate_subject: Option<String>,
    /// Certificate serial number, or nothing.
    #[serde(default)]
    pub serial: Option<String>,
    /// End of life, RFC 3339.
    #[serde(default)]
    pub expires: Option<String>,
    /// Seconds that remain.
    #[serde(default)]
    pub remaining_seconds: Option<u64>,
    /// When it is renewed next, RFC 3339.
    #[serde(default)]
    pub renews: Option<String>,
    /// What the issuer granted differently from what was asked.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// One provider of the caller's settings.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ProviderStatus {
    /// Its name.
    pub name: String,
    /// Hosts for which it is asked, in comparison form.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// User name that goes with its token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// Whether a token is among what it grants.
    #[serde(default)]
    pub token: bool,
}
