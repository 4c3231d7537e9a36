//! `kind = "file"`: the token stands in a file that the caller can read.
//! The path comes in, the content of this moment or its absence goes out.
//! Keeps nothing: the caller reads the file again each time.

use std::path::Path;

use credmint_vocabulary::Secret;

use crate::caller::Caller;
use crate::source::{SourceError, read_file};

/// Reads the file; a missing or empty one counts as absent.
pub(crate) fn read(path: &Path, caller: &Caller) -> Result<Option<Secret<String>>, SourceError> {
    Ok(read_file(path, caller)?.filter(|content| !content.expose().trim().is_empty()))
}
