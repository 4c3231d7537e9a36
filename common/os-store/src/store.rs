//! The seam: what this house asks of a store of secrets.
//! A name and bytes go in, bytes come back.
//! Every call blocks for as long as the platform takes; deadlines are the caller's.

use credmint_vocabulary::Secret;

use crate::error::StoreError;

/// Keeps small values by name. Tests have one that is limited, crashes and lies.
pub trait Store: Send {
    /// Names it for people: "the Secret Service".
    fn name(&self) -> &'static str;

    /// Gives the most bytes that one value may have.
    fn limit(&self) -> usize;

    /// Finds a value.
    ///
    /// # Errors
    /// [`StoreError`].
    fn get(&self, name: &str) -> Result<Option<Secret<Vec<u8>>>, StoreError>;

    /// Keeps a value in place of the one before, as one step.
    ///
    /// # Errors
    /// [`StoreError`].
    fn set(&self, name: &str, value: &[u8]) -> Result<(), StoreError>;

    /// Deletes a value; one that is not there is deleted.
    ///
    /// # Errors
    /// [`StoreError`].
    fn delete(&self, name: &str) -> Result<(), StoreError>;
}
