//! Where a person signs in: an OpenID Provider itself, or a Vault that sends the person to one.
//! An identity of the settings comes in; the steps of a sign-in, the same for both, go out.
//! Turns the two kinds of errors into what a person reads, and decides nothing else.

use credmint_identities::{Authorization, Callback, Device, Poll, Provider, Tokens};
use credmint_issuers::{VaultBegun, VaultCall, VaultDevice, VaultPage, VaultPoll, VaultSignIn};
use credmint_local_machine::clock;
use credmint_settings::Person;
use credmint_vocabulary::{Deadline, Failure, FailureKind};
use url::Url;

use super::Attempt;
use crate::sessions::Source;

/// A sign-in that waits for its callback.
pub(super) enum Page {
    Provider(Box<Authorization>),
    Vault(VaultPage),
}

/// A sign-in that is approved on another device.
pub(super) enum Elsewhere {
    Provider(Device),
    Vault(VaultDevice),
}

/// How a sign-in goes on; a Vault's role may have it another way than it was begun.
pub(super) enum Begun {
    Page(Page),
    Elsewhere(Elsewhere),
}

/// What came of asking whether it is approved.
pub(super) enum Asked {
    Pending,
    SlowDown,
    Tokens(Tokens),
    /// The issuer is in trouble.
    Later,
}

impl Page {
    /// Gives the address for the browser.
    pub(super) const fn url(&self) -> &Url {
        match self {
            Self::Provider(authorization) => &authorization.url,
            Self::Vault(page) => &page.url,
        }
    }

    /// Tells whether a callback belongs to this sign-in.
    pub(super) fn matches(&self, callback: &Callback) -> bool {
        match self {
            Self::Provider(authorization) => authorization.matches(callback),
            Self::Vault(page) => page.matches(callback),
        }
    }
}

impl Attempt<'_> {
    /// Finds the place.
    pub(super) async fn find(&self, caller: &credmint_identities::Caller) -> Result<Source, Failure> {
        match self.person {
            Person::Oidc(person) => {
                let found = Provider::discover(person, caller, &self.agent.https, self.deadline).await;
                found.map(|provider| Source::Provider(Box::new(provider))).map_err(|error| self.refused(&error))
            }
            Person::VaultOidc(person) => {
                let vault = VaultSignIn::of(person).map_err(|error| self.refused(&error))?;
                Ok(Source::Vault(Box::new(vault)))
            }
        }
    }

    fn call(&self, deadline: Deadline) -> VaultCall<'_> {
        VaultCall { https: &self.agent.https, now: clock::now(), deadline }
    }

    /// Begins a sign-in that comes back to an address.
    pub(super) async fn begin(&self, at: &Source, address: &Url) -> Result<Begun, Failure> {
        match at {
            Source::Provider(provider) => {
                let authorization = provider.begin(address).map_err(|error| self.refused(&error))?;
                Ok(Begun::Page(Page::Provider(Box::new(authorization))))
            }
            Source::Vault(vault) => {
                let begun =
                    vault.begin(address, self.call(self.deadline)).await.map_err(|error| self.refused(&error))?;
                Ok(match begun {
                    VaultBegun::Page(page) => Begun::Page(Page::Vault(page)),
                    VaultBegun::Device(device) => Begun::Elsewhere(Elsewhere::Vault(device)),
                })
            }
            #[cfg(test)]
            Source::Scripted(_) => Err(self.mixed_up()),
        }
    }

    /// Begins a sign-in that is approved elsewhere.
    pub(super) async fn begin_elsewhere(&self, at: &Source) -> Result<Elsewhere, Failure> {
        match at {
            Source::Provider(provider) => {
                let device = provider.device(&self.agent.https, clock::now(), self.deadline).await;
                device.map(Elsewhere::Provider).map_err(|error| self.refused(&error))
            }
            Source::Vault(vault) => {
                let device = vault.begin_device(self.call(self.deadline)).await;
                device.map(Elsewhere::Vault).map_err(|error| self.refused(&error))
            }
            #[cfg(test)]
            Source::Scripted(_) => Err(self.mixed_up()),
        }
    }

    /// Redeems a callback.
    pub(super) async fn redeem(&self, at: &Source, page: Page, callback: Callback) -> Result<Tokens, Failure> {
        match (at, page) {
            (Source::Provider(provider), Page::Provider(authorization)) => {
                let (https, now) = (&self.agent.https, clock::now());
                let tokens = provider.redeem(*authorization, callback, https, now, self.deadline).await;
                tokens.map_err(|error| self.refused(&error))
            }
            (Source::Vault(vault), Page::Vault(page)) => {
                let tokens = vault.redeem(page, callback, self.call(self.deadline)).await;
                tokens.map_err(|error| self.refused(&error))
            }
            _ => Err(self.mixed_up()),
        }
    }

    /// Asks once whether it is approved. Whoever gets no answer asks less often, and does not give up (RFC 8628 §3.5).
    pub(super) async fn poll(&self, at: &Source, device: &Elsewhere, deadline: Deadline) -> Result<Asked, Failure> {
        match (at, device) {
            (Source::Provider(provider), Elsewhere::Provider(device)) => {
                match provider.poll(device, &self.agent.https, clock::now(), deadline).await {
                    Ok(Poll::Tokens(tokens)) => Ok(Asked::Tokens(tokens)),
                    Ok(Poll::Pending) => Ok(Asked::Pending),
                    Ok(Poll::SlowDown) => Ok(Asked::SlowDown),
                    Err(error) if error.kind() == FailureKind::Unreachable => Ok(Asked::Later),
                    Err(error) => Err(self.refused(&error)),
                }
            }
            (Source::Vault(vault), Elsewhere::Vault(device)) => match vault.poll(device, self.call(deadline)).await {
                Ok(VaultPoll::Tokens(tokens)) => Ok(Asked::Tokens(tokens)),
                Ok(VaultPoll::Pending) => Ok(Asked::Pending),
                Ok(VaultPoll::SlowDown) => Ok(Asked::SlowDown),
                Err(error) if error.kind() == FailureKind::Unreachable => Ok(Asked::Later),
                Err(error) => Err(self.refused(&error)),
            },
            _ => Err(self.mixed_up()),
        }
    }

    fn mixed_up(&self) -> Failure {
        Failure::new(FailureKind::Internal, format!("the sign-in of `{}` is mixed up with another", self.name))
            .hint(format!("credmint login {}", self.name))
    }
}
