//! Every environment name of ours that the code knows is documented in `protocol-spec/settings.md`, and the other way round.

use std::collections::BTreeSet;

use credmint_house::code::{without_comments, without_tests};
use credmint_house::{files, nothing, rust_files};

#[test]
fn every_environment_name_in_the_code_is_documented_and_no_other() {
    let reference = files().into_iter().find(|f| f.path == "protocol-spec/settings.md");
    let documented = names(&reference.map_or_else(String::new, |f| f.text));
    let rust = rust_files(&["common/", "helpers/", "packaging/"]);
    let code = rust.iter().filter(|f| !f.is_test);
    let read: BTreeSet<String> = code.flat_map(|f| names(&without_comments(without_tests(&f.text)))).collect();
    let silent: Vec<_> = read.difference(&documented).cloned().collect();
    let stale: Vec<_> = documented.difference(&read).cloned().collect();
    nothing("the code has environment names that protocol-spec/settings.md does not", &silent);
    nothing("protocol-spec/settings.md has environment names that the code does not", &stale);
}

#[test]
fn pages_name_only_what_is_documented() {
    let files = files();
    let documented =
        files.iter().find(|f| f.path == "protocol-spec/settings.md").map(|f| names(&f.text)).unwrap_or_default();
    let mut found = Vec::new();
    for page in files.iter().filter(|f| f.path.ends_with(".md")) {
        let unknown: Vec<_> = names(&page.text).difference(&documented).cloned().collect();
        found.extend(unknown.iter().map(|name| format!("{}: {name}", page.path)));
    }
    nothing("a page names an environment variable that protocol-spec/settings.md does not know", &found);
}

/// Finds names of ours: `CREDMINT_` and capitals.
fn names(text: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let words = text.split(|c: char| !is_name(c));
    words.filter(|w| w.starts_with("CREDMINT_") && w.len() > 9).map(str::to_owned).collect()
}
