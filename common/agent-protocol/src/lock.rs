//! The messages of locking and unlocking, as serde sees them.
//! JSON comes in, plain structs go out, and back; unknown properties are skipped.
//! Carries a secret in one place: the passphrase.

use serde::{Deserialize, Serialize};

use crate::wire_secret::WireSecret;

/// Locks or unlocks.
#[derive(Serialize, Deserialize)]
pub struct Passphrase {
    /// What the person typed, without line end.
    pub passphrase: WireSecret,
}

/// How the lock is; there is none while nothing is locked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockStatus {
    /// When it was locked, RFC 3339.
    pub since: String,
    /// How often a wrong passphrase has been tried since then.
    #[serde(default)]
    pub wrong_tries: u32,
}
