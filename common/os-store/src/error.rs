//! Why the store did not do it, as decisions of the caller.
//! What the platform said comes in, a sentence for people and the way out of it go out.
//! Holds no value that was to be kept; text of the platform is bounded and made printable.

use credmint_vocabulary::printable;

/// Says why a store did not keep, find or delete a value. `store` names it for people: "the Secret Service".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// It is there and lets nobody in before its person unlocks it.
    #[error("{store} is locked")]
    Locked {
        /// Which.
        store: &'static str,
    },
    /// This machine, or this session on it, has none.
    #[error("there is no store of secrets here: {why}")]
    Absent {
        /// What was looked for, and what was found.
        why: String,
    },
    /// The value is longer than anything that is kept.
    #[error("{length} bytes are too many for {store}")]
    TooLarge {
        /// Which.
        store: &'static str,
        /// Length of the value.
        length: usize,
    },
    /// It did not answer in time.
    #[error("the store of secrets did not answer in time")]
    Timeout,
    /// What is there under our name is not whole, or not of this version. Writing and deleting work all the same.
    #[error("what {store} keeps is damaged: {what}")]
    Corrupt {
        /// Which.
        store: &'static str,
        /// What is wrong with it.
        what: String,
    },
    /// It said that it was done, and reading back shows that it was not.
    #[error("{store} did not {what}, and did not say so")]
    Lied {
        /// Which.
        store: &'static str,
        /// What it was asked to do.
        what: &'static str,
    },
    /// Everything else.
    #[error("{store}: {what}")]
    Other {
        /// Which.
        store: &'static str,
        /// What the platform says, fit to be shown.
        what: String,
    },
}

impl StoreError {
    pub(crate) fn other(store: &'static str, what: &dyn std::fmt::Display) -> Self {
        Self::Other { store, what: printable(&what.to_string(), LONGEST_TEXT) }
    }

    /// Says what a person can do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Locked { .. } => UNLOCK,
            Self::Absent { .. } => "sign in to a desktop session, or leave remember = \"keyring\" out",
            Self::Timeout => "look whether its prompt waits for you somewhere",
            _ => "look whether the program that keeps it runs well",
        }
    }
}

const LONGEST_TEXT: usize = 200;

#[cfg(target_os = "macos")]
const UNLOCK: &str = "security unlock-keychain";
#[cfg(windows)]
const UNLOCK: &str = "sign in to Windows with your own account";
#[cfg(not(any(target_os = "macos", windows)))]
const UNLOCK: &str = "unlock the login keyring: open Passwords and Keys (seahorse), or kwalletmanager";
