//! The executable that this process was started from, and whether another has taken its place since.
//! The file as it was at the start is remembered; whether it is still the same goes out.
//! Reads no file: size, time and number of it are enough.

use std::path::PathBuf;
use std::time::SystemTime;

/// Holds what the file was at the start; nothing where the system does not say.
#[derive(Debug, Default)]
pub struct OwnProgram(Option<(PathBuf, Mark)>);

/// What changes when a file is replaced.
#[derive(Debug, PartialEq, Eq)]
struct Mark {
    size: u64,
    changed: Option<SystemTime>,
    number: u64,
}

impl OwnProgram {
    /// Remembers the file as it is now.
    #[must_use]
    pub fn now() -> Self {
        Self(std::env::current_exe().ok().and_then(|path| Some((path.clone(), Mark::of(&path)?))))
    }

    /// Tells whether another file is there now. One that is gone was not replaced: its successor may be on its way.
    #[must_use]
    pub fn is_replaced(&self) -> bool {
        self.0.as_ref().is_some_and(|(path, mark)| Mark::of(path).is_some_and(|now| now != *mark))
    }
}

impl Mark {
    fn of(path: &std::path::Path) -> Option<Self> {
        let file = path.metadata().ok()?;
        Some(Self { size: file.len(), changed: file.modified().ok(), number: number(&file) })
    }
}

#[cfg(unix)]
fn number(file: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(file)
}

#[cfg(not(unix))]
const fn number(_file: &std::fs::Metadata) -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test needs a file")]
    fn another_file_in_its_place_is_noticed_and_a_missing_one_is_not() {
        let path = std::env::temp_dir().join(format!("credmint-own-program-{}", std::process::id()));
        std::fs::write(&path, "old").unwrap();
        let own = OwnProgram(Some((path.clone(), Mark::of(&path).unwrap())));
        assert!(!own.is_replaced());
        std::fs::remove_file(&path).unwrap();
        assert!(!own.is_replaced());
        std::fs::write(&path, "newer").unwrap();
        assert!(own.is_replaced());
        std::fs::remove_file(&path).unwrap();
        assert!(!OwnProgram::now().is_replaced());
    }
}
