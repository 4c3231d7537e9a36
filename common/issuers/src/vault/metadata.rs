//! What an auth method notes about who logged in: names and values by the role's claim mappings.
//! JSON comes in, a map goes out, without the provider's own tokens.
//! Keeps no copy of those: a role may put them there (`oauth2_metadata`), and they are secret.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserializer;
use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

/// Holds the names and values.
pub(crate) type Metadata = BTreeMap<String, Value>;

/// Reads the object, or `null`.
pub(crate) fn metadata<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Metadata, D::Error> {
    deserializer.deserialize_any(WithoutTokens)
}

struct WithoutTokens;

impl<'de> Visitor<'de> for WithoutTokens {
    type Value = Metadata;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or null")
    }

    fn visit_unit<E: Error>(self) -> Result<Metadata, E> {
        Ok(Metadata::new())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Metadata, A::Error> {
        let mut kept = Metadata::new();
        while let Some(name) = map.next_key::<String>()? {
            if name.starts_with("oauth2_") {
                let _skipped: IgnoredAny = map.next_value()?;
            } else {
                kept.insert(name, map.next_value()?);
            }
        }
        Ok(kept)
    }
}
