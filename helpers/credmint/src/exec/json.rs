//! A CLI configuration in JSON, as `terraform login` writes one, in HCL: two files can only be one if they are in one syntax.
//! JSON text comes in, HCL text with the same meaning goes out.
//! Touches nothing.

use serde_json::{Map, Value};

/// Writes it in HCL; `None` if it is no JSON object.
pub(crate) fn in_hcl(text: &str) -> Option<String> {
    let object: Map<String, Value> = serde_json::from_str(text).ok()?;
    Some(object.iter().map(|(key, value)| item(key, value)).collect())
}

fn item(key: &str, value: &Value) -> String {
    match (key, value) {
        (_, Value::Array(several)) if LABELLED.contains(&key) || key == INSTALLATION => {
            several.iter().map(|one| item(key, one)).collect()
        }
        (_, Value::Object(labels)) if LABELLED.contains(&key) => {
            labels.iter().map(|(label, body)| labelled(key, label, body)).collect()
        }
        (INSTALLATION, Value::Object(methods)) => {
            let methods: String = methods.iter().map(|(method, body)| blocks(method, body)).collect();
            format!("{key} {{\n{methods}}}\n")
        }
        _ => format!("{} = {}\n", name(key), expression(value)),
    }
}

fn labelled(key: &str, label: &str, body: &Value) -> String {
    let each = |body: &Value| format!("{key} {} {{\n{}}}\n", quoted(label), attributes(body));
    body.as_array().map_or_else(|| each(body), |several| several.iter().map(each).collect())
}

fn blocks(name: &str, body: &Value) -> String {
    let each = |body: &Value| format!("  {} {{\n{}  }}\n", self::name(name), attributes(body));
    body.as_array().map_or_else(|| each(body), |several| several.iter().map(each).collect())
}

fn attributes(body: &Value) -> String {
    let lines = body.as_object().into_iter().flatten();
    lines.map(|(key, value)| format!("    {} = {}\n", quoted(key), expression(value))).collect()
}

fn expression(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields: Vec<_> =
                fields.iter().map(|(key, value)| format!("{} = {}", quoted(key), expression(value))).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(expression).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

/// Writes a key, whatever is in it: what is no word must not end the item that it begins.
fn name(key: &str) -> String {
    let is_word = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphabetic() || c == '_');
    if is_word { key.to_owned() } else { quoted(key) }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

const LABELLED: [&str; 3] = ["credentials", "host", "credentials_helper"];
const INSTALLATION: &str = "provider_installation";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_becomes_hcl_with_the_same_meaning() {
        let text = r#"{"credentials":{"a.example":{"token":"x\"y"}},"disable_checkpoint":true,
            "host":[{"b.example":{"services":{"modules.v1":"https://x/"}}}],
            "provider_installation":{"filesystem_mirror":[{"path":"/a","include":["x/*/*"]},{"path":"/b"}],"direct":{}}}"#;
        let hcl = in_hcl(text).expect("an object");
        for part in [
            "credentials \"a.example\" {\n    \"token\" = \"x\\\"y\"\n}\n",
            "disable_checkpoint = true\n",
            "host \"b.example\" {\n    \"services\" = { \"modules.v1\" = \"https://x/\" }\n}\n",
            "  filesystem_mirror {\n    \"path\" = \"/b\"\n  }\n",
            "  direct {\n  }\n",
        ] {
            assert!(hcl.contains(part), "{part} is not in {hcl}");
        }
        let odd = in_hcl(r#"{"a = 1\nhost \"x\" {}\nb":true}"#).expect("an object");
        assert_eq!(odd, "\"a = 1\\nhost \\\"x\\\" {}\\nb\" = true\n");
        assert!(in_hcl("[]").is_none() && in_hcl("{").is_none());
    }
}
