//! An upstream that refuses our certificate in HTTP rather than in TLS: nginx lets the handshake pass and answers 400.
//! Such an answer comes in and a failure goes out; every other answer goes on as it is.
//! Reads only a short page of type HTML, and repeats nothing of it. `protocol-spec/bridge-protocol.md`, Failures.

use std::fmt::Display;

use bytes::Bytes;
use credmint_vocabulary::{Failure, FailureKind};
use http::response::Parts;
use http::{StatusCode, header};

/// Tells whether the page of an answer is worth reading.
pub(crate) fn may_be_one(parts: &Parts) -> bool {
    let text = |name| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let length = text(header::CONTENT_LENGTH).parse::<usize>();
    parts.status == StatusCode::BAD_REQUEST
        && text(header::CONTENT_TYPE).starts_with("text/html")
        && length.is_ok_and(|length| (1..=LONGEST_PAGE).contains(&length))
}

/// Reads the page: the failure, if it is a refusal of the certificate with this subject.
pub(crate) fn of_page(page: &Bytes, hostname: &impl Display, subject: &str) -> Option<Failure> {
    let refuses = page.windows(WORDS.len()).any(|part| part == WORDS);
    let what = format!("{hostname} refuses the client certificate of {subject}");
    let hint = "does it trust the issuer of this certificate? credmint status shows what was granted";
    refuses.then(|| Failure::new(FailureKind::Refused, what).hint(hint))
}

/// In the pages of nginx for its codes 495 and 496: "The SSL certificate error", "No required SSL certificate was sent".
const WORDS: &[u8] = b"SSL certificate";
const LONGEST_PAGE: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_nginx_is_understood_and_others_are_left_alone() {
        let hostname = "registry.corp.example";
        let page = |title: &str| Bytes::from(format!("<html><head><title>400 {title}</title></head></html>"));
        let refusal = |title| of_page(&page(title), &hostname, "CN=alice").map(|failure| failure.what);
        let words = "registry.corp.example refuses the client certificate of CN=alice";
        assert_eq!(refusal("The SSL certificate error").as_deref(), Some(words));
        assert_eq!(refusal("No required SSL certificate was sent").as_deref(), Some(words));
        assert_eq!(refusal("Bad Request"), None);
    }
}
