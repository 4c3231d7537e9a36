//! What a credential is asked for: a host that Terraform talks to, or a provider of the settings.
//! A text comes in (`registry.corp.example`, `provider/prod`), a checked name goes out, and back.
//! Touches nothing. `protocol-spec/agent-protocol.md` §3.

use std::fmt;

use crate::hostname::{Hostname, HostnameError};

/// Names what a route of the settings leads from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RouteName {
    /// `[host."…"]`.
    Host(Hostname),
    /// `[provider.…]`, by its name, or by one of its hosts.
    Provider(String),
}

/// Says why a text names no route.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RouteNameError {
    /// No hostname, and no provider either.
    #[error("{0}")]
    Hostname(#[from] HostnameError),
    /// Nothing follows `provider/`, or something that no settings can have.
    #[error("the name of the provider is empty, longer than {MOST} characters, or has a control character")]
    Provider,
}

impl RouteName {
    /// Reads `provider/NAME`, or a hostname in comparison form: no hostname has a slash.
    ///
    /// # Errors
    /// [`RouteNameError`] says what is wrong.
    pub fn from_text(text: &str) -> Result<Self, RouteNameError> {
        match text.strip_prefix(PROVIDER) {
            Some(name) => Self::provider(name),
            None => Ok(Self::Host(Hostname::from_comparison_form(text)?)),
        }
    }

    /// Names a provider.
    ///
    /// # Errors
    /// [`RouteNameError::Provider`], when no settings can have the name.
    pub fn provider(name: &str) -> Result<Self, RouteNameError> {
        let fits = !name.is_empty() && name.len() <= MOST && !name.chars().any(char::is_control);
        if fits { Ok(Self::Provider(name.to_owned())) } else { Err(RouteNameError::Provider) }
    }

    /// Gives the host, if it is one.
    #[must_use]
    pub fn host(&self) -> Option<&Hostname> {
        match self {
            Self::Host(hostname) => Some(hostname),
            Self::Provider(_) => None,
        }
    }
}

impl From<Hostname> for RouteName {
    fn from(hostname: Hostname) -> Self {
        Self::Host(hostname)
    }
}

impl PartialEq<Hostname> for RouteName {
    fn eq(&self, other: &Hostname) -> bool {
        self.host() == Some(other)
    }
}

impl fmt::Display for RouteName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(hostname) => hostname.fmt(formatter),
            Self::Provider(name) => write!(formatter, "{PROVIDER}{name}"),
        }
    }
}

const PROVIDER: &str = "provider/";
const MOST: usize = 253;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_host_or_a_provider_and_reads_back() {
        for text in [
            "registry.corp.example:8443",
            "[::1]:8443",
            "provider/prod",
            "provider/gitlab.corp.example",
            "provider/a/b",
        ] {
            let name = RouteName::from_text(text).expect(text);
            assert_eq!(name.to_string(), text);
            assert_eq!(name.host().is_none(), text.starts_with("provider/"));
        }
    }

    #[test]
    fn what_no_settings_can_have_is_no_name() {
        for text in ["", "provider/", "provider/a\nb", "provider", "Provider/x", "a/b"] {
            let found = RouteName::from_text(text);
            assert!(found.is_err() || text == "provider", "{text:?}");
        }
    }
}
