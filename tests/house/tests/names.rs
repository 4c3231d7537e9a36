//! Names say what a thing is: no module, file or type of ours is called by a word that fits anything.

use credmint_house::code::{defined_names, words};
use credmint_house::{nothing, rust_files};

/// Words that say nothing, and `creds`, which is two words at once.
const EMPTY: [&str; 9] = ["manager", "util", "utils", "misc", "helpers", "context", "creds", "service", "common"];

/// The field's own words that contain one: Kubernetes' service account, Terraform's service discovery and host services.
const FIELD: [&str; 7] = [
    "service account",
    "service discovery",
    "service identifier",
    "service url",
    "service urls",
    "service hostname",
    "secret service",
];

#[test]
fn no_name_of_ours_is_an_empty_word() {
    let mut found = Vec::new();
    for file in rust_files(&["common/", "helpers/", "packaging/", "protocol-spec/", "tests/"]) {
        let stem = file.name().trim_end_matches(".rs").to_owned();
        let file_name = std::iter::once((1, stem));
        for (line, name) in file_name.chain(defined_names(&file.text)) {
            if let Some(word) = empty_word(&name) {
                found.push(format!("{}:{line}: `{name}` has the word `{word}`", file.path));
            }
        }
    }
    nothing("a name says nothing (protocol-spec/glossary.md)", &found);
}

fn empty_word(name: &str) -> Option<&'static str> {
    let phrase = words(name).join(" ");
    let rest = FIELD.iter().fold(phrase, |phrase, known| phrase.replace(known, ""));
    EMPTY.into_iter().find(|empty| rest.split(' ').any(|word| word == *empty))
}
