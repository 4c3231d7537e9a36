//! Ring 2: the examples in `agent-protocol.md` and the vectors of the agent protocol against the schemas.
#![allow(clippy::expect_used, clippy::panic, reason = "all of this file is tests")]

use std::path::Path;

use boon::{Compiler, SchemaIndex, Schemas};
use credmint_protocol_spec::vectors;
use serde_json::Value;

const SCHEMAS: [&str; 8] =
    ["request", "supply", "confirmed", "reply", "status", "explanation", "certificate", "credentials-object"];

#[test]
fn every_schema_compiles() {
    for name in SCHEMAS {
        compile(name);
    }
}

#[test]
fn the_examples_in_the_document_are_valid() {
    let (requests, replies) = (compile("request"), compile("reply"));
    let examples = examples(&read("agent-protocol.md"));
    let (mut asked, mut replied) = (0, 0);
    for example in &examples {
        if example.get("ask").is_some() {
            asked += 1;
            assert_valid(&requests, example);
        } else if example.get("reply").is_some() {
            replied += 1;
            assert_valid(&replies, example);
        }
    }
    assert!(asked >= 1 && replied >= 8, "only {asked} requests and {replied} replies were found as examples");
}

/// The code is held against the same vectors (`common/agent-protocol/tests/vectors.rs`), so code and schemas agree.
#[test]
fn the_schemas_and_the_vectors_of_the_agent_protocol_agree() {
    let (mut accepted, mut wrong) = (0, Vec::new());
    for vector in vectors("agent-protocol").expect("vectors") {
        let expect = vector.header("expect").unwrap_or_default();
        let Some(layer) = ["request", "supply", "confirmed", "reply"].into_iter().find(|layer| expect.ends_with(layer))
        else {
            continue;
        };
        let json = vector.body.get(4..).unwrap_or_default();
        let valid = serde_json::from_slice(json).is_ok_and(|value| is_valid(&compile(layer), &value));
        accepted += usize::from(valid);
        if valid == expect.starts_with("malformed") {
            wrong.push(vector.name);
        }
    }
    assert!(wrong.is_empty(), "the schemas and these vectors disagree: {wrong:?}");
    assert!(accepted > 10, "only {accepted} messages among the vectors");
}

#[test]
fn the_schemas_refuse_what_is_no_message() {
    let (requests, replies) = (compile("request"), compile("reply"));
    for text in [
        r#"{"ask":"get","hostname":"a"}"#,
        r#"{"version":1,"ask":"get"}"#,
        r#"{"version":1,"ask":"store","hostname":"a"}"#,
    ] {
        assert!(!is_valid(&requests, &serde_json::from_str(text).expect("JSON")), "{text}");
    }
    for text in [r#"{"reply":"failure","kind":"refused"}"#, r#"{"reply":"credential","token":""}"#, r#"{"token":"x"}"#]
    {
        assert!(!is_valid(&replies, &serde_json::from_str(text).expect("JSON")), "{text}");
    }
}

struct Compiled(Schemas, SchemaIndex);

fn compile(name: &str) -> Compiled {
    let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
    for known in SCHEMAS {
        let schema = serde_json::from_str(&read(&format!("schemas/{known}.schema.json"))).expect("JSON");
        compiler.add_resource(&format!("urn:credmint:schema:{known}"), schema).expect("a resource");
    }
    let index = compiler.compile(&format!("urn:credmint:schema:{name}"), &mut schemas).expect("the schema compiles");
    Compiled(schemas, index)
}

fn is_valid(schema: &Compiled, value: &Value) -> bool {
    schema.0.validate(value, schema.1).is_ok()
}

fn assert_valid(schema: &Compiled, value: &Value) {
    if let Err(error) = schema.0.validate(value, schema.1) {
        panic!("{value}: {error}");
    }
}

/// Lists the JSON objects among the indented lines of a page; one may go over several lines.
fn examples(page: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut open = String::new();
    for line in page.lines() {
        let code = line.strip_prefix("    ").unwrap_or_default().trim();
        if code.starts_with("{\"") {
            open.clear();
        }
        open.push_str(code);
        if let Ok(value) = serde_json::from_str(&open) {
            found.push(value);
            open.clear();
        }
    }
    found
}

#[expect(clippy::disallowed_methods, reason = "the tests read the pages that lie beside them")]
fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("the page is there")
}
