//! Holds messages and frames against the vectors of `protocol-spec/vectors/agent-protocol/`; the body is a frame.
//!
//! Keys: `expect` is the layer that accepts or refuses; `rule` and `comment` are for people.
//! - `request`, `supply`, `confirmed`, `reply`: a message; written again it is the same frame, or the one whose object `becomes` is.
//! - `unknown request`, `unknown confirmed`, `unknown reply`: a message of a later version, received calmly.
//! - `too long`: refused by its length alone; `cut off`: the stream ended early.
//! - `malformed request`, `malformed supply`, `malformed confirmed`, `malformed reply`: no such message; `why` is the error's sentence.

#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use credmint_agent_protocol::{Ask, Confirmed, Frame, FrameError, Reply, Request, Supply, decode, decode_length};
use credmint_protocol_spec::{Vector, vectors};
use serde::Serialize;
use serde::de::DeserializeOwned;

const KEYS: [&str; 5] = ["expect", "rule", "comment", "becomes", "why"];

#[test]
fn code_and_vectors_agree() {
    for vector in vectors("agent-protocol").expect("the folder is there") {
        assert_eq!(vector.unknown_key(&KEYS), None, "{}", vector.name);
        let name = &vector.name;
        let Some((head, json)) = vector.body.split_at_checked(4) else { panic!("{name} has no length") };
        let length = match decode_length(head.try_into().expect("four bytes")) {
            Ok(length) => length,
            Err(error) => {
                refused(&vector, "too long", &error);
                continue;
            }
        };
        match vector.header("expect").unwrap_or_default() {
            "cut off" => assert!(json.len() < length, "{name} is whole"),
            "request" | "malformed request" => round_trip::<Request>(&vector, "request", json),
            "supply" | "malformed supply" => round_trip::<Supply>(&vector, "supply", json),
            "confirmed" | "malformed confirmed" => round_trip::<Confirmed>(&vector, "confirmed", json),
            "reply" | "malformed reply" => round_trip::<Reply>(&vector, "reply", json),
            "unknown request" => {
                let request: Request = decode(json).expect(name);
                assert!(matches!(request.ask, Ask::Unknown), "{name}");
            }
            "unknown confirmed" => assert!(matches!(decode(json), Ok(Confirmed::Unknown)), "{name}"),
            "unknown reply" => assert!(matches!(decode(json), Ok(Reply::Unknown)), "{name}"),
            other => panic!("{name}: no layer `{other}`"),
        }
    }
}

fn round_trip<M: Serialize + DeserializeOwned>(vector: &Vector, layer: &str, json: &[u8]) {
    let name = &vector.name;
    match decode::<M>(json) {
        Ok(message) => {
            assert_eq!(vector.header("expect"), Some(layer), "{name}");
            let frame = Frame::encode(&message).expect(name);
            let (_, written) = frame.bytes().split_at(4);
            let expected = vector.header("becomes").map_or(json, str::as_bytes);
            assert_eq!(String::from_utf8_lossy(written), String::from_utf8_lossy(expected), "{name}");
        }
        Err(error) => refused(vector, &format!("malformed {layer}"), &error),
    }
}

fn refused(vector: &Vector, layer: &str, error: &FrameError) {
    assert_eq!(vector.header("expect"), Some(layer), "{}: {error}", vector.name);
    assert_eq!(vector.header("why"), Some(error.to_string().as_str()), "{}", vector.name);
}
