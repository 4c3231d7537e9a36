//! What stands under the name itself: how the value is found, and how it is recognised as whole.
//! JSON text comes in and goes out, ASCII alone, because some stores keep nothing else.
//! A small value stands in it; a longer one in chunks that it counts. `protocol-spec/settings.md`, `remember`.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use credmint_vocabulary::Secret;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

/// Version of the form.
const FORMAT: u32 = 1;

/// Describes one generation of a value.
#[derive(Serialize, Deserialize)]
pub(crate) struct Manifest {
    format: u32,
    /// Each write has a higher one.
    pub(crate) generation: u64,
    /// Which of the two sets of names has the chunks.
    pub(crate) set: Set,
    /// How many there are; none means that the value stands here.
    pub(crate) chunks: usize,
    length: usize,
    sha256: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<Zeroizing<String>>,
}

/// Names of chunks are of one of two sets: the one that is read, and the one that is written next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Set {
    /// The first.
    #[default]
    A,
    /// The other.
    B,
}

impl Set {
    /// Both.
    pub(crate) const ALL: [Self; 2] = [Self::A, Self::B];

    /// Gives the one that is free.
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    /// Gives the name of a chunk.
    pub(crate) fn chunk(self, base: &str, number: usize) -> String {
        let set = if self == Self::A { 'a' } else { 'b' };
        format!("{base}/{set}{number}")
    }
}

impl Manifest {
    /// Describes a value that stands elsewhere, in so many chunks.
    pub(crate) fn of(value: &[u8], generation: u64, set: Set, chunks: usize) -> Self {
        Self { format: FORMAT, generation, set, chunks, length: value.len(), sha256: hex_digest(value), value: None }
    }

    /// Describes a value and has it in it.
    pub(crate) fn with(value: &[u8], generation: u64, set: Set) -> Self {
        let text = Zeroizing::new(BASE64_STANDARD.encode(value));
        Self { value: Some(text), ..Self::of(value, generation, set, 0) }
    }

    /// Reads one; why not, in words.
    pub(crate) fn read(text: &Secret<Vec<u8>>) -> Result<Self, &'static str> {
        let read: Self = serde_json::from_slice(text.expose()).map_err(|_| "it is not ours")?;
        if read.format == FORMAT { Ok(read) } else { Err("it is of another version of credmint") }
    }

    /// Writes it.
    pub(crate) fn text(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(serde_json::to_vec(self).unwrap_or_default())
    }

    /// Gives the value that stands in it.
    pub(crate) fn value(&self) -> Option<Zeroizing<Vec<u8>>> {
        BASE64_STANDARD.decode(self.value.as_ref()?.as_bytes()).ok().map(Zeroizing::new)
    }

    /// Tells whether this is the value that was described, whole.
    pub(crate) fn describes(&self, value: &[u8]) -> bool {
        value.len() == self.length && hex_digest(value) == self.sha256
    }
}

fn hex_digest(value: &[u8]) -> String {
    digest(&SHA256, value).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
