//! Nothing is forgotten: every Rust file is compiled, every folder of vectors has some, every story and fault runs.

use std::collections::BTreeSet;

use credmint_house::cargo::packages;
use credmint_house::{File, nothing, root, rust_files};

const FOLDERS: [&str; 5] = ["common/", "helpers/", "packaging/", "protocol-spec/", "tests/"];

#[test]
fn every_rust_file_is_reached_from_a_target() {
    let files = rust_files(&FOLDERS);
    let roots: BTreeSet<String> = packages().into_iter().flat_map(|p| p.targets).collect();
    let mut reached = roots.clone();
    let mut open: Vec<String> = reached.iter().cloned().collect();
    while let Some(path) = open.pop() {
        let Some(file) = files.iter().find(|f| f.path == path) else { continue };
        open.extend(modules(file, &roots).into_iter().filter(|module| reached.insert(module.clone())));
    }
    let forgotten: Vec<_> = files.into_iter().map(|f| f.path).filter(|path| !reached.contains(path)).collect();
    nothing("a Rust file is compiled into nothing", &forgotten);
}

#[test]
fn every_folder_of_vectors_has_some() {
    let vectors = root().join("protocol-spec/vectors");
    let folders = std::fs::read_dir(&vectors).expect("protocol-spec/vectors is there");
    let names: Vec<String> = folders.map(|f| f.expect("readable").file_name().to_string_lossy().into_owned()).collect();
    let empty = |name: &&String| std::fs::read_dir(vectors.join(name)).is_ok_and(|mut inside| inside.next().is_none());
    nothing("a folder of vectors is empty", &names.iter().filter(empty).cloned().collect::<Vec<_>>());
    let runners = rust_files(&["common/", "protocol-spec/"]);
    let runs = |name: &&String| runners.iter().any(|f| f.text.contains(&format!("vectors(\"{name}\")")));
    nothing("no test runs a folder of vectors", &names.iter().filter(|n| !runs(n)).cloned().collect::<Vec<_>>());
}

#[test]
fn stories_and_faults_have_tests() {
    for folder in ["tests/stories/", "tests/faults/"] {
        let tests: usize = rust_files(&[folder]).iter().map(|f| f.text.matches("#[test]").count()).sum();
        assert!(tests > 0, "{folder} has no test");
    }
}

#[test]
fn no_test_is_switched_off() {
    let off = |f: &File| f.text.lines().any(|line| line.trim_start().starts_with(concat!("#[ign", "ore")));
    let found: Vec<_> = rust_files(&FOLDERS).into_iter().filter(off).map(|f| f.path).collect();
    nothing("a test is switched off", &found);
}

/// Lists the files that a file's `mod x;` lines may mean, with `#[path]` honoured.
fn modules(file: &File, roots: &BTreeSet<String>) -> Vec<String> {
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let stem = file.name().trim_end_matches(".rs");
    let is_root = roots.contains(&file.path) && !folder.ends_with("/src") || ["main", "lib", "mod"].contains(&stem);
    let inside = if is_root { folder.to_owned() } else { format!("{folder}/{stem}") };
    let mut found = Vec::new();
    let mut path = None;
    for line in file.text.lines().map(str::trim) {
        if let Some(given) = line.strip_prefix("#[path = \"").and_then(|rest| rest.strip_suffix("\"]")) {
            path = Some(flat(&format!("{folder}/{given}")));
        } else if let Some(name) = module_name(line) {
            let usual = [format!("{inside}/{name}.rs"), format!("{inside}/{name}/mod.rs")];
            found.extend(path.take().map_or(usual.to_vec(), |given| vec![given]));
        } else if !line.starts_with("#[") && !line.starts_with("//") {
            path = None;
        }
    }
    found
}

fn module_name(line: &str) -> Option<&str> {
    let line = ["pub(crate) ", "pub(super) ", "pub "].iter().fold(line, |l, word| l.strip_prefix(word).unwrap_or(l));
    line.strip_prefix("mod ")?.strip_suffix(';')
}

/// Takes `folder/..` out of a path.
fn flat(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}
