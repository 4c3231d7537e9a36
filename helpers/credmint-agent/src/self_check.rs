//! What the upstream of a host makes of a certificate, for `credmint cert --self-check`.
//! What the host gets comes in, one request is sent over a connection of its own, and what came of it goes out in words.
//! Reads status, date and a short page of the answer. With TLS 1.3 a refusal shows at the first read (RFC 8446 §4.4.2.4).

use std::fmt::Display;
use std::time::{Duration, Instant};

use bytes::Bytes;
use credmint_agent_protocol::SelfCheck;
use credmint_client_identity::ClientIdentity;
use credmint_https::{HttpsError, date};
use credmint_local_machine::clock;
use credmint_vocabulary::{Deadline, Failure, FailureKind};
use http::response::Parts;
use http::{HeaderValue, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Incoming;
use tokio::time::timeout_at;

use crate::agent::Agent;
use crate::bridge::{authorize, connections_of, refusal};
use crate::get::Pair;

/// Presents the certificate to the upstream, with the token where the host gets one besides, and says what came of it.
pub(crate) async fn of(agent: &Agent, pair: &Pair, identity: &ClientIdentity, deadline: Deadline) -> SelfCheck {
    let hostname = &pair.first.recipe.name;
    let (upstream, request) = match connections_of(agent, &pair.first).and_then(|to| Ok((to, question(pair)?))) {
        Ok(prepared) => prepared,
        Err(failure) => return failed(failure),
    };
    let deadline = deadline.at_most(Instant::now(), PATIENCE);
    match timeout_at(deadline.instant().into(), upstream.request(request)).await {
        Err(_) => failed(slow(hostname)),
        Ok(Err(error)) => broken(hostname, identity, &error, upstream.asked_for_certificate()),
        Ok(Ok(answer)) => {
            let (parts, body) = answer.into_parts();
            let page = page(&parts, body, deadline).await;
            judge(hostname, identity.subject(), &parts, &page, upstream.asked_for_certificate())
        }
    }
}

fn question(pair: &Pair) -> Result<Request<Empty<Bytes>>, Failure> {
    let mut request = Request::new(Empty::new());
    *request.uri_mut() = Uri::from_static(PATH);
    request.headers_mut().insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    authorize(request.headers_mut(), pair)?;
    Ok(request)
}

/// Gathers a page that is worth reading; of all others nothing is read.
async fn page(parts: &Parts, body: Incoming, deadline: Deadline) -> Bytes {
    if !refusal::may_be_one(parts) {
        return Bytes::new();
    }
    let gathered = timeout_at(deadline.instant().into(), Limited::new(body, LONGEST_PAGE).collect()).await;
    gathered.ok().and_then(Result::ok).map(http_body_util::Collected::to_bytes).unwrap_or_default()
}

/// Tells the answers apart.
fn judge(hostname: &impl Display, subject: &str, parts: &Parts, page: &Bytes, asked: bool) -> SelfCheck {
    let ahead = date(&parts.headers).map(|theirs| clock::now().unix() - theirs.unix());
    let told = if asked {
        by_status(hostname, subject, parts.status, page)
    } else {
        let what =
            format!("{hostname} asks for no client certificate: nothing was presented, it answers {}", parts.status);
        let hint = "does upstream in the settings lead to the server that wants one?".to_owned();
        SelfCheck { outcome: "not-asked".to_owned(), what, hint: Some(hint), ..SelfCheck::default() }
    };
    SelfCheck { status: Some(parts.status.as_u16()), clock_ahead_seconds: ahead, ..told }
}

fn by_status(hostname: &impl Display, subject: &str, status: StatusCode, page: &Bytes) -> SelfCheck {
    if let Some(failure) = refusal::of_page(page, hostname, subject) {
        return refused(failure);
    }
    let refuses = |what: String, hint: &str| refused(Failure::new(FailureKind::Refused, what).hint(hint));
    match status.as_u16() {
        // nginx's own codes for it, where a server or proxy lets them out.
        495 | 496 => refuses(
            format!("{hostname} refuses the client certificate of {subject} (status {status})"),
            "does it trust the issuer of this certificate? ask its operator",
        ),
        401 | 403 => refuses(
            format!(
                "{hostname} takes the certificate of {subject} in the handshake, and answers {status}: not this bearer"
            ),
            "ask its operator which subjects and names it lets in",
        ),
        400 => refuses(
            format!(
                "{hostname} takes the certificate of {subject} in the handshake, and answers 400 to a sound request"
            ),
            "ask its operator: servers that check certificates late answer like this",
        ),
        code => {
            let what = match code {
                200..=299 => format!("{hostname} accepts the certificate of {subject}"),
                _ => format!("{hostname} accepts the certificate of {subject}; it answers {status} to {PATH}"),
            };
            SelfCheck { outcome: "accepted".to_owned(), what, ..SelfCheck::default() }
        }
    }
}

/// Tells a refusal in TLS from a server that was not reached, or that we do not trust.
fn broken(hostname: &impl Display, identity: &ClientIdentity, error: &HttpsError, asked: bool) -> SelfCheck {
    let hint = error.hint().unwrap_or_else(|| format!("credmint explain {hostname}"));
    let in_the_handshake = asked && matches!(error, HttpsError::Handshake { .. } | HttpsError::Stream { .. });
    if in_the_handshake || matches!(error, HttpsError::ClientCertificateRefused { .. }) {
        let what = format!("{hostname} refuses the client certificate of {}: {error}", identity.subject());
        return refused(Failure::new(FailureKind::Refused, what).hint(hint));
    }
    failed(Failure::new(error.kind(), format!("{hostname}: {error}")).hint(hint))
}

fn slow(hostname: &impl Display) -> Failure {
    let what = format!("{hostname} did not answer within {} s", PATIENCE.as_secs());
    Failure::new(FailureKind::Unreachable, what).hint("see whether the server runs, and where upstream leads")
}

fn refused(failure: Failure) -> SelfCheck {
    SelfCheck { outcome: "refused".to_owned(), ..failed(failure) }
}

/// Says that nothing was learnt of the certificate, and why.
pub(crate) fn failed(failure: Failure) -> SelfCheck {
    let kind = Some(failure.kind.word().to_owned());
    SelfCheck { outcome: "failed".to_owned(), what: failure.what, hint: failure.hint, kind, ..SelfCheck::default() }
}

/// What Terraform asks for first.
const PATH: &str = "/.well-known/terraform.json";
const PATIENCE: Duration = Duration::from_secs(8);
const LONGEST_PAGE: usize = 8192;

#[cfg(test)]
mod tests {
    use super::*;

    fn told(status: u16, page: &'static str) -> (String, String) {
        let hostname = "registry.corp.example";
        let status = StatusCode::from_u16(status).expect("a status");
        let check = by_status(&hostname, "CN=alice", status, &Bytes::from_static(page.as_bytes()));
        (check.outcome, check.what)
    }

    #[test]
    fn refusals_of_servers_that_check_late_are_told_from_success() {
        for status in [200, 204, 301, 404, 500, 502] {
            assert_eq!(told(status, "").0, "accepted", "{status}");
        }
        for status in [400, 401, 403, 495, 496] {
            assert_eq!(told(status, "").0, "refused", "{status}");
        }
        let (outcome, what) = told(400, "<title>400 No required SSL certificate was sent</title>");
        assert_eq!((outcome.as_str(), what.contains("refuses the client certificate")), ("refused", true));
        assert!(told(404, "").1.contains("404"));
    }

    #[test]
    fn the_servers_clock_is_compared_with_ours_netbird_4500() {
        let hostname = "registry.corp.example";
        let answer = http::Response::builder().header("date", "Sun, 06 Nov 1994 08:49:37 GMT").body(()).expect("valid");
        let (parts, ()) = answer.into_parts();
        let check = judge(&hostname, "CN=alice", &parts, &Bytes::new(), true);
        assert!(check.clock_ahead_seconds.is_some_and(|ahead| ahead > 86_400), "{check:?}");
        let asked_for_none = judge(&hostname, "CN=alice", &parts, &Bytes::new(), false);
        assert_eq!((asked_for_none.outcome.as_str(), asked_for_none.status), ("not-asked", Some(200)));
    }
}
