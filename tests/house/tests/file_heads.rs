//! A file begins with three sentences: what comes in, what goes out, what it may not touch.

use credmint_house::{File, nothing, rust_files};

#[test]
fn every_file_begins_with_its_introduction() {
    let silent: Vec<_> = rust_files(&["common/", "helpers/", "packaging/", "protocol-spec/", "tests/"]);
    let found: Vec<_> = silent.into_iter().filter(|f| !f.text.starts_with("//!")).map(|f| f.path).collect();
    nothing("a file does not begin with `//!`", &found);
}

#[test]
fn every_room_file_has_three_sentences() {
    let rooms = |f: &&File| f.path.contains("/src/") && !f.is_test;
    let files = rust_files(&["common/", "helpers/"]);
    let short = files.iter().filter(rooms).map(|f| (&f.path, sentences(&f.text))).filter(|(_, number)| *number < 3);
    let found: Vec<_> = short.map(|(path, number)| format!("{path}: {number}")).collect();
    nothing("a file begins with fewer than three sentences", &found);
}

fn sentences(text: &str) -> usize {
    let head: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim).collect();
    let head = head.join(" ") + " ";
    [". ", "; ", ": "].iter().map(|end| head.matches(end).count()).sum()
}
