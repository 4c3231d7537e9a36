//! The upstream's answer on its way in: what its head may be, and how long its body may say nothing.
//! A response comes in; its body goes out as it arrives, or a failure that says how it is no answer.
//! Changes no byte of a body. `protocol-spec/bridge-protocol.md` §4; RFC 9112 §6.3 and §8.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use credmint_local_machine::{clock, last_failure};
use credmint_vocabulary::{Failure, FailureKind, Hostname};
use http::response::Parts;
use http::{Response, header};
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

use super::reply::BodyError;

/// Passes a body on. One that breaks off, or says nothing for a minute, ends in an error, which ends the client's connection; a
/// person finds the reason in the status.
pub(super) struct Arriving<B> {
    body: B,
    host: Hostname,
    quiet: Pin<Box<Sleep>>,
    is_quiet: bool,
    /// Bytes that came without a pause.
    in_a_row: usize,
}

/// Takes an answer, if it is one.
pub(super) fn accept<B>(response: Response<B>, host: &Hostname) -> Result<(Parts, Arriving<B>), Failure> {
    let (mut parts, body) = response.into_parts();
    if parts.status.is_informational() {
        return Err(broken(host, &format!("answers {}, which nobody asked for", parts.status.as_u16())));
    }
    let length: usize = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if length > LONGEST_HEAD {
        return Err(broken(host, "answers with header fields of more than 64 KiB"));
    }
    // Where both are there, this one counts, and the length is wrong.
    if parts.headers.contains_key(header::TRANSFER_ENCODING) {
        parts.headers.remove(header::CONTENT_LENGTH);
    }
    Ok((
        parts,
        Arriving { body, host: host.clone(), quiet: Box::pin(sleep(LONGEST_QUIET)), is_quiet: false, in_a_row: 0 },
    ))
}

fn broken(host: &Hostname, how: &str) -> Failure {
    Failure::new(FailureKind::Unreachable, format!("{host} {how}")).hint("run the command again")
}

fn stopped() -> String {
    format!("sent nothing for {} s in the middle of an answer", LONGEST_QUIET.as_secs())
}

impl<B> Arriving<B> {
    /// Nothing came; tells when that was for too long.
    fn wait(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.is_quiet {
            self.is_quiet = true;
            self.quiet.as_mut().reset(Instant::now() + LONGEST_QUIET);
        }
        self.quiet.as_mut().poll(cx)
    }

    /// Puts the reason where a person sees it: the answer has begun, and has no place for it any more.
    fn ended(&self, how: &str) -> BodyError {
        let failure = broken(&self.host, how);
        last_failure::record("credmint-bridge", Some(self.host.as_str()), &failure, clock::now());
        failure.what.into()
    }
}

impl<B: Body<Data = Bytes, Error = hyper::Error> + Unpin> Body for Arriving<B> {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        // One fast download would hold the only thread, and connections that are just made would be given up.
        if self.in_a_row >= AT_ONCE {
            self.in_a_row = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if polled.is_pending() {
            self.in_a_row = 0;
        }
        match polled {
            Poll::Pending => self.wait(cx).map(|()| Some(Err(self.ended(&stopped())))),
            Poll::Ready(Some(Err(_))) => Poll::Ready(Some(Err(self.ended("broke off in the middle of an answer")))),
            Poll::Ready(Some(Ok(frame))) => {
                self.is_quiet = false;
                self.in_a_row += frame.data_ref().map_or(0, Bytes::len);
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(None) => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// As much as a client may send.
const LONGEST_HEAD: usize = 64 * 1024;
/// How much of a body is passed on before others have their turn.
const AT_ONCE: usize = 128 * 1024;
const LONGEST_QUIET: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderMap, HeaderName};
    use std::future::poll_fn;

    fn taken(status: u16, fields: &[(HeaderName, &str)]) -> Result<HeaderMap, String> {
        let mut response = Response::new(());
        *response.status_mut() = status.try_into().expect("a status");
        for (name, value) in fields {
            response.headers_mut().append(name, value.parse().expect("a value"));
        }
        let host = Hostname::from_comparison_form("registry.corp.example").expect("valid");
        accept(response, &host).map(|(parts, _)| parts.headers).map_err(|failure| failure.what)
    }

    #[tokio::test]
    async fn what_is_no_answer_is_a_failure() {
        assert!(taken(101, &[]).is_err_and(|what| what.contains("answers 101")));
        let long = "x".repeat(1000);
        let fields = |count| vec![(header::WARNING, long.as_str()); count];
        assert!(taken(200, &fields(64)).is_ok_and(|headers| headers.len() == 64));
        assert!(taken(200, &fields(65)).is_err_and(|what| what.contains("64 KiB")));
        let both = [(header::CONTENT_LENGTH, "3"), (header::TRANSFER_ENCODING, "chunked")];
        assert!(taken(200, &both).is_ok_and(|headers| !headers.contains_key(header::CONTENT_LENGTH)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_minute_without_a_byte_is_the_end_and_every_byte_begins_another() {
        let host = Hostname::from_comparison_form("registry.corp.example").expect("valid");
        let (_, mut arriving) = accept(Response::new(()), &host).expect("an answer");
        let start = Instant::now();
        // Taking it took long, because the client is slow: that does not count.
        tokio::time::advance(LONGEST_QUIET * 2).await;
        poll_fn(|cx| arriving.wait(cx)).await;
        assert_eq!(start.elapsed().as_secs(), 180);
        arriving.is_quiet = false;
        poll_fn(|cx| arriving.wait(cx)).await;
        assert_eq!(start.elapsed().as_secs(), 240);
    }

    /// A body that is always there.
    struct Endless;

    impl Body for Endless {
        type Data = Bytes;
        type Error = hyper::Error;

        fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[7; 32 * 1024])))))
        }
    }

    #[tokio::test]
    async fn a_body_that_is_always_there_lets_others_have_their_turn() {
        let host = Hostname::from_comparison_form("registry.corp.example").expect("valid");
        let (_, mut arriving) = accept(Response::new(Endless), &host).expect("an answer");
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let mut in_a_row = || {
            let ready = std::iter::from_fn(|| Some(Pin::new(&mut arriving).poll_frame(&mut cx).is_ready()));
            ready.take(100).take_while(|is_ready| *is_ready).count()
        };
        assert_eq!((in_a_row(), in_a_row()), (4, 4));
    }
}
