//! The shape of a table: which keys it may have and which it must have.
//! Constants only; `protocol-spec/settings.md` is held against them by a test.

use crate::error::SettingsError;
use crate::reader::fields::Fields;

/// A key of a table.
#[derive(Clone, Copy)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) required: bool,
}

/// The keys of a table, in groups that other tables share.
pub(crate) type Keys = &'static [&'static [Key]];

/// A variant of a table, chosen by the word of its `kind` or `method`.
pub(crate) struct Kind<T> {
    pub(crate) word: &'static str,
    pub(crate) keys: Keys,
    pub(crate) read: fn(&Fields<'_>) -> Result<T, SettingsError>,
}

/// A key that has to be there.
pub(crate) const fn must(name: &'static str) -> Key {
    Key { name, required: true }
}

/// A key that may be there.
pub(crate) const fn may(name: &'static str) -> Key {
    Key { name, required: false }
}
