//! The bridge's audit: one line a request, once its answer has ended.
//! Who asked for what and what came of it goes into the file or the log of the settings; that it cannot is told in the status.
//! Never waits, and never holds a token, a query, or the secret part of an address. `protocol-spec/bridge-protocol.md`, Audit.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use credmint_local_machine::{append_line, clock, syslog_line};
use credmint_settings::Audit as Place;
use credmint_vocabulary::{Timestamp, printable};
use serde_json::json;

/// Keeps what went wrong with writing, to be shown.
#[derive(Clone, Default)]
pub(super) struct Audit(Arc<Mutex<Option<Trouble>>>);

/// Lines that are lost.
struct Trouble {
    lost: u64,
    last: Timestamp,
    why: String,
}

/// Who asked for what.
pub(super) struct Line {
    /// The host of the route.
    pub(super) host: String,
    /// Empty if the issuer asks for nobody, or nobody was chosen.
    pub(super) identity: String,
    /// As it came.
    pub(super) method: String,
    /// What of the path may be shown.
    pub(super) path: String,
}

/// What came of it.
#[derive(Clone, Copy)]
pub(super) struct Outcome {
    /// `None` where the client went away before an answer began.
    pub(super) status: Option<u16>,
    /// Those of the body that went to the client.
    pub(super) bytes: u64,
    /// From the request's head to the answer's end.
    pub(super) took: Duration,
}

impl Audit {
    /// Says in words that lines are lost, if so.
    pub(super) fn trouble(&self) -> Option<String> {
        let trouble = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.as_ref().map(|own| format!("{} lines lost, the last at {}: {}", own.lost, own.last, own.why))
    }

    /// Counts the lines that are lost.
    pub(super) fn lost(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map_or(0, |trouble| trouble.lost)
    }

    /// Writes a line; one that cannot be written is counted.
    pub(super) fn write(&self, place: &Place, line: &Line, outcome: &Outcome) {
        let took = u64::try_from(outcome.took.as_millis()).unwrap_or(u64::MAX);
        let text = json!({
            "time": clock::now().to_string(), "host": line.host, "identity": line.identity, "method": line.method,
            "path": printable(&line.path, 2048), "status": outcome.status, "bytes": outcome.bytes, "ms": took,
        });
        if let Err(error) = written(place, &text.to_string()) {
            let why = format!("{}: {error}", name(place));
            let mut trouble = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let lost = trouble.as_ref().map_or(0, |trouble| trouble.lost) + 1;
            *trouble = Some(Trouble { lost, last: clock::now(), why });
        }
    }
}

fn written(place: &Place, line: &str) -> io::Result<()> {
    match place {
        Place::File(path) => append_line(path, line),
        Place::Syslog(socket) => syslog_line(socket.as_deref(), line),
    }
}

fn name(place: &Place) -> String {
    match place {
        Place::File(path) => path.display().to_string(),
        Place::Syslog(socket) => {
            socket.as_ref().map_or("syslog".into(), |path: &PathBuf| format!("syslog at {}", path.display()))
        }
    }
}
