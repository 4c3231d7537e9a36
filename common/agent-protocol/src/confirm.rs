//! The messages of a confirmation: a person is asked before something is handed out.
//! JSON comes in, plain structs go out, and back; unknown properties are skipped, an unknown answer is no consent.
//! Carries no secret: who wants what, and what was answered. `protocol-spec/agent-protocol.md`, section 15.

use serde::{Deserialize, Serialize};

/// What a person is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirm {
    /// The question, in one sentence.
    pub what: String,
    /// How long the person has.
    #[serde(default)]
    pub expires_in_seconds: u64,
    /// Whether a program of the settings asks: the caller waits, and says nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub elsewhere: bool,
}

/// What came of it, at the caller's terminal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Confirmed {
    /// The person wants it.
    Yes,
    /// The person does not.
    No,
    /// Nobody answered in time.
    Nothing,
    /// There is nobody to ask.
    Unable {
        /// Why, in words.
        #[serde(default)]
        why: String,
    },
    /// An answer of a later version.
    #[serde(other)]
    Unknown,
}
