//! The bridge's own answers: refusals that Terraform shows.
//! A failure and who asked come in, a status with a reason phrase goes out.
//! Pure. Terraform prints the status line for modules; for providers it replaces 401 and 403, but not 428 (facts: measured).

use bytes::Bytes;
use credmint_vocabulary::{Failure, FailureKind, printable};
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::ext::ReasonPhrase;

use super::target::Asker;

/// What the bridge sends: bytes of its own, or the upstream's stream.
pub(super) type Body = UnsyncBoxBody<Bytes, BodyError>;

/// Says why a body ends before its end.
pub(super) type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// Makes a body of bytes.
pub(super) fn body(bytes: impl Into<Bytes>) -> Body {
    whole(Full::new(bytes.into()))
}

/// Makes a body of one that is there already.
pub(super) fn whole(body: Full<Bytes>) -> Body {
    body.map_err(|never| match never {}).boxed_unsync()
}

/// Says a failure where the person in front of Terraform sees it: in the reason phrase, and in the `errors` of the body.
pub(super) fn failed(asker: Asker, failure: &Failure) -> Response<Body> {
    let text = match &failure.hint {
        Some(hint) => format!("{}; hint: {hint}", failure.what),
        None => failure.what.clone(),
    };
    let error = match asker {
        Asker::Remote => serde_json::json!({ "title": text }),
        Asker::Modules | Asker::Providers | Asker::Files => serde_json::json!(text),
    };
    let mut response = Response::new(body(serde_json::json!({ "errors": [error] }).to_string()));
    *response.status_mut() = status_of(asker, failure);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Ok(reason) = ReasonPhrase::try_from(phrase(&text).into_bytes()) {
        response.extensions_mut().insert(reason);
    }
    response
}

/// Says why there is no tunnel: of that answer a program shows the reason phrase alone.
pub(super) fn no_tunnel(status: StatusCode, failure: &Failure) -> Response<Body> {
    let mut response = failed(Asker::Files, failure);
    *response.status_mut() = status;
    response
}

/// Asks a client of the run's proxy for the run's password (RFC 9110 §15.5.8).
pub(super) fn wants_proof() -> Response<Body> {
    let what = "this proxy is for one run of credmint exec, which has ended or is not yours";
    let failure = Failure::new(FailureKind::Refused, what);
    let mut response = no_tunnel(StatusCode::PROXY_AUTHENTICATION_REQUIRED, &failure);
    let challenge = HeaderValue::from_static("Basic realm=\"credmint exec\"");
    response.headers_mut().insert(header::PROXY_AUTHENTICATE, challenge);
    response
}

fn status_of(asker: Asker, failure: &Failure) -> StatusCode {
    match (failure.kind, asker) {
        _ if failure.busy => StatusCode::SERVICE_UNAVAILABLE,
        (FailureKind::Unreachable, _) => StatusCode::BAD_GATEWAY,
        (_, Asker::Providers | Asker::Remote) => StatusCode::PRECONDITION_REQUIRED,
        (_, Asker::Modules) => StatusCode::UNAUTHORIZED,
        (_, Asker::Files) => StatusCode::FORBIDDEN,
    }
}

/// Keeps what a status line may carry: printable ASCII on one line.
fn phrase(text: &str) -> String {
    printable(text, 300).chars().map(|c| if c.is_ascii() { c } else { '?' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_stands_in_the_reason_phrase() {
        let failure = Failure::new(FailureKind::Refused, "session expired, é").hint("credmint login");
        for (asker, status) in
            [(Asker::Modules, 401), (Asker::Providers, 428), (Asker::Remote, 428), (Asker::Files, 403)]
        {
            let response = failed(asker, &failure);
            assert_eq!(response.status().as_u16(), status);
            let reason = response.extensions().get::<ReasonPhrase>().expect("a reason");
            assert_eq!(reason.as_bytes(), b"session expired, ?; hint: credmint login");
            assert_eq!(failed(asker, &failure.clone().busy()).status().as_u16(), 503);
        }
    }
}
