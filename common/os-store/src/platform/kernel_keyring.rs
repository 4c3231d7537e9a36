//! The kernel's keyring of a login session, on a Linux machine without a desktop.
//! Names and bytes go in; they are in no file, and gone after a restart of the machine.
//! Is there only for a process that possesses its session keyring: without, the kernel takes a key and never gives it back.

use linux_keyutils::{KeyRing, KeyRingIdentifier};

use crate::error::StoreError;
use crate::platform::USUAL_LIMIT;
use crate::platform::entry::{Entries, Kind};
use crate::store::Store;

const NAME: &str = "the kernel keyring";

/// Opens it; the keyring that all processes of a user fall back to is nobody's.
pub(crate) fn open() -> Result<Box<dyn Store>, StoreError> {
    let absent = |error: &dyn std::fmt::Display| StoreError::other("no kernel keyring", error);
    let own = KeyRing::from_special_id(KeyRingIdentifier::Session, false).and_then(|ring| ring.metadata());
    if own.map_err(|error| absent(&error))?.get_description().starts_with(FALLBACK) {
        return Err(absent(&"this login has no session keyring of its own"));
    }
    let store = linux_keyutils_keyring_store::Store::new().map_err(|error| absent(&error))?;
    Ok(Box::new(Entries::new(store, Kind { name: NAME, limit: USUAL_LIMIT, modifiers: &[] })))
}

/// `keyrings(7)`: the user session keyring, which stands in for a session keyring that was never made.
const FALLBACK: &str = "_uid_ses.";
