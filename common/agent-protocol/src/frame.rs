//! Frames: a length of four bytes, most significant first, then one JSON object.
//! A message comes in, bytes go out, and back. Bounds are checked before anything is allocated.
//! Touches no stream; every buffer is wiped on drop. `protocol-spec/agent-protocol.md`, Framing.

use serde::Serialize;
use serde::de::DeserializeOwned;
use zeroize::Zeroizing;

/// Largest JSON object of a frame, in bytes.
pub const MAXIMUM_FRAME: usize = 64 * 1024;

/// Says why bytes are no frame.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// Longer than [`MAXIMUM_FRAME`]: drop the connection.
    #[error("the frame has {0} bytes, more than {MAXIMUM_FRAME}")]
    TooLong(usize),
    /// Not a message of this protocol: drop the connection.
    #[error("the frame is no message of the agent protocol (line {line}, column {column})")]
    Malformed {
        /// Line of the JSON text.
        line: usize,
        /// Column of the JSON text.
        column: usize,
    },
}

/// Holds the bytes of one frame, length included.
pub struct Frame(Zeroizing<Vec<u8>>);

impl Frame {
    /// Writes a message. Measured first, so that the buffer never grows and leaves no copy behind.
    ///
    /// # Errors
    /// [`FrameError::TooLong`]; [`FrameError::Malformed`] never happens for our own messages.
    pub fn encode<M: Serialize>(message: &M) -> Result<Self, FrameError> {
        let mut count = Count(0);
        serde_json::to_writer(&mut count, message).map_err(|e| malformed(&e))?;
        if count.0 > MAXIMUM_FRAME {
            return Err(FrameError::TooLong(count.0));
        }
        let mut bytes = Zeroizing::new(Vec::with_capacity(count.0 + 4));
        bytes.extend_from_slice(&u32::try_from(count.0).unwrap_or(u32::MAX).to_be_bytes());
        serde_json::to_writer(&mut *bytes, message).map_err(|e| malformed(&e))?;
        Ok(Self(bytes))
    }

    /// Lends the bytes to be sent.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Reads the length that precedes a frame.
///
/// # Errors
/// [`FrameError::TooLong`], before anything is allocated.
pub fn decode_length(head: [u8; 4]) -> Result<usize, FrameError> {
    let length = usize::try_from(u32::from_be_bytes(head)).unwrap_or(usize::MAX);
    if length > MAXIMUM_FRAME { Err(FrameError::TooLong(length)) } else { Ok(length) }
}

/// Reads the message of a frame's JSON text.
///
/// # Errors
/// [`FrameError::Malformed`], with a position and no content.
pub fn decode<M: DeserializeOwned>(json: &[u8]) -> Result<M, FrameError> {
    // A list in the order of a struct's fields would do for serde; the protocol has objects only.
    if json.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return Err(FrameError::Malformed { line: 1, column: 0 });
    }
    serde_json::from_slice(json).map_err(|e| malformed(&e))
}

fn malformed(error: &serde_json::Error) -> FrameError {
    FrameError::Malformed { line: error.line(), column: error.column() }
}

struct Count(usize);

impl std::io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ask, Request, VERSION, WireSecret};
    use credmint_vocabulary::Secret;

    #[test]
    fn frame_survives_a_round_trip() {
        let frame = Frame::encode(&Request { version: VERSION, ask: Ask::Stop }).expect("encodes");
        let (head, json) = frame.bytes().split_at(4);
        assert_eq!(decode_length(head.try_into().expect("four")).expect("short"), json.len());
        let back: Request = decode(json).expect("decodes");
        assert!(matches!(back.ask, Ask::Stop));
    }

    #[test]
    fn frame_longer_than_the_bound_is_refused_before_allocation() {
        assert!(matches!(decode_length([0xff; 4]), Err(FrameError::TooLong(_))));
        let huge = WireSecret::from(Secret::new("x".repeat(MAXIMUM_FRAME)));
        assert!(matches!(Frame::encode(&huge), Err(FrameError::TooLong(_))));
    }

    #[test]
    fn a_request_of_a_later_version_is_a_variant() {
        let request: Request = decode(br#"{"version":9,"ask":"dance","partner":"x"}"#).expect("decodes");
        assert_eq!(request.version, 9);
        assert!(matches!(request.ask, Ask::Unknown));
    }
}
