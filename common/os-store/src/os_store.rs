//! The stores of this machine, as one: which of them keeps, and which value is right when more than one has it.
//! A name and a value come in, what was found or done goes out, with the name of the store for people.
//! The first store that is there keeps; a value that another one has is taken over by its generation, and deleted there.

use credmint_vocabulary::Secret;

use crate::error::StoreError;
use crate::store::Store;
use crate::{platform, whole};

/// The operating system's store of secrets. Every call blocks.
pub struct OsStore {
    stores: Vec<Box<dyn Store>>,
}

/// What was found, and where.
pub struct Found {
    /// The value.
    pub value: Secret<Vec<u8>>,
    /// The store, for people.
    pub place: &'static str,
}

impl OsStore {
    /// Opens it.
    ///
    /// # Errors
    /// [`StoreError::Absent`] when there is none here.
    pub fn open() -> Result<Self, StoreError> {
        Ok(Self::of(platform::stores()?))
    }

    /// Makes one of stores of which the first keeps.
    #[must_use]
    pub fn of(stores: Vec<Box<dyn Store>>) -> Self {
        Self { stores }
    }

    /// Names the store that keeps, for people.
    #[must_use]
    pub fn place(&self) -> &'static str {
        self.stores.first().map_or("", |store| store.name())
    }

    /// Finds a value: the one of the highest generation. The store that keeps has to answer; another one may be silent.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn read(&self, name: &str) -> Result<Option<Found>, StoreError> {
        let mut best: Option<(u64, Found)> = None;
        for (place, store) in self.stores.iter().enumerate() {
            let found = match whole::read(&**store, name) {
                Err(error) if place == 0 => return Err(error),
                found => found.unwrap_or_default(),
            };
            let newer =
                found.filter(|found| best.as_ref().is_none_or(|(generation, _)| found.generation > *generation));
            let shown = |found: whole::Whole| (found.generation, Found { value: found.value, place: store.name() });
            best = newer.map(shown).or(best);
        }
        Ok(best.map(|(_, found)| found))
    }

    /// Keeps a value in place of every one before. `now`, in milliseconds, orders it after what a store that is away has.
    ///
    /// # Errors
    /// [`StoreError`]; then the value before is still there, or none.
    pub fn write(&self, name: &str, value: &Secret<Vec<u8>>, now: u64) -> Result<&'static str, StoreError> {
        let Some((first, others)) = self.stores.split_first() else { return Err(none()) };
        let theirs = others.iter().filter_map(|store| whole::read(&**store, name).ok().flatten());
        let at_least = theirs.map(|found| found.generation.saturating_add(1)).fold(now, u64::max);
        whole::write(&**first, name, value.expose(), at_least)?;
        // What could not be deleted there has a lower generation for ever.
        others.iter().for_each(|store| drop(whole::delete(&**store, name)));
        Ok(first.name())
    }

    /// Deletes a value in every store, and reads back to prove it; tells whether there was anything.
    ///
    /// # Errors
    /// [`StoreError`] of the first store that still may have something; all are tried.
    pub fn delete(&self, name: &str) -> Result<bool, StoreError> {
        let done: Vec<_> = self.stores.iter().map(|store| whole::delete(&**store, name)).collect();
        done.into_iter().try_fold(false, |any, done| Ok(done? || any))
    }
}

fn none() -> StoreError {
    StoreError::Absent { why: "no kind of store is known for this platform".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;

    fn both() -> (Fake, Fake, OsStore) {
        let (first, second) = (Fake::limited(2560), Fake::limited(2560));
        let stores: Vec<Box<dyn Store>> = vec![Box::new(first.clone()), Box::new(second.clone())];
        (first, second, OsStore { stores })
    }

    fn secret(text: &str) -> Secret<Vec<u8>> {
        Secret::new(text.into())
    }

    fn read(store: &OsStore) -> Option<Vec<u8>> {
        store.read("me").expect("read").map(|found| found.value.expose().clone())
    }

    #[test]
    fn a_store_that_was_away_never_wins_with_its_old_value_antigravity_cli_1037() {
        let (first, second, store) = both();
        store.write("me", &secret("old"), 10).expect("kept");
        // The first is away: the second keeps, without knowing of any generation.
        let alone = OsStore { stores: vec![Box::new(second.clone())] };
        alone.write("me", &secret("new"), 20).expect("kept");
        assert_eq!(read(&store).as_deref(), Some(&b"new"[..]));
        // The next write leaves one authority, even with a clock that went back.
        store.write("me", &secret("newest"), 5).expect("kept");
        assert_eq!(read(&store).as_deref(), Some(&b"newest"[..]));
        assert!(second.is_empty() && !first.is_empty());
    }

    #[test]
    fn deletion_is_of_all_stores_cargo_16955() {
        let (first, second, store) = both();
        store.write("me", &secret("one"), 1).expect("kept");
        whole::write(&second, "me", b"two", 2).expect("kept");
        assert_eq!(store.delete("me"), Ok(true));
        assert!(first.is_empty() && second.is_empty());
        assert_eq!(store.delete("me"), Ok(false));
    }

    #[test]
    fn a_store_that_keeps_and_is_damaged_is_told_and_written_anew() {
        let (first, _, store) = both();
        first.put("me", b"garbage");
        assert!(matches!(store.read("me"), Err(StoreError::Corrupt { .. })));
        store.write("me", &secret("new"), 1).expect("kept");
        assert_eq!(read(&store).as_deref(), Some(&b"new"[..]));
    }
}
