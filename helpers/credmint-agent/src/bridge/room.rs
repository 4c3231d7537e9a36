//! Room for the documents that have to be there as a whole: one count of bytes for the whole agent.
//! A body comes in, its bytes go out, with their share of the room, which is free again when they are sent or dropped.
//! Waits for room no longer than the client waits, and takes it before the first byte: nobody holds a part and waits for the rest.

use std::fmt::Display;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use credmint_vocabulary::{Failure, FailureKind};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout_at;

use super::reply::{Body, BodyError};

/// What all documents of the agent share.
pub(crate) struct Room(Arc<Semaphore>);

impl Default for Room {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MOST_BYTES / UNIT)))
    }
}

/// A document, and the room that it takes.
pub(super) struct Document {
    /// What it says.
    pub(super) bytes: Bytes,
    share: OwnedSemaphorePermit,
}

impl Room {
    /// Reads a whole answer, up to a limit, as soon as there is room for it.
    pub(super) async fn collect<B>(&self, body: B, hostname: &impl Display, until: Instant) -> Result<Document, Failure>
    where
        B: hyper::body::Body,
        B::Error: Into<BodyError>,
    {
        // Of one that does not say its length it may be anything.
        let length = usize::try_from(body.size_hint().upper().unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
        let wanted = Arc::clone(&self.0).acquire_many_owned(units(length.min(MOST_OF_ONE)));
        let Ok(Ok(mut share)) = timeout_at(until.into(), wanted).await else { return Err(crowded(hostname)) };
        let collected = Limited::new(body, MOST_OF_ONE).collect().await;
        let bytes = collected.map(http_body_util::Collected::to_bytes).map_err(|_| broken(hostname))?;
        let spare = share.num_permits().saturating_sub(units(bytes.len()) as usize);
        drop(share.split(spare));
        Ok(Document { bytes, share })
    }
}

impl Document {
    /// Makes a body of it, or of what was made of it, which takes its room.
    pub(super) fn body(self, made: Option<Vec<u8>>) -> Body {
        let bytes = made.map_or(self.bytes, Bytes::from);
        Held { body: Full::new(bytes), _share: self.share }.boxed_unsync()
    }
}

/// A body that is there as a whole, and keeps its room until it is sent.
struct Held {
    body: Full<Bytes>,
    _share: OwnedSemaphorePermit,
}

impl hyper::body::Body for Held {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        Pin::new(&mut self.body).poll_frame(cx).map_err(|never| match never {})
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn units(length: usize) -> u32 {
    u32::try_from(length.div_ceil(UNIT)).unwrap_or(u32::MAX)
}

fn crowded(hostname: &impl Display) -> Failure {
    let what = format!("too many large answers are under way at once, and there is no room for that of {hostname}");
    Failure::new(FailureKind::Unreachable, what).hint("run the command again").busy()
}

fn broken(hostname: &impl Display) -> Failure {
    let what = format!("{hostname} broke off its answer, or it is larger than 8 MiB");
    Failure::new(FailureKind::Unreachable, what).hint("run the command again")
}

/// A document has half a MiB as a rule; what a client may make the agent hold must not be what the machine has.
const MOST_BYTES: usize = 64 * 1024 * 1024;
const MOST_OF_ONE: usize = 8 * 1024 * 1024;
/// What is counted.
const UNIT: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const HOST: &str = "registry.corp.example";

    /// A body that does not say its length: a piece, and then nothing more, or its end.
    struct Chunked(Option<&'static [u8]>, bool);

    impl hyper::body::Body for Chunked {
        type Data = Bytes;
        type Error = BodyError;

        fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
            match self.0.take() {
                Some(piece) => Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(piece))))),
                None if self.1 => Poll::Ready(None),
                None => Poll::Pending,
            }
        }
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(9)
    }

    fn free(room: &Room) -> usize {
        room.0.available_permits() * UNIT
    }

    #[tokio::test(start_paused = true)]
    async fn all_documents_together_have_a_bound_and_who_comes_too_late_is_told_so() {
        let room = Room::default();
        let whole = Bytes::from(vec![b' '; MOST_OF_ONE]);
        let mut held = Vec::new();
        for _ in 0..MOST_BYTES / MOST_OF_ONE {
            held.push(room.collect(Full::new(whole.clone()), &HOST, soon()).await.expect("room").body(None));
        }
        assert_eq!(free(&room), 0);
        let small = || Full::new(Bytes::from_static(b"{}"));
        let refused = room.collect(small(), &HOST, soon()).await.err().expect("no room");
        assert!(refused.busy && refused.what.contains(HOST), "{refused}");
        // One is sent, or its client goes away: the next has its turn, and one that fits beside it.
        held.pop();
        let document = room.collect(small(), &HOST, soon()).await.expect("room");
        assert_eq!((&document.bytes[..], free(&room)), (&b"{}"[..], MOST_OF_ONE - UNIT));
        drop((document, held));
        assert_eq!(free(&room), MOST_BYTES);
    }

    #[tokio::test(start_paused = true)]
    async fn what_does_not_say_its_length_may_have_the_most_and_gives_back_what_it_does_not_need() {
        let room = Room::default();
        let document = room.collect(Chunked(Some(b"{}"), true), &HOST, soon()).await.expect("room");
        assert_eq!(free(&room), MOST_BYTES - UNIT);
        drop(document.body(Some(b"{\"a\":1}".to_vec())));
        let stalled = || room.collect(Chunked(Some(b"{"), false), &HOST, soon());
        let mut stalled = (0..9).map(|_| Box::pin(stalled())).collect::<Vec<_>>();
        for one in &mut stalled {
            assert!(futures_now(one.as_mut()).is_none());
        }
        assert_eq!(free(&room), 0);
        let last = stalled.pop().expect("the ninth");
        assert!(last.await.err().expect("no room").busy);
        // Whoever is given up gives all of it back.
        drop(stalled);
        assert_eq!(free(&room), MOST_BYTES);
        let long = Full::new(Bytes::from(vec![b' '; MOST_OF_ONE + 1]));
        assert!(room.collect(long, &HOST, soon()).await.is_err_and(|failure| !failure.busy));
        assert_eq!(free(&room), MOST_BYTES);
    }

    /// Looks once whether it is there.
    fn futures_now<F: Future>(future: Pin<&mut F>) -> Option<F::Output> {
        match future.poll(&mut Context::from_waker(std::task::Waker::noop())) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }
}
