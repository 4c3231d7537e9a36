//! Holds `protocol-spec/settings.md` against the code, in both directions: keys, arguments, environment names, examples.
//! The page is a part of this test's program; what differs is named.

use std::collections::{BTreeMap, BTreeSet};

use crate::arguments::words::{Program, Word};
use crate::environment::ENVIRONMENT;
use crate::reader::shape::{Key, Keys, Kind, may, must};
use crate::reader::{client, enrolment, host, identity, issuer, policy, source, vault};

const PAGE: &str = include_str!("../../../../protocol-spec/settings.md");

/// A heading, and below it the cells of its tables' rows; none where there are no keys.
type Sections = BTreeMap<String, Vec<Vec<String>>>;

fn sections() -> Sections {
    let (mut sections, mut heading) = (Sections::new(), String::new());
    for line in PAGE.lines() {
        if let Some(text) = line.strip_prefix("## ").or_else(|| line.strip_prefix("### ")) {
            heading = text.to_owned();
            sections.entry(heading.clone()).or_default();
        }
        if line.starts_with("| `") || line.starts_with("| [") {
            let cells = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
            sections.entry(heading.clone()).or_default().push(cells);
        }
    }
    sections
}

/// Gives the keys of a section with "required" as the page has it, links to other sections followed.
fn documented(sections: &Sections, heading: &str) -> BTreeSet<(String, bool)> {
    let rows = sections.get(heading).unwrap_or_else(|| panic!("the page has no table under `{heading}`"));
    let mut keys = BTreeSet::new();
    for row in rows {
        match row[0].strip_prefix('[').and_then(|link| link.split_once(']')) {
            Some((name, _)) => keys.extend(documented(sections, &capitalised(name))),
            None => {
                assert!(!row[1].is_empty() && !row[4].is_empty(), "{heading}, {}: a type and a meaning", row[0]);
                assert!(["yes", "no"].contains(&row[2].as_str()), "{heading}, {}: required is yes or no", row[0]);
                keys.insert((row[0].trim_matches('`').to_owned(), row[2] == "yes"));
            }
        }
    }
    keys
}

fn capitalised(text: &str) -> String {
    text[..1].to_uppercase() + &text[1..]
}

fn accepted(keys: Keys) -> BTreeSet<(String, bool)> {
    keys.iter().flat_map(|group| group.iter()).map(|key| (key.name.to_owned(), key.required)).collect()
}

fn kinds<T>(label: &str, kinds: &[Kind<T>]) -> Vec<(String, Keys)> {
    kinds.iter().map(|kind| (format!("{label} `{}`", kind.word), kind.keys)).collect()
}

/// Every table of the page and the keys that the code accepts there.
fn tables() -> Vec<(String, Keys)> {
    const KIND: Keys = &[&[must("kind")]];
    const METHOD: Keys = &[&[must("method")]];
    let fixed: [(&str, Keys); 15] = [
        ("Sources", source::KEYS),
        ("Hosts", host::HOST),
        ("Providers", host::PROVIDER),
        ("Allow keys", policy::ALLOW),
        ("Bridge", host::BRIDGE),
        ("Agent", host::AGENT),
        ("Server keys", &[client::PEER]),
        ("Authorization server keys", &[client::SERVER]),
        ("Client keys", &[client::CLIENT]),
        ("Login keys", &[vault::LOGIN]),
        ("Certificate keys", &[enrolment::WANTED]),
        ("Identities", KIND),
        ("Issuers", KIND),
        ("Auth methods", METHOD),
        ("EST methods", METHOD),
    ];
    let mut all: Vec<_> = fixed.into_iter().map(|(heading, keys)| (heading.to_owned(), keys)).collect();
    all.extend(kinds("Identity", identity::KINDS));
    all.extend(kinds("Issuer", issuer::KINDS));
    all.extend(kinds("Auth method", vault::METHODS));
    all.extend(kinds("EST method", enrolment::EST_METHODS).into_iter().filter(|(_, keys)| !keys.is_empty()));
    all
}

#[test]
fn the_page_has_every_key_and_no_other() {
    let sections = sections();
    for (heading, keys) in tables() {
        assert_eq!(documented(&sections, &heading), accepted(keys), "left the page, right the code: {heading}");
    }
}

