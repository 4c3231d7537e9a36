//! What the bridge changes in an answer of HCP Terraform, Terraform Enterprise and their like: the addresses of logs, uploads and states.
//! A JSON:API document comes in (`data` and `included`, one resource or many), the same with other addresses goes out.
//! Changes six attributes by their names and nothing else; every other value stays as it was written.

use credmint_vocabulary::Failure;
use serde_json::value::{RawValue, to_raw_value};

use super::capability::Use;
use super::rewrite::Object;

/// Begins the media type of such a document.
pub(super) const MEDIA_TYPE: &str = "application/vnd.api+json";

/// Gives the address that takes the place of one, or none if it stays.
pub(super) type Replace<'a> = dyn Fn(&str, Use) -> Result<Option<String>, Failure> + 'a;

/// Replaces addresses in a document; `None` when nothing changes, or it is no such document.
pub(super) fn document(json: &[u8], replace: &Replace<'_>) -> Result<Option<Vec<u8>>, Failure> {
    let Ok(mut document) = serde_json::from_slice::<Object>(json) else { return Ok(None) };
    let mut changed = false;
    for (key, value) in &mut document.0 {
        if matches!(key.as_str(), "data" | "included")
            && let Some(new) = resources(value, replace)?
        {
            (*value, changed) = (new, true);
        }
    }
    Ok(if changed { serde_json::to_vec(&document).ok() } else { None })
}

/// Changes one resource, or each of a list. A list of lists is none of JSON:API's, and however deep it is nobody goes down there.
fn resources(value: &RawValue, replace: &Replace<'_>) -> Result<Option<Box<RawValue>>, Failure> {
    let Ok(mut list) = serde_json::from_str::<Vec<Box<RawValue>>>(value.get()) else { return resource(value, replace) };
    let mut changed = false;
    for one in &mut list {
        if let Some(new) = resource(one, replace)? {
            (*one, changed) = (new, true);
        }
    }
    Ok(if changed { to_raw_value(&list).ok() } else { None })
}

fn resource(value: &RawValue, replace: &Replace<'_>) -> Result<Option<Box<RawValue>>, Failure> {
    within(value, &|key, value| if key == "attributes" { attributes(value, replace) } else { Ok(None) })
}

fn attributes(value: &RawValue, replace: &Replace<'_>) -> Result<Option<Box<RawValue>>, Failure> {
    within(value, &|key, value| {
        let Some((_, purpose)) = ADDRESSES.iter().find(|(name, _)| *name == key) else { return Ok(None) };
        let Ok(address) = serde_json::from_str::<String>(value.get()) else { return Ok(None) };
        Ok(replace(&address, *purpose)?.and_then(|new| to_raw_value(&new).ok()))
    })
}

type Change<'a> = dyn Fn(&str, &RawValue) -> Result<Option<Box<RawValue>>, Failure> + 'a;

/// Changes the values of an object.
fn within(value: &RawValue, change: &Change<'_>) -> Result<Option<Box<RawValue>>, Failure> {
    let Ok(mut object) = serde_json::from_str::<Object>(value.get()) else { return Ok(None) };
    let mut changed = false;
    for (key, value) in &mut object.0 {
        if let Some(new) = change(key, value)? {
            (*value, changed) = (new, true);
        }
    }
    Ok(if changed { to_raw_value(&object).ok() } else { None })
}

/// What the client asks for without looking whose address it is, and partly without its token.
const ADDRESSES: [(&str, Use); 6] = [
    ("log-read-url", Use::Log),
    ("upload-url", Use::Upload),
    ("hosted-state-upload-url", Use::Upload),
    ("hosted-json-state-upload-url", Use::Upload),
    ("hosted-state-download-url", Use::State),
    ("hosted-json-state-download-url", Use::State),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(json: &str) -> Option<String> {
        let replace = |address: &str, purpose| {
            Ok(address.strip_prefix("https://here/").map(|rest| format!("{purpose:?} {rest}")))
        };
        document(json.as_bytes(), &replace).expect("no failure").map(|bytes| String::from_utf8(bytes).expect("UTF-8"))
    }

    #[test]
    fn the_six_addresses_are_changed_in_one_resource_in_many_and_in_what_is_included() {
        assert_eq!(
            changed(
                r#"{"data":{"id":"p","n":1.50,"attributes":{"log-read-url":"https://here/l","status":"a\u0062"}},"meta":{"upload-url":"https://here/x"}}"#
            )
            .as_deref(),
            Some(
                r#"{"data":{"id":"p","n":1.50,"attributes":{"log-read-url":"Log l","status":"a\u0062"}},"meta":{"upload-url":"https://here/x"}}"#
            )
        );
        assert_eq!(
            changed(
                r#"{"data":[{"attributes":{"upload-url":"https://here/u"}},7,{}],"included":[{"attributes":{"hosted-state-download-url":"https://here/d"}}]}"#
            )
            .as_deref(),
            Some(
                r#"{"data":[{"attributes":{"upload-url":"Upload u"}},7,{}],"included":[{"attributes":{"hosted-state-download-url":"State d"}}]}"#
            )
        );
    }

    #[test]
    fn what_is_no_such_document_or_has_nothing_of_ours_stays_as_it_is() {
        for json in [
            r#"{"data":{"attributes":{"log-read-url":"https://there/l","avatar-url":"https://here/a","upload-url":null}}}"#,
            "[]",
            "",
            "not JSON",
            r#"{"data":null,"errors":[]}"#,
            "\u{1f}\u{8b}\u{8}",
        ] {
            assert_eq!(changed(json), None, "{json}");
        }
    }

    #[test]
    fn lists_within_lists_cost_nothing_however_deep_a_server_nests_them() {
        // At 8 MiB, a level of the stack and a copy of the rest for each bracket would end the agent.
        for deep in [1, 4 * 1024 * 1024] {
            let (open, close) = ("[".repeat(deep), "]".repeat(deep));
            let inside = r#"{"attributes":{"upload-url":"https://here/u"}}"#;
            assert_eq!(changed(&format!(r#"{{"data":[{open}{inside}{close}]}}"#)), None, "{deep}");
        }
    }
}
