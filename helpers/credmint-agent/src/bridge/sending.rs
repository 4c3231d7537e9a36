//! A request's body on its way out: held back until the upstream wants it, if the client asked first, and watched while it moves.
//! A body comes in, the same goes out; how long it has not moved, and whose turn it is, can be told from outside.
//! Changes no byte, and keeps none. `protocol-spec/bridge-protocol.md` §4; RFC 9110 §10.1.1.

use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode, header};
use hyper::body::{Body, Frame, SizeHint};
use hyper::ext::on_informational;
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

/// Why no answer began in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Late {
    /// The upstream let us wait.
    Upstream,
    /// The client let the upstream wait for the rest of its request.
    Client,
}

/// A body that is sent.
pub(super) struct Sending<B> {
    body: B,
    /// Ends when the body may begin.
    held: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    moves: Moves,
}

/// Tells how a body moves.
#[derive(Clone)]
pub(super) struct Moves(Arc<Mutex<State>>);

struct State {
    last: Instant,
    waits_for_client: bool,
}

/// Prepares a request. With `Expect: 100-continue`, reading its body is what makes us say 100 to the client: that waits until the
/// upstream says it, or for a second, because not every server does.
pub(super) fn send<B>(mut request: Request<B>) -> (Request<Sending<B>>, Moves) {
    let held = expects(request.headers()).then(|| held(&mut request));
    let moves = Moves(Arc::new(Mutex::new(State { last: Instant::now(), waits_for_client: false })));
    let watch = moves.clone();
    (request.map(|body| Sending { body, held, moves }), watch)
}

fn expects(headers: &HeaderMap) -> bool {
    headers.get(header::EXPECT).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

fn held<B>(request: &mut Request<B>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    let (said, mut hears) = watch::channel(false);
    on_informational(request, move |answer| {
        if answer.status() == StatusCode::CONTINUE {
            said.send_replace(true);
        }
    });
    Box::pin(async move {
        let heard = async {
            if hears.wait_for(|said| *said).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        drop(timeout(LONGEST_HELD, heard).await);
    })
}

impl Moves {
    /// Waits for an answer as long as the body moves: no longer than `patience` without any of it.
    pub(super) async fn wait<T>(&self, patience: Duration, answer: impl Future<Output = T>) -> Result<T, Late> {
        let mut answer = pin!(answer);
        loop {
            let deadline = self.state().last + patience;
            if let Ok(answered) = timeout_at(deadline, answer.as_mut()).await {
                return Ok(answered);
            }
            let state = self.state();
            if state.last + patience <= Instant::now() {
                return Err(if state.waits_for_client { Late::Client } else { Late::Upstream });
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Sending<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        if let Some(held) = &mut self.held {
            ready!(held.as_mut().poll(cx));
            self.held = None;
        }
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        let mut state = self.moves.state();
        state.waits_for_client = polled.is_pending();
        if polled.is_ready() {
            state.last = Instant::now();
        }
        drop(state);
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

const LONGEST_HELD: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::{BodyExt, Full};
    use std::convert::Infallible;
    use tokio::time::{Sleep, sleep};

    #[tokio::test(start_paused = true)]
    async fn who_asks_first_is_held_for_a_second_and_nobody_else() {
        for (field, seconds) in [(Some("100-Continue"), 1), (Some("something"), 0), (None, 0)] {
            let mut request = Request::new(Full::new(Bytes::from_static(b"body")));
            if let Some(value) = field {
                request.headers_mut().insert(header::EXPECT, value.parse().expect("a value"));
            }
            let (request, _) = send(request);
            let start = Instant::now();
            assert_eq!(request.into_body().collect().await.expect("a body").to_bytes(), "body");
            assert_eq!(start.elapsed().as_secs(), seconds, "{field:?}");
        }
    }

    /// Gives a byte after each pause.
    struct Slow(Vec<u64>, Option<Pin<Box<Sleep>>>);

    impl Body for Slow {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            let Some(pause) = self.0.first().copied() else { return Poll::Ready(None) };
            let sleep = self.1.get_or_insert_with(|| Box::pin(sleep(Duration::from_secs(pause))));
            ready!(sleep.as_mut().poll(cx));
            self.1 = None;
            self.0.remove(0);
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"x")))))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_upload_is_none_that_stops() {
        let patience = Duration::from_secs(60);
        let outcome = async |pauses: &[u64], then: u64| {
            let (request, moves) = send(Request::new(Slow(pauses.to_vec(), None)));
            let answer = async {
                let sent = request.into_body().collect().await;
                sleep(Duration::from_secs(then)).await;
                sent.is_ok()
            };
            moves.wait(patience, answer).await
        };
        assert_eq!(outcome(&[50, 50, 50], 50).await, Ok(true), "200 seconds, but never 60 without a byte");
        assert_eq!(outcome(&[50, 70], 0).await, Err(Late::Client));
        assert_eq!(outcome(&[50], 70).await, Err(Late::Upstream));
    }
}
