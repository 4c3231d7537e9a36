//! Ring 2: the credentials object's vectors against its schema, with a JSON Schema validator that is not ours.

use std::path::Path;

use boon::{Compiler, Schemas};
use credmint_protocol_spec::{Vector, vectors};
use serde_json::Value;

#[test]
fn the_schema_accepts_and_refuses_what_the_vectors_say() {
    let mut schemas = Schemas::new();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/credentials-object.schema.json");
    let schema = Compiler::new().compile(&path.to_string_lossy(), &mut schemas).expect("the schema compiles");
    let wrong = |vector: &&Vector| {
        let said = match serde_json::from_slice::<Value>(&vector.body) {
            Err(_) => "malformed",
            Ok(object) if schemas.validate(&object, schema).is_ok() => "valid",
            Ok(_) => "invalid",
        };
        vector.header("expect") != Some(said)
    };
    let vectors = vectors("credentials-object").expect("vectors");
    let names: Vec<&str> = vectors.iter().filter(wrong).map(|v| v.name.as_str()).collect();
    assert!(names.is_empty(), "the schema and these vectors disagree: {names:?}");
}

#[test]
fn every_vector_names_its_rule_and_nothing_unknown() {
    for vector in vectors("credentials-object").expect("vectors") {
        assert_eq!(vector.unknown_key(&["expect", "rule", "comment"]), None, "{}", vector.name);
        assert!(vector.header("rule").is_some_and(|rule| !rule.is_empty()), "{}", vector.name);
    }
}