#[test]
fn the_page_has_no_table_of_keys_that_the_code_does_not_know() {
    let known: BTreeSet<_> = tables().into_iter().map(|(heading, _)| heading).collect();
    let of_keys = |heading: &&String| {
        ["Identity ", "Issuer ", "Auth method ", "EST method "].iter().any(|start| heading.starts_with(start))
    };
    let sections = sections();
    let stray: Vec<_> = sections.keys().filter(of_keys).filter(|heading| !known.contains(*heading)).collect();
    assert!(stray.is_empty(), "{stray:?}");
}

#[test]
fn shapes_have_each_key_once() {
    for (heading, keys) in tables() {
        assert_eq!(accepted(keys).len(), keys.iter().map(|group| group.len()).sum::<usize>(), "{heading}");
    }
    assert_ne!(may("x").required, must("x").required);
    let _: &[Key] = client::PEER;
}

#[test]
fn the_page_has_every_argument_and_no_other() {
    let sections = sections();
    let both: Vec<_> =
        Program::ALL[0].words().filter(|word| Program::ALL[1].words().any(|w| w.name == word.name)).collect();
    assert_eq!(written(&sections, "Arguments of both"), meant(&both));
    for program in Program::ALL {
        let own: Vec<_> = program.words().filter(|word| !both.iter().any(|b| b.name == word.name)).collect();
        assert_eq!(written(&sections, &format!("Arguments of `{}`", program.name())), meant(&own));
    }
}

fn written(sections: &Sections, heading: &str) -> BTreeSet<(String, String)> {
    sections[heading].iter().map(|row| (row[0].trim_matches('`').to_owned(), row[1].clone())).collect()
}

fn meant(words: &[&Word]) -> BTreeSet<(String, String)> {
    let sets = |word: &Word| match word.part.label() {
        "host" if word.key == "host" => "host".to_owned(),
        label => format!("{label} `{}`", word.key),
    };
    words.iter().map(|word| (word.name.to_owned(), sets(word))).collect()
}

#[test]
fn the_page_has_every_environment_name_with_its_meaning() {
    let rows: Vec<_> =
        sections()["Environment"].iter().map(|row| (row[0].trim_matches('`').to_owned(), row[1].clone())).collect();
    let names: Vec<_> = ENVIRONMENT.iter().map(|name| (name.name.to_owned(), name.meaning.to_owned())).collect();
    assert_eq!(rows, names);
}

#[test]
fn every_example_of_the_page_is_read() {
    let examples: Vec<&str> = PAGE.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(examples.len() >= 18, "{}", examples.len());
    for example in examples {
        let read = crate::read(&[("settings.md".to_owned(), example.to_owned())]);
        assert!(read.is_ok(), "{read:?}\n{example}");
    }
}

#[test]
fn every_example_of_arguments_is_read() {
    let examples: Vec<&str> = PAGE.split("```hcl\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(examples.len(), 2);
    for example in examples {
        let quoted: Vec<&str> = example.split('"').skip(1).step_by(2).collect();
        let args: Vec<String> = quoted[1..].iter().map(|arg| (*arg).to_owned()).collect();
        let read = crate::from_args(&format!("terraform-credentials-{}", quoted[0]), &args);
        assert!(read.is_ok(), "{read:?}\n{example}");
    }
}

#[test]
fn every_kind_has_an_example_with_all_of_its_own_keys() {
    let blocks: Vec<&str> = PAGE.split("\n### ").collect();
    for (heading, keys) in tables().into_iter().filter(|(heading, _)| heading.contains('`')) {
        let block = blocks.iter().find(|block| block.starts_with(&heading)).unwrap_or_else(|| panic!("{heading}"));
        let example = block.split("```toml\n").nth(1).unwrap_or_else(|| panic!("{heading} has no example"));
        let shared = [client::PEER, client::SERVER, client::CLIENT, vault::LOGIN, enrolment::WANTED];
        let own =
            keys.iter().filter(|group| shared.iter().all(|s| s[0].name != group[0].name || s.len() != group.len()));
        for key in own.flat_map(|group| group.iter()) {
            assert!(example.contains(&format!("{} = ", key.name)), "the example of {heading} lacks `{}`", key.name);
        }
    }
}
