//! A request that somebody has the right to, from its beginning to its end, however it ends.
//! Who asks for what comes in, then the answer on its way; at the end it is counted, and there is a line for the audit.
//! Changes nothing of what passes. `protocol-spec/bridge-protocol.md`, Audit.

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use credmint_settings::Audit as Place;
use http::{Method, Request, Response};
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};

use super::audit::{Audit, Line, Outcome};
use super::reply::{Body, BodyError};
use super::run::Way;
use super::target::{Asker, has_segment};
use super::visit::Visit;
use crate::agent::Agent;
use crate::metrics::Counts;
use crate::recipe::{EntryKey, Recipe};

/// A request whose answer has not begun. Dropped without one, it has ended all the same.
pub(super) struct Watched {
    agent: Rc<Agent>,
    key: EntryKey,
    seen: Option<Seen>,
}

impl Watched {
    /// Begins to watch.
    pub(super) fn begin(agent: &Rc<Agent>, way: &Way, visit: &Visit, method: &Method) -> Self {
        Self::of(agent, way, &visit.recipe, (method, visit.shown.clone()), service(visit))
    }

    /// Begins to watch a request for the credential of a provider.
    pub(super) fn endpoint<B>(agent: &Rc<Agent>, way: &Way, recipe: &Recipe, request: &Request<B>) -> Self {
        let asked = (request.method(), request.uri().path().to_owned());
        Self::of(agent, way, recipe, asked, "credentials")
    }

    fn of(
        agent: &Rc<Agent>,
        way: &Way,
        recipe: &Recipe,
        (method, path): (&Method, String),
        service: &'static str,
    ) -> Self {
        way.run.iter().for_each(|run| run.count());
        let line = Line { host: recipe.name.to_string(), identity: String::new(), method: method.to_string(), path };
        let audit = agent.bridge.as_ref().map(|bridge| bridge.audit.clone());
        let audit = audit.zip(recipe.settings.bridge.audit.clone());
        let counts = agent.metrics.counts.clone();
        let seen = Seen { audit, counts, service, line, start: Instant::now(), status: None, sent: 0 };
        Self { agent: Rc::clone(agent), key: recipe.key, seen: Some(seen) }
    }

    /// Goes on watching the answer, to its end.
    pub(super) fn answered(mut self, answer: Response<Body>) -> Response<Body> {
        let Some(mut seen) = self.take() else { return answer };
        seen.status = Some(answer.status().as_u16());
        answer.map(|body| Followed { body, seen }.boxed_unsync())
    }

    /// Takes what was seen; whose credential it was is known now.
    fn take(&mut self) -> Option<Seen> {
        let mut seen = self.seen.take()?;
        let entry = self.agent.entries.get(self.key);
        let named = entry.and_then(|entry| entry.identity.as_ref().map(|(name, _)| name.clone()));
        seen.line.identity = named.unwrap_or_default();
        Some(seen)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        drop(self.take());
    }
}

/// What was seen of a request; when it is dropped, the request has ended.
struct Seen {
    audit: Option<(Audit, Place)>,
    counts: Counts,
    service: &'static str,
    line: Line,
    start: Instant,
    status: Option<u16>,
    sent: u64,
}

impl Drop for Seen {
    fn drop(&mut self) {
        let outcome = Outcome { status: self.status, bytes: self.sent, took: self.start.elapsed() };
        let series = (self.line.host.as_str(), self.service);
        self.counts.request(series, outcome.status, outcome.took, outcome.bytes);
        if let Some((audit, place)) = &self.audit {
            audit.write(place, &self.line, &outcome);
        }
    }
}

/// Names what was asked, in one of few words.
fn service(visit: &Visit) -> &'static str {
    match visit.asker {
        Asker::Providers => "providers",
        Asker::Remote => "remote",
        Asker::Files => "files",
        Asker::Modules if has_segment(visit.url.path(), "modules") => "modules",
        Asker::Modules => "other",
    }
}

/// Counts the bytes of a body on its way.
struct Followed {
    body: Body,
    seen: Seen,
}

impl hyper::body::Body for Followed {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            let length = frame.data_ref().map_or(0, Bytes::len);
            self.seen.sent += u64::try_from(length).unwrap_or(0);
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
