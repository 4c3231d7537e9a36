//! The message about the services that a host offers, as serde sees it.
//! JSON comes in, a plain struct goes out, and back; unknown properties are skipped.
//! Carries public data alone: what the host's discovery document says.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a host offers, in the words of its discovery document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServicesOffered {
    /// By name: a path of the host, which the bridge serves; the URL of another host; or whatever else stands there.
    pub services: BTreeMap<String, Value>,
}
