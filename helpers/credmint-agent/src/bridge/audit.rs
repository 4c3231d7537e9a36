//! The bridge's audit: one line a request, once its answer has ended.
//! Who asked for what and what came of it goes into the file of the settings; that it cannot be written is told in the status.
//! Never holds a token, a query, or the secret part of an address. `protocol-spec/bridge-protocol.md`, Audit.

use std::path::PathBuf;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use credmint_local_machine::{append_line, clock};
use credmint_vocabulary::printable;
use http::{Method, Response};
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};
use serde_json::json;

use super::reply::Body;
use crate::agent::Agent;
use crate::recipe::{EntryKey, Recipe};

/// Keeps what went wrong with writing, to be shown.
#[derive(Clone, Default)]
pub(super) struct Audit(Arc<Mutex<Option<Trouble>>>);

/// Lines that are lost.
struct Trouble {
    lost: u64,
    why: String,
}

/// What is known of a request before its answer ends.
pub(super) struct Line {
    file: PathBuf,
    host: String,
    key: EntryKey,
    /// Empty if the issuer asks for nobody, or nobody was chosen.
    identity: String,
    method: String,
    path: String,
    start: Instant,
}

impl Line {
    /// Begins the line of a request; `None` where the settings want none.
    pub(super) fn of(recipe: &Rc<Recipe>, method: &Method, path: &str) -> Option<Self> {
        let file = recipe.settings.bridge.audit.clone()?;
        let (host, method, path) = (recipe.hostname.to_string(), method.to_string(), path.to_owned());
        let (key, identity) = (recipe.key, String::new());
        Some(Self { file, host, key, identity, method, path, start: Instant::now() })
    }
}

/// Has the line written when the answer ends, however it ends.
pub(super) fn follow(agent: &Agent, answer: Response<Body>, line: Option<Line>) -> Response<Body> {
    let (Some(bridge), Some(mut line)) = (&agent.bridge, line) else { return answer };
    let identity = agent.entries.get(line.key).and_then(|entry| entry.identity.as_ref().map(|(name, _)| name.clone()));
    line.identity = identity.unwrap_or_default();
    let (audit, status) = (bridge.audit.clone(), answer.status().as_u16());
    answer.map(|body| Followed { body, audit, line, status, sent: 0 }.boxed_unsync())
}

impl Audit {
    /// Says in words that lines are lost, if so.
    pub(super) fn trouble(&self) -> Option<String> {
        let trouble = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.as_ref().map(|trouble| format!("{} lines lost: {}", trouble.lost, trouble.why))
    }

    fn write(&self, line: &Line, status: u16, sent: u64) {
        let took = u64::try_from(line.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        let text = json!({
            "time": clock::now().to_string(), "host": line.host, "identity": line.identity, "method": line.method,
            "path": printable(&line.path, 2048), "status": status, "bytes": sent, "ms": took,
        });
        if let Err(error) = append_line(&line.file, &text.to_string()) {
            let why = format!("{}: {error}", line.file.display());
            let mut trouble = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let lost = trouble.as_ref().map_or(0, |trouble| trouble.lost) + 1;
            *trouble = Some(Trouble { lost, why });
        }
    }
}

/// Counts the bytes of a body on its way.
struct Followed {
    body: Body,
    audit: Audit,
    line: Line,
    status: u16,
    sent: u64,
}

impl hyper::body::Body for Followed {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            let length = frame.data_ref().map_or(0, Bytes::len);
            self.sent += u64::try_from(length).unwrap_or(0);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        self.audit.write(&self.line, self.status, self.sent);
    }
}
