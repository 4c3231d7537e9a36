//! The endpoints that the providers of runs have: where each is asked, what it accepts, and how its credential is made.
//! A recipe and its channel come in and a token goes out; the port's run and a path come in and the endpoint goes out.
//! Pure memory. An endpoint ends with its run, or when its entry is forgotten.

use std::cell::RefCell;
use std::rc::Rc;

use credmint_settings::Channel;
use credmint_vocabulary::{Failure, Secret, Timestamp};

use crate::bridge::random_token;
use crate::bridge::run::RunNumber;
use crate::entries::Entries;
use crate::lock::{Sealable, SealingKey};
use crate::recipe::{EntryKey, Recipe};

/// Where a program asks for the credential of a provider.
pub(in crate::bridge) struct Endpoint {
    run: RunNumber,
    /// What is answered there; no run has two with the same.
    pub(super) channel: Channel,
    token: Sealable<Secret<String>>,
    /// How the credential is made.
    pub(super) recipe: Rc<Recipe>,
}

impl Endpoint {
    /// Tells, in constant time, whether a token opens it.
    pub(super) fn is_opened_by(&self, token: &[u8]) -> bool {
        self.token.get().is_some_and(|own| own.same_as(token))
    }
}

/// Keeps the endpoints of all runs.
#[derive(Default)]
pub(in crate::bridge) struct Endpoints(RefCell<Vec<Rc<Endpoint>>>);

impl Endpoints {
    /// Opens an endpoint, and gives what it accepts.
    pub(in crate::bridge) fn open(
        &self,
        run: RunNumber,
        channel: Channel,
        recipe: &Rc<Recipe>,
    ) -> Result<Secret<String>, Failure> {
        let token = random_token()?;
        let (recipe, own) = (Rc::clone(recipe), token.copied().into());
        self.0.borrow_mut().push(Rc::new(Endpoint { run, channel, token: own, recipe }));
        Ok(token)
    }

    /// Finds the endpoint of a run by its word.
    pub(super) fn find(&self, run: RunNumber, word: &str) -> Option<Rc<Endpoint>> {
        self.0.borrow().iter().find(|own| own.run == run && own.channel.word() == word).cloned()
    }

    /// Ends those of a run.
    pub(in crate::bridge) fn close_run(&self, run: RunNumber) {
        self.0.borrow_mut().retain(|own| own.run != run);
    }

    /// Ends those of an entry.
    pub(in crate::bridge) fn close(&self, key: EntryKey) {
        self.0.borrow_mut().retain(|own| own.recipe.keys().all(|of| of != key));
    }

    /// Keeps in use what a run may ask for at any time, so that it is renewed before it is asked for.
    pub(in crate::bridge) fn keep_in_use(&self, entries: &Entries, now: Timestamp) {
        let keys = self.0.borrow().iter().flat_map(|own| own.recipe.keys().collect::<Vec<_>>()).collect::<Vec<_>>();
        keys.into_iter().filter_map(|key| entries.get(key)).for_each(|entry| entry.used.set(now));
    }

    /// Encrypts the tokens, and what the recipes have of their callers.
    pub(in crate::bridge) fn seal(&self, key: &SealingKey) {
        for own in &*self.0.borrow() {
            own.token.seal(key);
            own.recipe.caller.seal(key);
        }
    }

    /// Brings them back.
    pub(in crate::bridge) fn unseal(&self, key: &SealingKey) {
        for own in &*self.0.borrow() {
            own.token.unseal(key);
            own.recipe.caller.unseal(key);
        }
    }
}
