//! Who gave a session its tokens, and gives new ones: an OpenID Provider, or a Vault.
//! Tokens come in, newer ones or why there are none go out.
//! Keeps no token; a Vault's sign-in knows its server, a provider what proves the client.

use std::time::Instant;

use credmint_identities::{Provider, RefreshError, Tokens};
use credmint_issuers::{VaultCall, VaultRenewal, VaultSignIn};
use credmint_local_machine::clock;
use credmint_vocabulary::{Deadline, Failure, Secret};

use super::remembering::Remembering;
use super::session::WHOLE_FLIGHT;
use crate::agent::Agent;
use crate::failure;

/// Says who renews.
pub(crate) enum Source {
    /// An OpenID Provider.
    Provider(Box<Provider>),
    /// A Vault, whose client token renews itself.
    Vault(Box<VaultSignIn>),
    /// A test.
    #[cfg(test)]
    Scripted(super::tests::Script),
}

/// Says why there are no newer tokens.
pub(super) enum NotRenewed {
    /// The session is over. Why, for people.
    Over(String),
    /// Not now.
    NotNow(Failure),
}

impl From<RefreshError> for NotRenewed {
    fn from(error: RefreshError) -> Self {
        match error {
            RefreshError::Over(why) => Self::Over(why),
            RefreshError::NotNow(error) => Self::NotNow(failure::of_session(&error.into())),
        }
    }
}

impl From<VaultRenewal> for NotRenewed {
    fn from(error: VaultRenewal) -> Self {
        match error {
            VaultRenewal::Over(why) => Self::Over(why),
            VaultRenewal::NotNow(error) => Self::NotNow(failure::of_vault(&error)),
        }
    }
}

impl Source {
    /// Asks for new tokens. A new refresh token is kept wherever it is to be kept before anything else is done with the answer.
    pub(super) async fn refresh(
        &self,
        tokens: &Tokens,
        remembering: Option<&Remembering>,
        agent: &Agent,
    ) -> Result<Tokens, NotRenewed> {
        let (https, deadline) = (&agent.https, Deadline::after(Instant::now(), WHOLE_FLIGHT));
        let keep = async |refresh: &Secret<String>| {
            if let Some(remembering) = remembering {
                remembering.keep(&agent.keyring, Some(refresh)).await;
            }
        };
        match self {
            Self::Provider(provider) => Ok(provider.refresh(tokens, https, clock::now(), deadline, keep).await?),
            Self::Vault(vault) => Ok(vault.renew(tokens, VaultCall { https, now: clock::now(), deadline }).await?),
            #[cfg(test)]
            Self::Scripted(script) => {
                let tokens = script.next(tokens).await?;
                if let Some(refresh) = &tokens.refresh {
                    keep(refresh).await;
                }
                Ok(tokens)
            }
        }
    }

    /// Lists the scopes that were asked for and not granted.
    pub(super) fn not_granted(&self, tokens: &Tokens) -> Vec<String> {
        match self {
            Self::Provider(provider) => provider.not_granted(tokens),
            Self::Vault(_) => Vec::new(),
            #[cfg(test)]
            Self::Scripted(_) => Vec::new(),
        }
    }

    /// Gives host and port of the issuer, for people.
    pub(crate) fn who(&self) -> String {
        match self {
            Self::Provider(provider) => provider.who(),
            Self::Vault(vault) => vault.who().to_owned(),
            #[cfg(test)]
            Self::Scripted(_) => "id.corp.example".to_owned(),
        }
    }

    /// Gives the issuer's URL, or address and namespace of the Vault.
    pub(super) fn issuer(&self) -> &str {
        match self {
            Self::Provider(provider) => provider.issuer(),
            Self::Vault(vault) => vault.issuer(),
            #[cfg(test)]
            Self::Scripted(_) => "https://id.corp.example",
        }
    }
}
