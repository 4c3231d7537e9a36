//! The replies that a program of few words understands: it asks for a credential, hands one over, or lists providers.
//! JSON comes in, a reply goes out; every other kind is one that it does not know.
//! Is here for the size of the helpers: how to read a status or an explanation is a tenth of one that reads all.

use serde::Deserialize;

use crate::confirm::Confirm;
use crate::message::{Credential, FailureOnWire, Need, Reply};
use crate::status::{ProviderStatus, Status};

/// A reply to `get`, `store` or `forget`; of one to `status` the providers.
#[derive(Deserialize)]
#[serde(tag = "reply", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Brief {
    /// As [`Reply::Need`].
    Need(Need),
    /// As [`Reply::Credential`].
    Credential(Credential),
    /// As [`Reply::None`].
    None,
    /// As [`Reply::Failure`].
    Failure(FailureOnWire),
    /// As [`Reply::Done`].
    Done,
    /// As [`Reply::Waiting`].
    Waiting,
    /// As [`Reply::Confirm`].
    Confirm(Confirm),
    /// As [`Reply::Status`], of which nothing else is read.
    Status(Providers),
    /// Any other.
    #[serde(other)]
    Unknown,
}

/// The providers of a status.
#[derive(Deserialize)]
pub struct Providers {
    #[serde(default)]
    providers: Vec<ProviderStatus>,
}

impl From<Brief> for Reply {
    fn from(brief: Brief) -> Self {
        match brief {
            Brief::Need(need) => Self::Need(need),
            Brief::Credential(credential) => Self::Credential(credential),
            Brief::None => Self::None,
            Brief::Failure(failure) => Self::Failure(failure),
            Brief::Done => Self::Done,
            Brief::Waiting => Self::Waiting,
            Brief::Confirm(confirm) => Self::Confirm(confirm),
            Brief::Status(Providers { providers }) => Self::Status(Status { providers, ..Status::default() }),
            Brief::Unknown => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_knows_it_reads_as_the_whole_protocol_does() {
        for json in [
            r#"{"reply":"need","environment":["A"],"files":["/b"]}"#,
            r#"{"reply":"credential","token":"t","expires_at":"2026-12-01T00:00:00Z"}"#,
            r#"{"reply":"none"}"#,
            r#"{"reply":"failure","kind":"refused","what":"no","hint":"h"}"#,
            r#"{"reply":"done"}"#,
            r#"{"reply":"waiting"}"#,
            r#"{"reply":"dance"}"#,
        ] {
            let brief: Reply = serde_json::from_str::<Brief>(json).expect(json).into();
            let whole: Reply = serde_json::from_str(json).expect(json);
            let written = |reply: &Reply| serde_json::to_string(reply).expect("writes");
            assert_eq!(written(&brief), written(&whole), "{json}");
        }
        let other = serde_json::from_str::<Brief>(r#"{"reply":"explanation","pid":1}"#);
        assert!(matches!(other, Ok(Brief::Unknown)), "skipped, whatever is in it");
        let status = r#"{"reply":"status","pid":1,"entries":7,"providers":[{"name":"prod","hosts":["a.example"]}]}"#;
        match serde_json::from_str::<Brief>(status).map(Reply::from) {
            Ok(Reply::Status(status)) => assert_eq!(status.providers[0].hosts, ["a.example"]),
            _ => panic!("a status, of which the providers are read"),
        }
    }
}
