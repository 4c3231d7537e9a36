//! The operating system's store of secrets: Secret Service, kernel keyring, Keychain, Credential Manager.
//! A name and a value that is to outlive the agent come in; the value, or why there is none, goes out.
//! Blocks, and knows no deadline: the agent calls it on a thread of its own, and never waits for a prompt. `protocol-spec/settings.md`.

mod error;
#[cfg(test)]
mod fake;
mod manifest;
mod os_store;
mod platform;
mod store;
mod whole;

pub use error::StoreError;
pub use os_store::{Found, OsStore};
pub use store::Store;
