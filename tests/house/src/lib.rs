//! What the house rules look at: the files of the repository, their code without tests, and what cargo knows of it.
//! Nothing comes in but the repository itself; paths, texts and packages go out.
//! Reads files and runs cargo; writes nothing. Each rule is a file under `tests/house/tests/`.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    reason = "part of the tests: a rule that cannot read the house has failed, and it reads it itself"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

pub mod cargo;
pub mod code;

/// Gives the top of the repository.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository is there")
}

/// Holds one text file of the repository.
pub struct File {
    /// Path from the top, with `/`.
    pub path: String,
    /// Content.
    pub text: String,
    /// Whether all of it is tests: it lies in a folder of tests, or a `#[cfg(test)] mod` leads to it.
    pub is_test: bool,
}

impl File {
    /// Gives the path's last part.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Tells whether the file lies in one of the folders.
    #[must_use]
    pub fn is_under(&self, folders: &[&str]) -> bool {
        folders.iter().any(|folder| self.path.starts_with(folder))
    }
}

/// Lists every text file that belongs to the repository: neither built, nor ignored, nor binary.
#[must_use]
pub fn files() -> Vec<File> {
    let mut found = Vec::new();
    walk(&root(), "", &mut found);
    let tests: Vec<String> = found.iter().flat_map(|f| code::test_modules(&f.path, &f.text)).collect();
    for file in &mut found {
        file.is_test = format!("/{}", file.path).contains("/tests/") || tests.contains(&file.path);
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(found.len() > 50, "the repository has only {} files: the walk is broken", found.len());
    found
}

/// Lists the Rust files under the given folders; fails when there are none.
#[must_use]
pub fn rust_files(folders: &[&str]) -> Vec<File> {
    let found: Vec<_> = files().into_iter().filter(|f| f.path.ends_with(".rs") && f.is_under(folders)).collect();
    assert!(!found.is_empty(), "no Rust file under {folders:?}");
    found
}

/// Fails with all that was found, one line each, if anything was.
///
/// # Panics
/// When `found` is not empty.
pub fn nothing(rule: &str, found: &[String]) {
    assert!(found.is_empty(), "{rule}\n  {}\n", found.join("\n  "));
}

fn walk(top: &Path, folder: &str, found: &mut Vec<File>) {
    let entries = std::fs::read_dir(top.join(folder)).expect("a folder of the repository is readable");
    for entry in entries.map(|e| e.expect("an entry is readable")) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let kind = entry.file_type().expect("a kind");
        if LEFT_OUT.contains(&name.as_str()) {
            continue;
        }
        if kind.is_dir() {
            walk(top, &path, found);
        } else if kind.is_file()
            && let Ok(text) = std::fs::read_to_string(entry.path())
        {
            found.push(File { path, text, is_test: false });
        }
    }
}

/// Names that are made, not written: folders, and in a second working tree `.git` is a file.
const LEFT_OUT: [&str; 4] = [".git", "target", "node_modules", "__pycache__"];

/// Runs cargo at the top of the repository and gives what it printed.
fn run_cargo(arguments: &[&str]) -> String {
    let program = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(program).args(arguments).current_dir(root()).output().expect("cargo runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "cargo {arguments:?}: {said}");
    String::from_utf8(output.stdout).expect("cargo prints UTF-8")
}
