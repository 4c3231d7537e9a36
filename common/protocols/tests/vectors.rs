//! Holds `terraform.rs` against the vectors of `protocol-spec/vectors/terraform/`.
//!
//! Keys: `expect` is the layer that accepts or refuses; `rule` and `comment` are for people.
//! - With `args` (one line an argument, may be empty): a call. `expect` is `help`, `version`, `get`, `store`, `forget`
//!   or `usage failure`; `own` (one line an argument) and `hostname` are what it means; `why` is the error's sentence.
//! - `expect: answer`: the body is a credentials object as the agent gives it, `stdout` the line that is printed.
//!   `expect: internal failure`: it cannot be printed, `why` says the reason.
//! - `expect: object`: the body is standard input of `store`, `property` (one line each) its names.
//!   `expect: malformed object`: it is refused, `why` says the reason.

#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use credmint_protocol_spec::{Vector, vectors};
use credmint_protocols::terraform::{Call, answer, call, stored_object};
use credmint_vocabulary::Secret;

const KEYS: [&str; 9] = ["expect", "rule", "comment", "args", "own", "hostname", "why", "stdout", "property"];

#[test]
fn code_and_vectors_agree() {
    for vector in vectors("terraform").expect("the folder is there") {
        assert_eq!(vector.unknown_key(&KEYS), None, "{}", vector.name);
        match vector.header("expect") {
            Some("answer" | "internal failure") => check_answer(&vector),
            Some("object" | "malformed object") => check_object(&vector),
            _ => check_call(&vector),
        }
    }
}

fn check_call(vector: &Vector) {
    let expect = vector.header("expect").unwrap_or_default();
    match call(vector.all("args").map(Into::into).collect()) {
        Ok(Call::Help) => assert_eq!(expect, "help", "{}", vector.name),
        Ok(Call::Version) => assert_eq!(expect, "version", "{}", vector.name),
        Ok(Call::Ask(request)) => {
            assert_eq!(expect, request.verb.word(), "{}", vector.name);
            assert_eq!(vector.all("own").collect::<Vec<_>>(), request.own_arguments, "{}", vector.name);
            assert_eq!(vector.header("hostname"), Some(request.hostname.as_str()), "{}", vector.name);
        }
        Err(error) => {
            assert_eq!(expect, "usage failure", "{}: {error}", vector.name);
            assert_eq!(vector.header("why"), Some(error.to_string().as_str()), "{}", vector.name);
        }
    }
}

fn check_answer(vector: &Vector) {
    let object: BTreeMap<String, serde_json::Value> = serde_json::from_slice(&vector.body).expect(&vector.name);
    let token = object.get("token").and_then(|token| token.as_str()).map(Secret::from);
    match answer(token.as_ref(), &object) {
        Ok(bytes) => {
            assert_eq!(vector.header("expect"), Some("answer"), "{}", vector.name);
            let line = format!("{}\n", vector.header("stdout").unwrap_or_default());
            assert_eq!(String::from_utf8_lossy(&bytes), line, "{}", vector.name);
        }
        Err(error) => refused(vector, "internal failure", &error.to_string()),
    }
}

fn check_object(vector: &Vector) {
    match stored_object(&vector.body) {
        Ok(object) => {
            assert_eq!(vector.header("expect"), Some("object"), "{}", vector.name);
            assert_eq!(vector.all("property").collect::<Vec<_>>(), object.properties, "{}", vector.name);
            assert!(object.text.same_as(&vector.body), "{}: the object is not whole", vector.name);
        }
        Err(error) => refused(vector, "malformed object", &error.to_string()),
    }
}

fn refused(vector: &Vector, layer: &str, why: &str) {
    assert_eq!(vector.header("expect"), Some(layer), "{}: {why}", vector.name);
    assert_eq!(vector.header("why"), Some(why), "{}", vector.name);
}
