//! A session while the agent is locked: its tokens and the client's own secrets, encrypted, and what may be said of it.
//! A key comes in; tokens go away under it, and come back.
//! What lands while it is locked is dropped: nothing is in the clear then.

use std::rc::Rc;
use std::time::Instant;

use credmint_agent_protocol::{SessionStatus, Supply};
use credmint_identities::{Caller, Claims, Tokens, VaultTraits};
use credmint_vocabulary::Timestamp;

use super::session::{Kept, Session, State};
use super::source::Source;
use crate::lock::{Pack, PackedTokens, Sealed, SealingKey};

/// Holds what a session is made of again.
pub(super) struct SealedTokens {
    tokens: Sealed,
    client: Option<Sealed>,
    claims: Option<Claims>,
    vault: Option<Box<VaultTraits>>,
    got: Timestamp,
    began: Instant,
    /// How it was when it was sealed.
    pub(super) status: SessionStatus,
}

impl Session {
    /// Encrypts what is secret in it; a session that is over has nothing.
    pub(crate) fn seal(&self, key: &SealingKey) {
        let Some(kept) = self.to_revoke() else { return };
        let status = self.status();
        let sealed = key.seal(&PackedTokens::of(&kept.tokens)).map(|tokens| SealedTokens {
            tokens,
            client: self.source.seal(key),
            claims: kept.tokens.claims.clone(),
            vault: kept.tokens.vault.clone(),
            got: kept.got,
            began: kept.began,
            status,
        });
        let lost = |_| State::Over(LOST.to_owned());
        self.state.replace(sealed.map_or_else(lost, |sealed| State::Sealed(Rc::new(sealed))));
    }

    /// Brings it back.
    pub(crate) fn unseal(&self, key: &SealingKey) {
        let State::Sealed(sealed) = self.state.borrow().clone() else { return };
        let opened = key.open::<PackedTokens>(&sealed.tokens).map(|packed| {
            let tokens = Tokens { vault: sealed.vault.clone(), ..packed.tokens(sealed.claims.clone()) };
            State::Live(Rc::new(Kept { tokens, kind: self.kind, got: sealed.got, began: sealed.began }))
        });
        self.source.unseal(key, sealed.client.as_ref());
        self.state.replace(opened.unwrap_or_else(|_| State::Over(LOST.to_owned())));
    }

    /// Tells whether it waits for the passphrase.
    pub(crate) fn is_sealed(&self) -> bool {
        matches!(&*self.state.borrow(), State::Sealed(_))
    }
}

impl Source {
    fn seal(&self, key: &SealingKey) -> Option<Sealed> {
        match self {
            Self::Provider(provider) => {
                let sealed = key.seal(&provider.caller().pack()).ok();
                provider.set_caller(Caller::default());
                sealed
            }
            // We are no client of a Vault's provider: it has the secret.
            Self::Vault(_) => None,
            #[cfg(test)]
            Self::Scripted(_) => None,
        }
    }

    fn unseal(&self, key: &SealingKey, sealed: Option<&Sealed>) {
        match self {
            Self::Provider(provider) => {
                let supply = sealed.and_then(|sealed| key.open::<Supply>(sealed).ok());
                supply.and_then(Caller::unpack).into_iter().for_each(|caller| provider.set_caller(caller));
            }
            Self::Vault(_) => {}
            #[cfg(test)]
            Self::Scripted(_) => {}
        }
    }
}

const LOST: &str = "it could not be encrypted or decrypted by `credmint lock`";
