//! A secret as it travels in a frame: serialised on purpose, wiped on drop, never printed.
//! A string comes in, a [`Secret`] goes out.
//! Exists only inside messages; nothing else of the house can be serialised when it is secret.

use credmint_vocabulary::Secret;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Carries a secret across the agent protocol.
pub struct WireSecret(Secret<String>);

impl WireSecret {
    /// Gives the secret to the room that asked for it.
    #[must_use]
    pub fn into_secret(self) -> Secret<String> {
        self.0
    }

    /// Lends it.
    #[must_use]
    pub fn secret(&self) -> &Secret<String> {
        &self.0
    }
}

impl From<Secret<String>> for WireSecret {
    fn from(secret: Secret<String>) -> Self {
        Self(secret)
    }
}

impl Serialize for WireSecret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.expose())
    }
}

impl<'de> Deserialize<'de> for WireSecret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(Secret::new(text)))
    }
}
