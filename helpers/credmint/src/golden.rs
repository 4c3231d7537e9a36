//! Golden files for unit tests: what the program prints, kept under `tests/golden`.
//! A file name and a text come in; `CREDMINT_GOLDEN=write cargo test -p credmint` writes instead of comparing.
//! Part of the tests only.

use std::path::Path;

/// Compares a text with a golden file.
#[expect(clippy::disallowed_methods, reason = "a test reads its own golden files")]
pub(crate) fn check(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("CREDMINT_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        return std::fs::write(&path, text).expect("written");
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert_eq!(text, golden, "{} differs; regenerate with CREDMINT_GOLDEN=write", path.display());
}
