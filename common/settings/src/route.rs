//! From a hostname or a provider's name to its route: the ordered identities and the issuer.
//! Checked settings and a name come in, references into the settings go out.
//! Reads nothing: [`Route::caller_reads`] only says what has to be read from the caller.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use credmint_vocabulary::{Hostname, RouteName};

use crate::host::{AgentSettings, Bridge, Host, Provider};
use crate::identity::Identity;
use crate::issuer::Issuer;
use crate::policy::WhenAbsent;

/// Holds all that the files say, checked: no dangling name, no unknown key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `[identity.NAME]`.
    pub identities: BTreeMap<String, Identity>,
    /// `[issuer.NAME]`.
    pub issuers: BTreeMap<String, Issuer>,
    /// `[host."…"]`.
    pub hosts: BTreeMap<Hostname, Host>,
    /// `[provider.NAME]`.
    pub providers: BTreeMap<String, Provider>,
    /// `[bridge]`.
    pub bridge: Bridge,
    /// `[agent]`.
    pub agent: AgentSettings,
}

/// Leads from a host to who asks and who grants.
#[derive(Clone, Copy, Debug)]
pub struct Route<'a> {
    /// The host's table.
    pub host: &'a Host,
    /// Name of the issuer.
    pub issuer_name: &'a str,
    /// The issuer.
    pub issuer: &'a Issuer,
    identities: &'a [String],
    settings: &'a Settings,
}

/// Lists what a route reads from the caller: the agent's own environment and files are not the caller's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallerReads {
    /// Names of environment variables.
    pub environment: BTreeSet<String>,
    /// Paths of files.
    pub files: BTreeSet<PathBuf>,
}

impl Settings {
    /// Finds the route of a host or a provider; `None` when we are not responsible for it.
    #[must_use]
    pub fn route(&self, name: &RouteName) -> Option<Route<'_>> {
        match name {
            RouteName::Host(hostname) => self.host_route(hostname),
            RouteName::Provider(name) => self.led_from(&self.provider(name)?.1.host),
        }
    }

    /// Finds the route of a host.
    #[must_use]
    pub fn host_route(&self, hostname: &Hostname) -> Option<Route<'_>> {
        self.led_from(self.hosts.get(hostname)?)
    }

    fn led_from<'a>(&'a self, host: &'a Host) -> Option<Route<'a>> {
        let (issuer_name, issuer) = self.issuers.get_key_value(&host.issuer)?;
        Some(Route { host, issuer_name, issuer, identities: &host.identities, settings: self })
    }

    /// Lists all that routes lead from.
    pub fn names(&self) -> impl Iterator<Item = RouteName> + '_ {
        let hosts = self.hosts.keys().cloned().map(RouteName::Host);
        hosts.chain(self.providers.keys().cloned().map(RouteName::Provider))
    }

    /// Finds a provider by its name, else by one of its hosts; gives its name.
    #[must_use]
    pub fn provider(&self, name: &str) -> Option<(&str, &Provider)> {
        let own = self.providers.get_key_value(name);
        let is_host = |provider: &Provider| provider.hosts.iter().any(|host| host.as_str() == name);
        let found = own.or_else(|| self.providers.iter().find(|(_, provider)| is_host(provider)));
        found.map(|(name, provider)| (name.as_str(), provider))
    }
}

impl<'a> Route<'a> {
    /// Leads to the bearer token that the host gets besides its certificate, if it does.
    #[must_use]
    pub fn token(&self) -> Option<Self> {
        let (issuer_name, issuer) = self.settings.issuers.get_key_value(self.host.token_issuer.as_ref()?)?;
        Some(Self { issuer_name, issuer, ..*self })
    }

    /// Leads to what is granted while nothing is to be changed, where that is something else.
    #[must_use]
    pub fn plan(&self) -> Option<Self> {
        let (issuer_name, issuer) = self.settings.issuers.get_key_value(self.host.policy.plan_issuer.as_ref()?)?;
        Some(Self { issuer_name, issuer, ..*self })
    }

    /// Leads to the certificate that the issuer wants to see, if it does.
    #[must_use]
    pub fn certificate(&self) -> Option<Self> {
        let (issuer_name, issuer) = self.settings.issuers.get_key_value(self.issuer.certificate_issuer()?)?;
        Some(Self { issuer_name, issuer, ..*self })
    }

    /// Leads to what a job gets that has no user, where that is something of its own.
    #[must_use]
    pub fn fallback(&self) -> Option<Self> {
        let WhenAbsent::Fallback { identities, issuer } = &self.host.policy.when_absent else { return None };
        let (issuer_name, issuer) = self.settings.issuers.get_key_value(issuer)?;
        Some(Self { issuer_name, issuer, identities, ..*self })
    }

    /// Finds the person who signs in for the host: the first of its identities that is one.
    #[must_use]
    pub fn person(&self) -> Option<(&'a str, &'a Identity)> {
        self.identities().find(|(_, identity)| matches!(identity, Identity::Oidc(_)))
    }

    /// Lists the identities in the order in which they are asked.
    pub fn identities(&self) -> impl Iterator<Item = (&'a str, &'a Identity)> + use<'a> {
        let settings = self.settings;
        let known = move |name: &'a String| settings.identities.get_key_value(name);
        self.identities.iter().filter_map(known).map(|(name, identity)| (name.as_str(), identity))
    }
}
