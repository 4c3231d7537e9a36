//! Any store behind the crate `keyring-core`: one entry a name, under our service.
//! Names and bytes go in, the crate's errors come out as ours.
//! Shows no error of the crate that has bytes of the value in it.

use std::collections::HashMap;
use std::sync::Arc;

use credmint_vocabulary::{Secret, printable};
use keyring_core::{CredentialStore, Entry, Error};

use crate::error::StoreError;
use crate::store::Store;

/// What is particular about a store.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    /// For people.
    pub(crate) name: &'static str,
    /// Most bytes of a value.
    pub(crate) limit: usize,
    /// How its entries are made.
    pub(crate) modifiers: &'static [(&'static str, &'static str)],
}

/// A store of that crate.
pub(crate) struct Entries {
    store: Arc<CredentialStore>,
    kind: Kind,
}

impl Entries {
    pub(crate) fn new(store: Arc<CredentialStore>, kind: Kind) -> Self {
        Self { store, kind }
    }

    fn entry(&self, name: &str) -> Result<Entry, StoreError> {
        let modifiers: HashMap<&str, &str> = self.kind.modifiers.iter().copied().collect();
        self.store.build(SERVICE, name, Some(&modifiers)).map_err(|error| self.error(&error))
    }

    fn error(&self, error: &Error) -> StoreError {
        let store = self.kind.name;
        match error {
            Error::NoStorageAccess(_) => StoreError::Locked { store },
            Error::BadEncoding(_) | Error::BadDataFormat(..) => {
                StoreError::Corrupt { store, what: "it is not in the store's own form".to_owned() }
            }
            other => StoreError::other(store, &words(other)),
        }
    }

    /// Deletes what should have been one.
    fn delete_all(&self, all: &[Entry]) -> Result<(), StoreError> {
        all.iter().try_for_each(|one| one.delete_credential()).map_err(|error| self.error(&error))
    }
}

impl Store for Entries {
    fn name(&self) -> &'static str {
        self.kind.name
    }

    fn limit(&self) -> usize {
        self.kind.limit
    }

    fn get(&self, name: &str) -> Result<Option<Secret<Vec<u8>>>, StoreError> {
        match self.entry(name)?.get_secret() {
            Ok(value) => Ok(Some(Secret::new(value))),
            Err(Error::NoEntry) => Ok(None),
            Err(Error::Ambiguous(_)) => {
                Err(StoreError::Corrupt { store: self.kind.name, what: "there is more than one of it".to_owned() })
            }
            Err(error) => Err(self.error(&error)),
        }
    }

    fn set(&self, name: &str, value: &[u8]) -> Result<(), StoreError> {
        let entry = self.entry(name)?;
        let set = match entry.set_secret(value) {
            Err(Error::Ambiguous(all)) => {
                self.delete_all(&all)?;
                entry.set_secret(value)
            }
            set => set,
        };
        set.map_err(|error| self.error(&error))
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        match self.entry(name)?.delete_credential() {
            Ok(()) | Err(Error::NoEntry) => Ok(()),
            Err(Error::Ambiguous(all)) => self.delete_all(&all),
            Err(error) => Err(self.error(&error)),
        }
    }
}

/// Gives the words of an error, without the bytes that some carry.
pub(crate) fn words(error: &Error) -> String {
    let text = match error {
        Error::PlatformFailure(error) | Error::NoStorageAccess(error) => error.to_string(),
        Error::NotSupportedByStore(what) | Error::BadStoreFormat(what) => what.clone(),
        Error::TooLong(..) | Error::Invalid(..) => "it refuses the name or the length".to_owned(),
        _ => "it failed".to_owned(),
    };
    printable(&text, 200)
}

/// Under which all of ours is found.
pub(crate) const SERVICE: &str = "credmint";
