//! Tokens that `terraform login` brought and the settings of their hosts let us keep: in memory, as they are.
//! A token goes in under the key of its route and caller, and comes out under the same key.
//! Nothing of it is renewed, and nothing is written: it ends with `terraform logout`, or with the agent.

use std::cell::RefCell;
use std::collections::HashMap;

use credmint_vocabulary::Secret;

use crate::lock::{Sealable, SealingKey};
use crate::recipe::EntryKey;

/// Keeps them.
#[derive(Default)]
pub(crate) struct Stored {
    tokens: RefCell<HashMap<EntryKey, Sealable<Secret<String>>>>,
}

impl Stored {
    /// Keeps one in place of the one before.
    pub(crate) fn put(&self, key: EntryKey, token: &Secret<String>) {
        self.tokens.borrow_mut().insert(key, token.copied().into());
    }

    /// Gives one.
    pub(crate) fn get(&self, key: EntryKey) -> Option<Secret<String>> {
        self.tokens.borrow().get(&key)?.get().map(|token| token.copied())
    }

    /// Encrypts all.
    pub(crate) fn seal(&self, key: &SealingKey) {
        self.tokens.borrow().values().for_each(|token| token.seal(key));
    }

    /// Brings them back.
    pub(crate) fn unseal(&self, key: &SealingKey) {
        self.tokens.borrow().values().for_each(|token| token.unseal(key));
    }

    /// Tells whether there is one.
    pub(crate) fn has(&self, key: EntryKey) -> bool {
        self.tokens.borrow().contains_key(&key)
    }

    /// Drops one.
    pub(crate) fn forget(&self, key: EntryKey) {
        self.tokens.borrow_mut().remove(&key);
    }

    /// Drops all.
    pub(crate) fn clear(&self) {
        self.tokens.take();
    }

    /// Tells whether the agent is needed for any: nothing else has them.
    pub(crate) fn is_empty(&self) -> bool {
        self.tokens.borrow().is_empty()
    }
}
