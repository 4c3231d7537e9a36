//! Every key of the settings file, and every environment name that credmint reads, in one place.
//! Text with its file name comes in, plain structs go out; a mistake is told with file, line and the nearest valid word.
//! Reads no file and no environment itself. Reference: `protocol-spec/settings.md`.

mod arguments;
mod aws;
mod channel;
mod cloud;
mod enrolment;
mod environment;
mod error;
mod host;
mod identity;
mod issuer;
mod person;
mod policy;
mod reader;
mod route;
mod short;
mod source;
mod spiffe;
mod text;
mod toml_text;
mod tree;
mod workload;

pub use arguments::from_args;
pub use aws::{AwsCaller, AwsSts, RolesAnywhere};
pub use channel::Channel;
pub use cloud::{Azure, GithubApp, GoogleSts, KubernetesToken};
pub use enrolment::{Est, EstAuth, NameTemplates, Offline, StepCa, Wanted};
pub use environment::{ENVIRONMENT, EnvironmentName};
pub use error::SettingsError;
pub use host::{AgentSettings, Audit, Bridge, Deliver, Host, Provider, Store};
pub use identity::{
    ClientAuthentication, ClientCredentials, CommandSource, Identity, OidcIdentity, OidcTokenKind, RedirectHost,
    Remember, VaultOidcIdentity,
};
pub use issuer::{
    Issuer, LocalCa, OidcToken, Peer, TokenExchange, VaultAuth, VaultLogin, VaultPki, VaultSecret, VaultToken,
};
pub use person::Person;
pub use policy::{AfterRun, Allow, Policy, WhenAbsent};
pub use route::{CallerReads, Route, Settings};
pub use short::TooShort;
pub use source::Source;
pub use spiffe::{SPIFFE_ENDPOINT_SOCKET, SpiffeIdentity, SpiffeWorkload};
pub use text::template::{TemplateError, TemplatePart, template_parts};
pub use workload::{Platform, Workload};

/// Reads a length of time as the settings have it: `8h`, `1h30m`; `None` for anything else, and for no time at all.
#[must_use]
pub fn duration(text: &str) -> Option<std::time::Duration> {
    text::duration::parse(text).ok().filter(|time| !time.is_zero())
}

/// Reads the settings: the main file first, then the drop-ins in their order, each as the name to show and its text.
/// No file at all gives settings that are responsible for no host.
///
/// # Errors
/// The first mistake. Settings with a mistake are not used at all.
pub fn read(files: &[(String, String)]) -> Result<Settings, SettingsError> {
    let mut tables = files.iter().map(|(file, text)| toml_text::parse(file, text));
    let Some(first) = tables.next() else { return Ok(Settings::default()) };
    let mut root = first?;
    tables.try_for_each(|table| root.merge(table?, MERGED_LEVELS))?;
    reader::settings(&root)
}

/// Sections and the named tables in them are merged; a key's value is not.
const MERGED_LEVELS: u8 = 2;
