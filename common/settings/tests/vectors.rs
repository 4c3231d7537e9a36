//! Replays `protocol-spec/vectors/settings/`: the body is a settings file, shown as `config.toml`.
//!
//! Header keys: `expect` (`settings`: the file is accepted; `failure`: it is refused, as a whole), and for a failure
//! `line` and `column` (from 1), `what` (the sentence, exactly; `not TOML` stands for any
//! complaint of the TOML parser) and `hint` (exactly; absent means that there is none);
//! `comment` for people. A body that has the word `canary` has it in the place of a secret: no output may repeat it.

#![expect(clippy::expect_used, clippy::panic, reason = "a test stops at what is not as it should be")]

use credmint_protocol_spec::{Vector, vectors};
use credmint_settings::{Settings, SettingsError, read};

const KEYS: [&str; 6] = ["expect", "line", "column", "what", "hint", "comment"];

fn outcome(vector: &Vector) -> Result<Settings, SettingsError> {
    let text = String::from_utf8(vector.body.clone()).expect("settings vectors are UTF-8");
    read(&[("config.toml".to_owned(), text)])
}

fn number(vector: &Vector, key: &str) -> usize {
    let text = vector.header(key).unwrap_or_else(|| panic!("{}: no `{key}`", vector.name));
    text.parse().unwrap_or_else(|_| panic!("{}: `{key}` is no number", vector.name))
}

fn check_failure(vector: &Vector, error: &SettingsError) {
    let name = &vector.name;
    assert_eq!((error.line, error.column), (number(vector, "line"), number(vector, "column")), "{name}: {error}");
    let what = if error.what.starts_with("not TOML: ") { "not TOML" } else { &error.what };
    assert_eq!(Some(what), vector.header("what"), "{name}");
    assert_eq!(error.hint(), vector.header("hint"), "{name}");
    assert_eq!(error.to_string(), format!("config.toml:{}: {}", error.line, error.what), "{name}");
    assert!(!format!("{error}{error:?}").contains("canary"), "{name}: a secret is repeated");
}

#[test]
fn every_vector_is_read_as_its_header_says() {
    for vector in vectors("settings").expect("the folder is there and has vectors") {
        assert_eq!(vector.unknown_key(&KEYS), None, "{}", vector.name);
        match (vector.header("expect"), outcome(&vector)) {
            (Some("settings"), Ok(_)) => {}
            (Some("failure"), Err(error)) => check_failure(&vector, &error),
            (expect, outcome) => panic!("{}: expected {expect:?}, got {outcome:?}", vector.name),
        }
    }
}

#[test]
fn the_vectors_cover_acceptance_and_refusal() {
    let all = vectors("settings").expect("the folder is there and has vectors");
    let accepted = all.iter().filter(|vector| vector.header("expect") == Some("settings")).count();
    assert!(accepted >= 15 && all.len() - accepted >= 100, "{accepted} of {}", all.len());
}

/// Cuts a text off at every character, and leaves every character out once.
fn damaged(text: &str) -> impl Iterator<Item = String> + '_ {
    text.char_indices().flat_map(move |(at, c)| {
        let (before, after) = text.split_at(at);
        [before.to_owned(), format!("{before}{}", after.get(c.len_utf8()..).unwrap_or_default())]
    })
}

#[test]
fn damaged_files_are_mistakes_that_repeat_no_secret() {
    for vector in vectors("settings").expect("the folder is there and has vectors") {
        let text = String::from_utf8_lossy(&vector.body).into_owned();
        for damaged in damaged(&text) {
            let Err(error) = read(&[("config.toml".to_owned(), damaged)]) else { continue };
            assert!(!format!("{error}{error:?}").contains("canary"), "{}: {error}", vector.name);
            assert!(error.line >= 1 && error.column >= 1, "{}: {error}", vector.name);
        }
    }
}
