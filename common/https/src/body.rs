//! Bodies that are wiped: one that is sent, and one that is gathered up to a bound.
//! Bytes come in, bytes go out; nothing that was outgrown is left behind.
//! Touches nothing. The buffers of TLS and HTTP below us are not ours to wipe.

use bytes::Bytes;
use zeroize::{Zeroize, Zeroizing};

/// Hands a request's body over; it is wiped when the last part of the stack lets go of it.
pub(crate) fn wiped(body: Vec<u8>) -> Bytes {
    Bytes::from_owner(Zeroizing::new(body))
}

/// Gathers an answer's body.
pub(crate) struct Gathered {
    room: Zeroizing<Vec<u8>>,
    limit: usize,
}

impl Gathered {
    /// Begins with the room that the server announced, within the bound.
    pub(crate) fn new(announced: Option<u64>, limit: usize) -> Self {
        let announced = announced.and_then(|length| usize::try_from(length).ok()).unwrap_or(4_096);
        Self { room: Zeroizing::new(Vec::with_capacity(announced.min(limit))), limit }
    }

    /// Adds a chunk and wipes it where it can be; `false` once it is too much.
    pub(crate) fn add(&mut self, chunk: Bytes) -> bool {
        let length = self.room.len() + chunk.len();
        if length > self.limit {
            return false;
        }
        if length > self.room.capacity() {
            self.grow(length);
        }
        self.room.extend_from_slice(&chunk);
        if let Ok(mut ours) = chunk.try_into_mut() {
            ours.as_mut().zeroize();
        }
        true
    }

    /// Gives all of it.
    pub(crate) fn finish(self) -> Zeroizing<Vec<u8>> {
        self.room
    }

    /// Moves into a larger buffer by hand: `Vec` would free the old one as it is.
    fn grow(&mut self, length: usize) {
        let mut larger = Zeroizing::new(Vec::with_capacity(length.max(self.room.capacity() * 2).min(self.limit)));
        larger.extend_from_slice(&self.room);
        self.room = larger;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gathers_up_to_the_bound_and_no_further() {
        let mut body = Gathered::new(None, 10_000);
        assert!(body.add(Bytes::from(vec![1; 6_000])) && body.add(Bytes::from_static(b"abc")));
        assert!(!body.add(Bytes::from(vec![2; 6_000])));
        assert_eq!(body.finish().len(), 6_003);
    }

    #[test]
    fn an_announced_length_is_not_believed() {
        assert!(Gathered::new(Some(u64::MAX), 100).room.capacity() <= 128);
    }
}
