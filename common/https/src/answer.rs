//! A whole answer: status, headers, and a body that is wiped.
//! What the server sent comes in, the few headers that we act on go out as values.
//! Touches nothing; the time is a parameter. RFC 9110 §6.6.1 (Date), §10.2.2 (Location), §10.2.3 (Retry-After).

use std::fmt;
use std::time::Duration;

use credmint_vocabulary::Timestamp;
use http::header::{DATE, HeaderName, LOCATION, RETRY_AFTER};
use http::{HeaderMap, StatusCode};
use url::Url;
use zeroize::Zeroizing;

/// Holds an answer, redirects included: none is ever followed.
pub struct Answer {
    /// Status code.
    pub status: StatusCode,
    /// Header fields.
    pub headers: HeaderMap,
    /// Body, at most 1 MiB.
    pub body: Zeroizing<Vec<u8>>,
}

impl Answer {
    /// Reads the server's clock.
    #[must_use]
    pub fn date(&self) -> Option<Timestamp> {
        date(&self.headers)
    }

    /// Reads how long the server wants to be left alone.
    #[must_use]
    pub fn retry_after(&self, now: Timestamp) -> Option<Duration> {
        retry_after(&self.headers, now)
    }

    /// Reads where a redirect leads, if it is said with its scheme and host.
    #[must_use]
    pub fn location(&self) -> Option<Url> {
        Url::parse(self.text(&LOCATION)?).ok()
    }

    fn text(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Answer({}, {} bytes)", self.status, self.body.len())
    }
}

/// Gives host and port of a URL, as people are told of a server; the port only where it is not the scheme's own.
#[must_use]
pub fn host_and_port(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    Some(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
}

const LONGEST_WAIT: Duration = Duration::from_secs(365 * 24 * 3600);

/// Reads a server's clock from the header fields of its answer (RFC 9110 §6.6.1).
#[must_use]
pub fn date(headers: &HeaderMap) -> Option<Timestamp> {
    parsed(headers.get(DATE)?.to_str().ok()?)
}

/// Reads how long the server wants to be left alone, given in seconds or as a date (RFC 9110 §10.2.3); never more than a year,
/// with which every clock can reckon.
#[must_use]
pub fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let seconds = text.parse().ok().map(Duration::from_secs);
    seconds.or_else(|| parsed(text).map(|at| at.remaining(now))).map(|wait| wait.min(LONGEST_WAIT))
}

fn parsed(text: &str) -> Option<Timestamp> {
    httpdate::parse_http_date(text).ok().map(Timestamp::from_system)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(name: HeaderName, value: &str) -> Answer {
        let headers = HeaderMap::from_iter([(name, value.parse().unwrap())]);
        Answer { status: StatusCode::OK, headers, body: Zeroizing::new(b"canary".to_vec()) }
    }

    #[test]
    fn retry_after_has_two_forms() {
        let now = Timestamp::from_unix(784_111_777);
        assert_eq!(answer(RETRY_AFTER, "120").retry_after(now), Some(Duration::from_secs(120)));
        let date = "Sun, 06 Nov 1994 08:50:37 GMT";
        assert_eq!(answer(RETRY_AFTER, date).retry_after(now), Some(Duration::from_secs(60)));
        assert_eq!(answer(RETRY_AFTER, "soon").retry_after(now), None);
        let forever = u64::MAX.to_string();
        assert_eq!(answer(RETRY_AFTER, &forever).retry_after(now), Some(LONGEST_WAIT));
    }

    #[test]
    fn date_is_the_servers_clock() {
        let read = answer(DATE, "Sun, 06 Nov 1994 08:49:37 GMT").date();
        assert_eq!(read, Some(Timestamp::from_unix(784_111_777)));
    }

    #[test]
    fn a_redirect_is_told_by_host_and_port() {
        let leads = |to: &str| answer(LOCATION, to).location().as_ref().and_then(host_and_port);
        assert_eq!(leads("https://id.corp.example:8443/a?b").as_deref(), Some("id.corp.example:8443"));
        assert_eq!(leads("https://[::1]:443/").as_deref(), Some("[::1]"));
        assert_eq!((leads("/here"), leads("mailto:a@b.example")), (None, None));
    }

    #[test]
    fn debug_shows_no_body() {
        assert_eq!(format!("{:?}", answer(DATE, "x")), "Answer(200 OK, 6 bytes)");
    }
}
