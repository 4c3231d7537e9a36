//! What the other side said last: failures by entry, for `credmint explain`.
//! A failure comes in when an entry was not made, and goes out until one is.
//! Pure memory, bounded; failures hold no secret.

use std::cell::RefCell;
use std::collections::HashMap;

use credmint_local_machine::clock;
use credmint_vocabulary::{Failure, Timestamp};

use crate::recipe::EntryKey;

/// Remembers the last failure of each entry.
#[derive(Default)]
pub(crate) struct Told(RefCell<HashMap<EntryKey, (Failure, Timestamp)>>);

impl Told {
    /// Takes one in place of the one before; among too many the oldest goes.
    pub(crate) fn remember(&self, key: EntryKey, failure: &Failure) {
        let mut told = self.0.borrow_mut();
        let oldest = || told.iter().min_by_key(|(_, (_, at))| *at).map(|(key, _)| *key);
        if let Some(oldest) = oldest().filter(|_| told.len() >= MOST) {
            told.remove(&oldest);
        }
        told.insert(key, (failure.clone(), clock::now()));
    }

    /// Lets one go that is not true any more.
    pub(crate) fn forget(&self, key: EntryKey) {
        self.0.borrow_mut().remove(&key);
    }

    /// Gives the last one.
    pub(crate) fn last(&self, key: EntryKey) -> Option<(Failure, Timestamp)> {
        self.0.borrow().get(&key).cloned()
    }
}

const MOST: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridge::recipe_for_tests;
    use credmint_vocabulary::FailureKind;

    #[test]
    fn the_last_one_is_told_until_it_is_not_true_any_more() {
        let (told, key) = (Told::default(), recipe_for_tests().key);
        told.remember(key, &Failure::new(FailureKind::Refused, "first"));
        told.remember(key, &Failure::new(FailureKind::Refused, "second"));
        assert_eq!(told.last(key).map(|(failure, _)| failure.what).as_deref(), Some("second"));
        told.forget(key);
        assert!(told.last(key).is_none());
    }
}
