//! A store as a test wants it: short like Windows', crashing after any step, losing what it was given.
//! What the test says comes in; what was kept can be looked at.
//! A fake, because no real store crashes or lies on command.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use credmint_vocabulary::Secret;

use crate::error::StoreError;
use crate::store::Store;

/// Keeps everything in memory, shared by its clones.
#[derive(Clone, Default)]
pub(crate) struct Fake(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    values: BTreeMap<String, Vec<u8>>,
    limit: usize,
    /// How many more changes it does; the process is gone after that.
    left: Option<usize>,
    /// What it says it did, and did not.
    loses: Option<String>,
}

impl Fake {
    pub(crate) fn limited(limit: usize) -> Self {
        Self(Arc::new(Mutex::new(Inner { limit, ..Inner::default() })))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().expect("one thread")
    }

    /// Crashes after so many changes; `None` is the process that comes after it.
    pub(crate) fn crash_after(&self, changes: Option<usize>) {
        self.inner().left = changes;
    }

    /// Says "done" to every change of the names that end like this, and does nothing.
    pub(crate) fn lose(&self, end: Option<&str>) {
        self.inner().loses = end.map(str::to_owned);
    }

    pub(crate) fn put(&self, name: &str, value: &[u8]) {
        self.inner().values.insert(name.to_owned(), value.to_vec());
    }

    pub(crate) fn take(&self, name: &str) -> Option<Vec<u8>> {
        self.inner().values.remove(name)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.inner().values.is_empty()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.inner().values.keys().cloned().collect()
    }
}

impl Inner {
    /// Tells whether a change is done; an error is the crash.
    fn changes(&mut self, name: &str) -> Result<bool, StoreError> {
        match &mut self.left {
            Some(0) => return Err(StoreError::other("the fake", &"crashed")),
            Some(left) => *left -= 1,
            None => {}
        }
        Ok(self.loses.as_ref().is_none_or(|end| !name.ends_with(end.as_str())))
    }
}

impl Store for Fake {
    fn name(&self) -> &'static str {
        "the fake"
    }

    fn limit(&self) -> usize {
        self.inner().limit
    }

    fn get(&self, name: &str) -> Result<Option<Secret<Vec<u8>>>, StoreError> {
        Ok(self.inner().values.get(name).cloned().map(Secret::new))
    }

    fn set(&self, name: &str, value: &[u8]) -> Result<(), StoreError> {
        let mut inner = self.inner();
        assert!(value.len() <= inner.limit, "stub received bad data: {} bytes", value.len());
        if inner.changes(name)? {
            inner.values.insert(name.to_owned(), value.to_vec());
        }
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        let mut inner = self.inner();
        if inner.changes(name)? {
            inner.values.remove(name);
        }
        Ok(())
    }
}
