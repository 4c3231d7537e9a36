//! One value in a store of short values: whole or not there, the newest or the one before, whatever crashes when.
//! A name and a value come in, reads and writes of the store go out.
//! Believes no store: what was written or deleted is read back. danieljoos/wincred#18, entireio/cli#2495, rust-lang/cargo#16955.
//!
//! A value that fits stands in the manifest. A longer one is cut: its chunks are written under the set of names that is
//! free, in ascending order; then the manifest is swapped, which is the one step that counts; then the chunks of the set
//! before are deleted, in descending order. So chunks have no gaps, and what a crash left is found without a list.

use credmint_vocabulary::Secret;
use zeroize::Zeroizing;

use crate::error::StoreError;
use crate::manifest::{Manifest, Set};
use crate::store::Store;

/// A value and its generation: of two stores that have one, the higher is right.
pub(crate) struct Whole {
    pub(crate) generation: u64,
    pub(crate) value: Secret<Vec<u8>>,
}

/// Finds a value; what is damaged is an error, never absent and never half.
pub(crate) fn read(store: &dyn Store, base: &str) -> Result<Option<Whole>, StoreError> {
    let Some(manifest) = manifest(store, base)? else { return Ok(None) };
    let value = match manifest.value() {
        Some(value) => value,
        None => joined(store, base, &manifest)?,
    };
    if !manifest.describes(&value) {
        return Err(corrupt(store, "it is not what its manifest says"));
    }
    Ok(Some(Whole { generation: manifest.generation, value: Secret::new(value.to_vec()) }))
}

/// Keeps a value in place of the one before; its generation is at least the given one, and higher than the one before.
pub(crate) fn write(store: &dyn Store, base: &str, value: &[u8], at_least: u64) -> Result<u64, StoreError> {
    let before = match manifest(store, base) {
        Err(StoreError::Corrupt { .. }) => None,
        before => before?,
    };
    let (set, generation) = before
        .map_or((Set::A, at_least), |before| (before.set.other(), at_least.max(before.generation.saturating_add(1))));
    let mut new = Manifest::with(value, generation, set);
    if new.text().len() > store.limit() {
        let chunks = cut(store, base, value, set)?;
        new = Manifest::of(value, generation, set, chunks);
    }
    set_for_sure(store, base, &new.text())?;
    // It is kept: what is left over now is of no use to anybody, and the next write or delete finds it again.
    let _ = clear(store, base, set, new.chunks).and_then(|_| clear(store, base, set.other(), 0));
    Ok(generation)
}

/// Deletes a value with all that was ever left of it, damaged or not; tells whether there was anything.
pub(crate) fn delete(store: &dyn Store, base: &str) -> Result<bool, StoreError> {
    let there = store.get(base)?.is_some();
    delete_for_sure(store, base)?;
    let mut chunks = 0;
    for set in Set::ALL {
        chunks += clear(store, base, set, 0)?;
    }
    Ok(there || chunks > 0)
}

fn manifest(store: &dyn Store, base: &str) -> Result<Option<Manifest>, StoreError> {
    let text = store.get(base)?;
    text.map(|text| Manifest::read(&text).map_err(|what| corrupt(store, what))).transpose()
}

fn joined(store: &dyn Store, base: &str, manifest: &Manifest) -> Result<Zeroizing<Vec<u8>>, StoreError> {
    if manifest.chunks > MOST_CHUNKS {
        return Err(corrupt(store, "it has too many chunks"));
    }
    let mut value = Zeroizing::new(Vec::with_capacity(manifest.chunks * store.limit()));
    for number in 0..manifest.chunks {
        let chunk = store.get(&manifest.set.chunk(base, number))?;
        let chunk = chunk.ok_or_else(|| corrupt(store, "a chunk is missing"))?;
        value.extend_from_slice(chunk.expose());
    }
    Ok(value)
}

/// Writes the chunks of a value; gives their number.
fn cut(store: &dyn Store, base: &str, value: &[u8], set: Set) -> Result<usize, StoreError> {
    let chunks = value.len().div_ceil(store.limit());
    if chunks > MOST_CHUNKS {
        return Err(StoreError::TooLarge { store: store.name(), length: value.len() });
    }
    for (number, chunk) in value.chunks(store.limit()).enumerate() {
        set_for_sure(store, &set.chunk(base, number), chunk)?;
    }
    Ok(chunks)
}

fn delete_for_sure(store: &dyn Store, name: &str) -> Result<(), StoreError> {
    store.delete(name)?;
    if store.get(name)?.is_some() { Err(lied(store, "delete it")) } else { Ok(()) }
}

fn set_for_sure(store: &dyn Store, name: &str, value: &[u8]) -> Result<(), StoreError> {
    store.set(name, value)?;
    let back = store.get(name)?;
    if back.is_some_and(|back| back.same_as(value)) { Ok(()) } else { Err(lied(store, "keep it")) }
}

/// Deletes the chunks of a set from a number on, the last one first; gives how many there were.
fn clear(store: &dyn Store, base: &str, set: Set, from: usize) -> Result<usize, StoreError> {
    let found = found(store, base, set, from)?;
    for number in found.iter().rev() {
        delete_for_sure(store, &set.chunk(base, *number))?;
    }
    Ok(found.len())
}

/// Lists the chunks that are there. We leave no gaps; somebody else who cleans up may.
fn found(store: &dyn Store, base: &str, set: Set, from: usize) -> Result<Vec<usize>, StoreError> {
    let (mut found, mut number, mut missing) = (Vec::new(), from, 0);
    while missing < LONGEST_GAP && number < MOST_CHUNKS {
        if store.get(&set.chunk(base, number))?.is_some() {
            found.push(number);
            missing = 0;
        } else {
            missing += 1;
        }
        number += 1;
    }
    Ok(found)
}

fn corrupt(store: &dyn Store, what: &str) -> StoreError {
    StoreError::Corrupt { store: store.name(), what: what.to_owned() }
}

fn lied(store: &dyn Store, what: &'static str) -> StoreError {
    StoreError::Lied { store: store.name(), what }
}

/// More than any refresh token needs in any store: 40 KiB where the limit is Windows'.
const MOST_CHUNKS: usize = 16;
const LONGEST_GAP: usize = 3;

#[cfg(test)]
mod tests;
