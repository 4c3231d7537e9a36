//! JSON and header fields with secrets in them, without copies left behind.
//! Values come in and one buffer of exactly the right size goes out; a text in an answer becomes a secret at once.
//! Touches nothing else.

use std::io::{self, Write};

use credmint_vocabulary::Secret;
use http::HeaderValue;
use serde::{Deserialize, Deserializer, Serialize};
use zeroize::Zeroizing;

use crate::error::GrantError;

/// Makes a header field that is never shown.
pub(crate) fn sensitive(text: &str) -> Result<HeaderValue, GrantError> {
    let mut value = HeaderValue::from_str(text).map_err(|_| GrantError::UnfitToken)?;
    value.set_sensitive(true);
    Ok(value)
}

/// Writes a value as JSON into a buffer that never grows: growing leaves copies behind.
pub(crate) fn to_json(value: &impl Serialize) -> Zeroizing<Vec<u8>> {
    let mut count = Count(0);
    let counted = serde_json::to_writer(&mut count, value);
    let mut json = Zeroizing::new(Vec::with_capacity(count.0));
    let written = serde_json::to_writer(&mut *json, value);
    if counted.is_err() || written.is_err() {
        json.clear();
    }
    json
}

/// Counts what is written.
struct Count(usize);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a JSON text into a secret of exactly its size.
pub(crate) fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Secret<String>, D::Error> {
    String::deserialize(deserializer).map(Secret::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_is_of_exactly_the_right_size() {
        let json = to_json(&serde_json::json!({"jwt": "a\"b\nc", "role": "é"}));
        assert_eq!(json.as_slice(), "{\"jwt\":\"a\\\"b\\nc\",\"role\":\"é\"}".as_bytes());
        assert_eq!(json.capacity(), json.len());
    }
}
