//! Lists the test vectors of the specification, so that a runner enumerates a folder and never a list.
//! The name of a folder under `protocol-spec/vectors/` comes in, its vectors go out, sorted by name.
//! Reads that folder and nothing else; strict about the format. `protocol-spec/README.md`, Vectors.

use std::io;
use std::path::Path;

/// Holds one vector: what its header says, and the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vector {
    /// File name without extension.
    pub name: String,
    /// Header lines in order; a key may be repeated.
    pub headers: Vec<(String, String)>,
    /// Everything after the first empty line, untouched.
    pub body: Vec<u8>,
}

/// Says why a folder of vectors cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VectorError {
    /// The folder or a file in it cannot be read.
    #[error("vectors/{0}: {1}")]
    Unreadable(String, #[source] io::Error),
    /// Nothing is in the folder: a runner over it would prove nothing.
    #[error("vectors/{0} is empty")]
    Empty(String),
    /// A file is not in the format of a vector.
    #[error("vectors/{0}, line {1}: {2}")]
    Format(String, usize, &'static str),
}

impl Vector {
    /// Gives the value of a header line, the first one if the key is repeated.
    #[must_use]
    pub fn header(&self, key: &str) -> Option<&str> {
        self.headers.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    /// Gives every value of a repeated key, in order.
    pub fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers.iter().filter(move |(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    /// Names a key that is none of `known`: our runners fail on one, other people's should skip the vector.
    #[must_use]
    pub fn unknown_key(&self, known: &[&str]) -> Option<&str> {
        self.headers.iter().map(|(key, _)| key.as_str()).find(|key| !known.contains(key))
    }

    fn parse(file: &str, bytes: &[u8]) -> Result<Self, VectorError> {
        let wrong = |line, why| VectorError::Format(file.to_owned(), line, why);
        let mut headers = Vec::new();
        let mut rest = bytes;
        for line in 1.. {
            let end = rest.iter().position(|b| *b == b'\n').ok_or(wrong(line, "no empty line ends the header"))?;
            let (text, after) = (rest.get(..end).unwrap_or_default(), rest.get(end + 1..).unwrap_or_default());
            rest = after;
            if text.is_empty() {
                break;
            }
            headers.push(header(text).ok_or(wrong(line, "not a line `key: value`"))?);
        }
        if !headers.iter().any(|(key, _)| key == "expect") {
            return Err(wrong(1, "the header has no key `expect`"));
        }
        let name = file.rsplit('/').next().unwrap_or(file);
        let name = name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned();
        Ok(Self { name, headers, body: rest.to_vec() })
    }
}

/// Reads every vector of a folder.
///
/// # Errors
/// [`VectorError`]: the folder is absent or empty, or one of its files is not a vector.
#[expect(
    clippy::disallowed_methods,
    reason = "this crate is part of the tests: it reads the vectors that lie beside it"
)]
pub fn vectors(folder: &str) -> Result<Vec<Vector>, VectorError> {
    let unreadable = |e| VectorError::Unreadable(folder.to_owned(), e);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors").join(folder);
    let entries = std::fs::read_dir(&root).and_then(Iterator::collect::<io::Result<Vec<_>>>).map_err(unreadable)?;
    let mut vectors = Vec::new();
    for entry in entries {
        let file = format!("{folder}/{}", entry.file_name().to_string_lossy());
        vectors.push(Vector::parse(&file, &std::fs::read(entry.path()).map_err(unreadable)?)?);
    }
    vectors.sort_by(|a, b| a.name.cmp(&b.name));
    if vectors.is_empty() { Err(VectorError::Empty(folder.to_owned())) } else { Ok(vectors) }
}

/// Reads `key: value`; the key is lower case with dashes, the value may be empty (`key:`).
fn header(line: &[u8]) -> Option<(String, String)> {
    let (key, value) = std::str::from_utf8(line).ok()?.split_once(':')?;
    let plain = !key.is_empty() && key.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    let value = if value.is_empty() { value } else { value.strip_prefix(' ')? };
    (plain && value.trim() == value).then(|| (key.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_is_everything_after_the_first_empty_line() {
        let vector =
            Vector::parse("x/one.txt", b"expect: answer\nargs: get a\nargs: get b\nnote:\n\n{}\n\n").expect("ok");
        assert_eq!((vector.name.as_str(), vector.body.as_slice()), ("one", b"{}\n\n".as_slice()));
        assert_eq!(vector.all("args").collect::<Vec<_>>(), ["get a", "get b"]);
        assert_eq!((vector.header("note"), vector.header("stdin")), (Some(""), None));
        assert_eq!(vector.unknown_key(&["expect", "args"]), Some("note"));
    }

    #[test]
    fn a_file_in_another_format_is_refused() {
        for bytes in
            ["", "expect: answer", "expect: answer\n", "Expect: answer\n\n", "expect:answer\n\n", "args: x\n\n"]
        {
            assert!(matches!(Vector::parse("x/y", bytes.as_bytes()), Err(VectorError::Format(..))), "{bytes:?}");
        }
        assert!(matches!(Vector::parse("x/y", b"expect: \xff\n\n"), Err(VectorError::Format(_, 1, _))));
    }

    #[test]
    fn an_absent_folder_is_an_error() {
        assert!(matches!(vectors("no-such-folder"), Err(VectorError::Unreadable(..))));
    }
}
