//! What cargo knows: our packages with their declared doors, and what an executable is really made of.
//! Names come in, names go out.
//! Runs `cargo metadata` and `cargo tree`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{root, run_cargo};

/// Describes one package of ours.
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its folder from the top: `common/settings`.
    pub folder: String,
    /// What it depends on when it is built for users: not for tests, not for build scripts.
    pub doors: BTreeSet<String>,
    /// Paths of the roots of its targets (`src/lib.rs`, `tests/x.rs` …), from the top.
    pub targets: BTreeSet<String>,
}

impl Package {
    /// Tells whether it lies in that top-level folder.
    #[must_use]
    pub fn is_in(&self, top: &str) -> bool {
        self.folder.split('/').next() == Some(top)
    }
}

/// Lists the packages of the workspace.
#[must_use]
pub fn packages() -> Vec<Package> {
    let text = run_cargo(&["metadata", "--no-deps", "--format-version", "1"]);
    let metadata: Value = serde_json::from_str(&text).expect("cargo metadata prints JSON");
    let packages: Vec<_> = list(&metadata, "packages").iter().map(package).collect();
    assert!(packages.len() > 10, "cargo metadata lists only {} packages", packages.len());
    packages
}

/// Lists `name v1.2.3` of all that is compiled into an executable on this machine, itself and proc macros left out.
#[must_use]
pub fn compiled_into(package: &str) -> BTreeSet<String> {
    let text = run_cargo(&[
        "tree",
        "--package",
        package,
        "--edges",
        "normal,no-proc-macro",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ]);
    let first_words = |line: &str| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    text.lines().skip(1).filter(|line| !line.trim().is_empty()).map(first_words).collect()
}

fn package(value: &Value) -> Package {
    let here = format!("{}/", root().display());
    let relative = |path: &str| path.replace('\\', "/").trim_start_matches(&here).to_owned();
    let manifest = relative(text(value, "manifest_path"));
    let normal = list(value, "dependencies").iter().filter(|d| d.get("kind").is_none_or(Value::is_null));
    Package {
        name: text(value, "name").to_owned(),
        folder: manifest.trim_end_matches("/Cargo.toml").to_owned(),
        doors: normal.map(|d| text(d, "name").to_owned()).collect(),
        targets: list(value, "targets").iter().map(|t| relative(text(t, "src_path"))).collect(),
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).expect("cargo metadata has the key")
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).expect("cargo metadata has the key")
}
