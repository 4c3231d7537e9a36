//! What no file may contain: notes to oneself, paths of one machine, addresses of package registries.
//! The words are put together from halves, so that this file does not find itself.

use credmint_house::{File, files, nothing};

/// Notes that nobody comes back to, and the text of a room that is not filled yet.
const NOTES: [&str; 4] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X"), concat!("To be ", "written.")];

/// Paths that exist on the machine of whoever wrote the file, or beside the repository there.
const MACHINE: [&str; 6] = [
    concat!("../sha", "red"),
    concat!("fac", "ts/"),
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
    concat!("C:\\Us", "ers\\"),
];

/// Package registries: which one is used is the business of the machine, not of the repository.
const REGISTRIES: [&str; 6] = [
    concat!("registry.npm", "js"),
    concat!("files.python", "hosted"),
    concat!("pypi", ".org"),
    concat!("static.crates", ".io"),
    concat!("index.crates", ".io"),
    concat!("proxy.golang", ".org"),
];

#[test]
fn no_file_has_a_note_to_oneself() {
    nothing(
        "a file has a note that nobody comes back to",
        &lines_with(|line| NOTES.iter().find(|n| has_word(line, n))),
    );
}

#[test]
fn no_file_has_a_path_of_one_machine() {
    let found = lines_with(|line| MACHINE.iter().find(|path| starts_a_path(line, path)));
    nothing("a file has a path of one machine", &found);
}

#[test]
fn no_file_names_a_package_registry() {
    nothing("a file names a package registry", &lines_with(|line| REGISTRIES.iter().find(|r| line.contains(**r))));
}

#[test]
fn lock_files_say_nothing_of_where_packages_came_from() {
    let index = "source = \"registry+https://github.com/rust-lang/";
    let is_lock = |f: &File| ["Cargo.lock", "package-lock.json"].contains(&f.name());
    let mut found = Vec::new();
    for lock in files().into_iter().filter(is_lock) {
        let sources =
            lock.text.lines().map(str::trim).filter(|l| l.starts_with("source = ") || l.starts_with("\"resolved\""));
        found.extend(sources.filter(|l| !l.contains(index)).map(|line| format!("{}: {line}", lock.path)));
    }
    nothing("a lock file names another source than the public index", &found);
}

fn lines_with<'a>(wrong: impl Fn(&str) -> Option<&'a &'static str>) -> Vec<String> {
    let mut found = Vec::new();
    for file in files().into_iter().filter(|f| !f.path.ends_with(".lock")) {
        for (at, line) in file.text.lines().enumerate() {
            found.extend(wrong(line).map(|word| format!("{}:{}: {word}", file.path, at + 1)));
        }
    }
    found
}

/// Finds a word that no letter or digit touches.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).and_then(|l| l.chars().next_back());
        let after = line.get(at + word.len()..).and_then(|l| l.chars().next());
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

/// Finds the beginning of an absolute path: `{mount}/root/generate` is none.
fn starts_a_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line.get(..at).and_then(|l| l.chars().next_back());
        !before.is_some_and(|c| c.is_alphanumeric() || ".}/_-*".contains(c))
    })
}
