//! JSON Schemas parse, say which draft they are written in, and refer only to what is there.

use credmint_house::{File, files, nothing};
use serde_json::Value;

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

#[test]
fn every_schema_is_json_of_the_right_draft_with_a_description() {
    let schemas = schemas();
    assert!(!schemas.is_empty(), "protocol-spec/schemas has no schema");
    let mut found = Vec::new();
    for schema in &schemas {
        let Ok(value) = serde_json::from_str::<Value>(&schema.text) else {
            found.push(format!("{}: not JSON", schema.path));
            continue;
        };
        let word = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
        if word("$schema") != DRAFT || word("title").is_empty() || word("description").is_empty() {
            found.push(format!("{}: wrong $schema, or no title or description", schema.path));
        }
        if word("$id") != format!("urn:credmint:schema:{}", schema.name().trim_end_matches(".schema.json")) {
            found.push(format!("{}: $id is {:?}", schema.path, word("$id")));
        }
    }
    nothing("a schema is not as it should be", &found);
}

#[test]
fn the_index_names_every_schema() {
    let index = files().into_iter().find(|f| f.path == "protocol-spec/README.md").map_or_else(String::new, |f| f.text);
    let named = |f: &File| index.contains(&format!("`{}`", f.name().trim_end_matches(".schema.json")));
    let missing: Vec<_> = schemas().into_iter().filter(|f| !named(f)).map(|f| f.path).collect();
    nothing("protocol-spec/README.md does not name a schema", &missing);
}

fn schemas() -> Vec<File> {
    files().into_iter().filter(|f| f.path.starts_with("protocol-spec/schemas/")).collect()
}
