//! A person of the settings: an identity that somebody signs in for, of either kind.
//! An identity comes in, what a sign-in has to know of it goes out.
//! Holds references into the settings and nothing of its own.

use std::time::Duration;

use crate::identity::{Identity, OidcIdentity, RedirectHost, VaultOidcIdentity};

/// Lends the settings of somebody who signs in with `credmint login`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Person<'a> {
    /// `kind = "oidc"`: at an OpenID Provider.
    Oidc(&'a OidcIdentity),
    /// `kind = "vault-oidc"`: at a Vault, which sends the person to its OpenID Provider.
    VaultOidc(&'a VaultOidcIdentity),
}

impl Identity {
    /// Gives the person, if the identity is one's.
    #[must_use]
    pub fn person(&self) -> Option<Person<'_>> {
        match self {
            Self::Oidc(person) => Some(Person::Oidc(person)),
            Self::VaultOidc(person) => Some(Person::VaultOidc(person)),
            _ => None,
        }
    }
}

impl<'a> Person<'a> {
    /// Gives the identity that it was lent from.
    #[must_use]
    pub fn identity(self) -> Identity {
        match self {
            Self::Oidc(person) => Identity::Oidc(Box::new(person.clone())),
            Self::VaultOidc(person) => Identity::VaultOidc(Box::new(person.clone())),
        }
    }

    /// Gives `browser`.
    #[must_use]
    pub fn browser(self) -> Option<&'a [String]> {
        match self {
            Self::Oidc(person) => person.browser.as_deref(),
            Self::VaultOidc(person) => person.browser.as_deref(),
        }
    }

    /// Gives `redirect_ports`.
    #[must_use]
    pub fn redirect_ports(self) -> &'a [u16] {
        match self {
            Self::Oidc(person) => &person.redirect_ports,
            Self::VaultOidc(person) => &person.redirect_ports,
        }
    }

    /// Gives `redirect_host`.
    #[must_use]
    pub const fn redirect_host(self) -> RedirectHost {
        match self {
            Self::Oidc(person) => person.redirect_host,
            Self::VaultOidc(person) => person.redirect_host,
        }
    }

    /// Gives `redirect_path`; at a Vault it is the one of its own command line, which roles allow.
    #[must_use]
    pub fn redirect_path(self) -> &'a str {
        match self {
            Self::Oidc(person) => &person.redirect_path,
            Self::VaultOidc(_) => "/oidc/callback",
        }
    }

    /// Gives `lifetime`.
    #[must_use]
    pub const fn lifetime(self) -> Option<Duration> {
        match self {
            Self::Oidc(person) => person.lifetime,
            Self::VaultOidc(person) => person.lifetime,
        }
    }

    /// Gives `sign_in_timeout`.
    #[must_use]
    pub const fn sign_in_timeout(self) -> Duration {
        match self {
            Self::Oidc(person) => person.sign_in_timeout,
            Self::VaultOidc(person) => person.sign_in_timeout,
        }
    }
}
