//! An empty private directory for a test, gone at its end.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Holds the directory.
pub(crate) struct EmptyDirectory(PathBuf);

impl EmptyDirectory {
    /// Makes one below the system's temporary directory.
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("credmint-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        crate::directory::make_private(&path).expect("the temporary directory is writable");
        Self(path)
    }

    /// Gives its path.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for EmptyDirectory {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap_or_default();
    }
}
