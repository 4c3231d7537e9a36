//! Which stores this machine has: one file a kind, all behind the same seam.
//! Nothing comes in, the stores that answer go out, the one that keeps first.
//! Asks no person anything: a store that would is locked to us.

#[cfg(any(target_os = "linux", target_os = "macos", windows))]
mod entry;

#[cfg(target_os = "linux")]
mod kernel_keyring;
#[cfg(target_os = "linux")]
mod secret_service;

use crate::error::StoreError;
use crate::store::Store;

/// Lists the stores: the Secret Service where one answers, and the kernel keyring where this process possesses one.
#[cfg(target_os = "linux")]
pub(crate) fn stores() -> Result<Vec<Box<dyn Store>>, StoreError> {
    let (service, keyring) = (secret_service::open(), kernel_keyring::open());
    let why = match (&service, &keyring) {
        (Err(service), Err(keyring)) => format!("{service}; {keyring}"),
        _ => String::new(),
    };
    let stores: Vec<_> = [service.ok(), keyring.ok()].into_iter().flatten().collect();
    if stores.is_empty() { Err(StoreError::Absent { why }) } else { Ok(stores) }
}

/// Lists the stores: the login keychain.
#[cfg(target_os = "macos")]
pub(crate) fn stores() -> Result<Vec<Box<dyn Store>>, StoreError> {
    let absent = |error: keyring_core::Error| StoreError::Absent { why: entry::words(&error) };
    let store = apple_native_keyring_store::keychain::Store::new().map_err(absent)?;
    let kind = entry::Kind { name: "the login keychain", limit: USUAL_LIMIT, modifiers: &[] };
    Ok(vec![Box::new(entry::Entries::new(store, kind))])
}

/// Lists the stores: the Credential Manager. Its values stay on this machine and do not roam.
#[cfg(windows)]
pub(crate) fn stores() -> Result<Vec<Box<dyn Store>>, StoreError> {
    let absent = |error: keyring_core::Error| StoreError::Absent { why: entry::words(&error) };
    let store = windows_native_keyring_store::Store::new().map_err(absent)?;
    let kind = entry::Kind {
        name: "the Windows Credential Manager",
        limit: WINDOWS_LIMIT,
        modifiers: &[("persistence", "Local")],
    };
    Ok(vec![Box::new(entry::Entries::new(store, kind))])
}

/// Lists the stores: none is known here.
#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
pub(crate) fn stores() -> Result<Vec<Box<dyn Store>>, StoreError> {
    Err(StoreError::Absent { why: "no kind of store is known for this platform".to_owned() })
}

/// `CRED_MAX_CREDENTIAL_BLOB_SIZE`, in bytes.
#[cfg(windows)]
const WINDOWS_LIMIT: usize = 2560;
/// Well below what any of the others refuses: a key of the kernel may have 32 KiB, and all keys of a user 20 000 bytes.
#[cfg(any(target_os = "linux", target_os = "macos"))]
const USUAL_LIMIT: usize = 16 * 1024;
