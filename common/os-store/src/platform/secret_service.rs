//! The Secret Service of a Linux desktop: gnome-keyring, KWallet, KeePassXC.
//! Names and bytes go in; what is locked is told as locked.
//! Looks before it asks: the store crate would unlock, which puts a prompt before a person who asked for nothing.

use std::collections::HashMap;

use credmint_vocabulary::Secret;
use secret_service::blocking::SecretService;
use secret_service::{EncryptionType, Error};
use zbus_secret_service_keyring_store as crate_store;

use crate::error::StoreError;
use crate::platform::USUAL_LIMIT;
use crate::platform::entry::{Entries, Kind, SERVICE};
use crate::store::Store;

const NAME: &str = "the Secret Service";

struct Careful {
    bus: SecretService<'static>,
    entries: Entries,
}

/// Opens it; absent is any bus that has none.
pub(crate) fn open() -> Result<Box<dyn Store>, StoreError> {
    let absent = |error: &dyn std::fmt::Display| StoreError::other("no Secret Service", error);
    let bus = SecretService::connect(EncryptionType::Plain).map_err(|error| absent(&error))?;
    let store = crate_store::Store::new().map_err(|error| absent(&error))?;
    let kind = Kind { name: NAME, limit: USUAL_LIMIT, modifiers: &[("label", "credmint sign-in")] };
    Ok(Box::new(Careful { bus, entries: Entries::new(store, kind) }))
}

impl Careful {
    /// Tells whether there is an item of that name; a locked one is an error, and so is not knowing.
    fn has(&self, name: &str) -> Result<bool, StoreError> {
        let attributes = HashMap::from([("service", SERVICE), ("username", name)]);
        let found = self.bus.search_items(attributes).map_err(|error| told(&error))?;
        if found.locked.is_empty() { Ok(!found.unlocked.is_empty()) } else { Err(LOCKED) }
    }

    /// Says whether a new item could be made.
    fn is_open(&self) -> Result<(), StoreError> {
        let collection = self.bus.get_default_collection().map_err(|error| told(&error))?;
        if collection.is_locked().map_err(|error| told(&error))? { Err(LOCKED) } else { Ok(()) }
    }
}

impl Store for Careful {
    fn name(&self) -> &'static str {
        NAME
    }

    fn limit(&self) -> usize {
        USUAL_LIMIT
    }

    /// Some services show nothing at all of what is locked: then nobody knows whether it is there.
    fn get(&self, name: &str) -> Result<Option<Secret<Vec<u8>>>, StoreError> {
        if self.has(name)? {
            return self.entries.get(name);
        }
        match self.is_open() {
            Err(StoreError::Other { .. }) | Ok(()) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn set(&self, name: &str, value: &[u8]) -> Result<(), StoreError> {
        if !self.has(name)? {
            self.is_open()?;
        }
        self.entries.set(name, value)
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        if self.has(name)? { self.entries.delete(name) } else { Ok(()) }
    }
}

const LOCKED: StoreError = StoreError::Locked { store: NAME };

fn told(error: &Error) -> StoreError {
    match error {
        Error::Locked | Error::Prompt => LOCKED,
        Error::NoResult => {
            StoreError::other(NAME, &"it has no keyring yet; the first program on the desktop makes one")
        }
        error => StoreError::other(NAME, error),
    }
}
