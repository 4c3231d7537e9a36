//! The expose census: every door through which a secret leaves its type, counted, with the reason for each file.
//! A new one is a line here, reviewed. The idea is cargo's, which manages with 13.

use std::collections::BTreeMap;

use credmint_house::code::{without_comments, without_tests};
use credmint_house::{nothing, rust_files};

/// Path, how often `.expose(` stands in its code, and why it must.
const CENSUS: [(&str, usize, &str); 1] =
    [("common/agent-protocol/src/wire_secret.rs", 1, "a frame carries secrets; it is wiped on drop")];

#[test]
fn secrets_are_exposed_only_where_the_census_says() {
    let counted = count();
    let listed: BTreeMap<&str, usize> = CENSUS.iter().map(|(path, number, _)| (*path, *number)).collect();
    let mut found = Vec::new();
    for (path, number) in &counted {
        match listed.get(path.as_str()) {
            Some(known) if known == number => {}
            Some(known) => found.push(format!("{path}: {number}, the census says {known}")),
            None => found.push(format!("{path}: {number}, not in the census")),
        }
    }
    let gone = listed.keys().filter(|path| !counted.contains_key(**path));
    found.extend(gone.map(|path| format!("{path}: none any more, the census still lists it")));
    nothing("`.expose(` and the census in tests/house/tests/expose_census.rs disagree", &found);
}

#[test]
fn every_line_of_the_census_has_a_reason() {
    let without = CENSUS.iter().filter(|(_, _, why)| why.len() < 20).map(|(path, ..)| (*path).to_owned());
    nothing("a line of the census has no reason", &without.collect::<Vec<_>>());
}

fn count() -> BTreeMap<String, usize> {
    let files = rust_files(&["common/", "helpers/", "packaging/"]);
    let in_code = files.into_iter().filter(|f| !f.is_test);
    let counted = in_code.map(|f| (without_comments(without_tests(&f.text)).matches(".expose(").count(), f.path));
    counted.filter(|(number, _)| *number > 0).map(|(number, path)| (path, number)).collect()
}
