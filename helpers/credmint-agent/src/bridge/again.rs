//! A second try for what may be asked twice: a connection that broke before an answer began, a server that is just coming back.
//! A request and the client's patience come in, the answer that is passed on goes out.
//! Never has two tries under way at once, never repeats what has a body, and waits no longer than the client does. RFC 9110 §9.2.2.

use std::time::{Duration, Instant};

use bytes::Bytes;
use credmint_https::{HttpsError, Upstream};
use credmint_local_machine::clock;
use credmint_vocabulary::Timestamp;
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::Empty;
use hyper::body::{Body, Incoming};
use tokio::time::{sleep, timeout_at};

use super::sending::{self, Late};
use crate::get::jitter;

type Outcome = Result<Response<Incoming>, HttpsError>;

/// Sends a request until there is an answer to pass on; one with a body is waited for as long as that moves. Each
/// further try is told.
pub(super) async fn answer(
    upstream: &Upstream,
    request: Request<Incoming>,
    start: Instant,
    patience: Duration,
    told: impl Fn(),
) -> Result<Outcome, Late> {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    if !is_read || !request.body().is_end_stream() {
        let (request, moves) = sending::send(request);
        return moves.wait(patience, upstream.request(request)).await;
    }
    let answered = read(upstream, &request.into_parts().0, start + patience, told).await;
    answered.ok_or(Late::Upstream)
}

/// The same for a request that has no body.
pub(super) async fn read(upstream: &Upstream, parts: &Parts, deadline: Instant, told: impl Fn()) -> Option<Outcome> {
    let mut tries = Tries { since: Instant::now(), deadline, so_far: 0, broke: false };
    loop {
        let request = Request::from_parts(parts.clone(), Empty::<Bytes>::new());
        let outcome = timeout_at(deadline.into(), upstream.request(request)).await.ok()?;
        let Some(wait) = tries.wait(cause(&outcome, clock::now()), Instant::now(), jitter()) else {
            return Some(outcome);
        };
        // What came of this try is over before the next begins.
        drop(outcome);
        sleep(wait).await;
        told();
    }
}

/// Why another try may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// The connection broke before a byte of the answer.
    Broken,
    /// The server cannot be reached, or says that it is not ready; and for how long, if it says that.
    NotReady(Option<Duration>),
}

fn cause(outcome: &Outcome, now: Timestamp) -> Option<Cause> {
    match outcome {
        Err(HttpsError::Stream { .. }) => Some(Cause::Broken),
        Err(HttpsError::Connect { .. }) => Some(Cause::NotReady(None)),
        Ok(answer) if NOT_READY.contains(&answer.status()) => {
            Some(Cause::NotReady(wanted_pause(answer.headers(), now)))
        }
        _ => None,
    }
}

/// Reads `Retry-After`; a date is one of the server's clock, so it is counted from its `Date`, or else from `now`.
fn wanted_pause(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    credmint_https::retry_after(headers, credmint_https::date(headers).unwrap_or(now))
}

/// Counts tries, and the time that is left for more.
struct Tries {
    since: Instant,
    deadline: Instant,
    so_far: u32,
    broke: bool,
}

impl Tries {
    /// Gives the pause before another try; `None` when there is to be none. `jitter` is between 0 and 1.
    fn wait(&mut self, cause: Option<Cause>, now: Instant, jitter: f64) -> Option<Duration> {
        let pause = FIRST_PAUSE.saturating_mul(1 << self.so_far.min(4)).mul_f64(0.5 + jitter / 2.0);
        self.so_far += 1;
        let (pause, last) = match cause? {
            Cause::Broken if std::mem::replace(&mut self.broke, true) => return None,
            Cause::Broken | Cause::NotReady(None) => (pause, self.since + LONGEST_WITHOUT_A_WORD),
            Cause::NotReady(Some(asked)) => (pause.max(asked), self.deadline),
        };
        let begins = now.checked_add(pause)?;
        (begins <= last && begins + TIME_TO_ANSWER <= self.deadline).then_some(pause)
    }
}

const NOT_READY: [StatusCode; 3] =
    [StatusCode::BAD_GATEWAY, StatusCode::SERVICE_UNAVAILABLE, StatusCode::GATEWAY_TIMEOUT];
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// How long a server is waited for that does not say when it is back: nobody should look at nothing for long.
const LONGEST_WITHOUT_A_WORD: Duration = Duration::from_secs(3);
/// What is left of the client's patience for the last try.
const TIME_TO_ANSWER: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn tries() -> Tries {
        let since = Instant::now();
        Tries { since, deadline: since + Duration::from_secs(9), so_far: 0, broke: false }
    }

    #[test]
    fn pauses_double_and_end_after_three_seconds() {
        let mut tries = tries();
        let (mut now, mut pauses) = (tries.since, Vec::new());
        while let Some(pause) = tries.wait(Some(Cause::NotReady(None)), now, 1.0) {
            now += pause;
            pauses.push(pause.as_millis());
        }
        assert_eq!(pauses, [100, 200, 400, 800]);
        assert_eq!(self::tries().wait(Some(Cause::NotReady(None)), Instant::now(), 0.0), Some(FIRST_PAUSE / 2));
    }

    #[test]
    fn a_connection_that_broke_is_tried_once_more_and_other_failures_never() {
        let mut tries = tries();
        let now = tries.since;
        assert!(tries.wait(Some(Cause::Broken), now, 0.5).is_some());
        assert_eq!(tries.wait(Some(Cause::Broken), now, 0.5), None);
        assert_eq!(self::tries().wait(None, now, 0.5), None);
    }

    #[test]
    fn what_the_server_asks_for_counts_as_long_as_the_client_waits() {
        let after = |seconds| Some(Cause::NotReady(Some(Duration::from_secs(seconds))));
        let wait = |seconds| {
            let mut tries = tries();
            let now = tries.since;
            tries.wait(after(seconds), now, 0.0)
        };
        assert_eq!((wait(7), wait(9), wait(u64::MAX)), (Some(Duration::from_secs(7)), None, None));
        assert_eq!(wait(0), Some(FIRST_PAUSE / 2), "at once is not at once");
    }

    #[test]
    fn a_date_counts_from_the_servers_own_clock_if_it_says_what_that_is() {
        let pause = |fields: &[(&'static str, &'static str)], now| {
            let mut headers = HeaderMap::new();
            for (name, value) in fields {
                headers.insert(*name, HeaderValue::from_static(value));
            }
            wanted_pause(&headers, Timestamp::from_unix(now))
        };
        let (at, five_before) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:32 GMT");
        assert_eq!(pause(&[("retry-after", at)], 784_111_774), Some(Duration::from_secs(3)));
        assert_eq!(pause(&[("retry-after", at)], 784_111_999), Some(Duration::ZERO), "it is over");
        assert_eq!(pause(&[("retry-after", at), ("date", five_before)], 0), Some(Duration::from_secs(5)));
        assert_eq!(pause(&[("retry-after", "soon")], 0), None);
    }
}
