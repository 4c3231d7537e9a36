//! The token endpoint: Terraform redeems its code, and gets a marker that opens nothing.
//! A form comes in, one JSON object goes out.
//! Answers no browser and no other name. RFC 6749 §4.1.3 to §5.2, RFC 7636 §4.5.

use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use credmint_vocabulary::{Failure, Hostname, Secret, printable};
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use serde::Serialize;
use tokio::time::timeout;
use zeroize::Zeroizing;

use super::authorize::quiet;
use super::codes::Refusal;
use super::request::Redeem;
use crate::agent::Agent;
use crate::loopback;

/// Answers.
pub(super) async fn answer(
    agent: &Rc<Agent>,
    port: u16,
    hostname: &Hostname,
    request: Request<Incoming>,
) -> Response<Full<Bytes>> {
    match redeemed(agent, port, hostname, request).await {
        Ok(marker) => json(StatusCode::OK, &Granted { access_token: marker.expose(), token_type: "Bearer" }),
        Err(refused) => json(refused.status, &refused),
    }
}

async fn redeemed(
    agent: &Rc<Agent>,
    port: u16,
    hostname: &Hostname,
    request: Request<Incoming>,
) -> Result<Secret<String>, Refused> {
    for_terraform(port, &request)?;
    let body = timeout(PATIENCE, Limited::new(request.into_body(), LONGEST_FORM).collect()).await;
    let body = body.ok().and_then(Result::ok).ok_or_else(|| Refused::of("invalid_request", "the form is too long"))?;
    let form = Zeroizing::new(body.to_bytes().to_vec());
    let asked = Redeem::of_form(&form).map_err(|error| Refused::of(error, "terraform login sends another form"))?;
    agent.terraform_login.codes.redeem(hostname, &asked, Instant::now()).map_err(|refusal| match refusal {
        Refusal::NotYours => {
            let again =
                format!("the code was used, has ended, or belongs to another run; hint: terraform login {hostname}");
            Refused::of("invalid_grant", &again)
        }
        Refusal::Failed(failure) => Refused::of("access_denied", &words(&failure)),
    })
}

fn for_terraform(port: u16, request: &Request<Incoming>) -> Result<(), Refused> {
    let headers = request.headers();
    let from_a_page = headers.contains_key(header::ORIGIN) || headers.contains_key("sec-fetch-site");
    if loopback::own_name(headers, port).is_none() || from_a_page || super::is_a_strangers(request) {
        return Err(Refused::of("invalid_request", "this is for this user's terraform login, and for no browser"));
    }
    if request.method() != Method::POST {
        let status = StatusCode::METHOD_NOT_ALLOWED;
        return Err(Refused { status, ..Refused::of("invalid_request", "a form is posted here") });
    }
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.split(';').next().is_some_and(|kind| kind.trim() == "application/x-www-form-urlencoded") {
        return Ok(());
    }
    Err(Refused::of("invalid_request", "a form is posted here"))
}

fn words(failure: &Failure) -> String {
    match &failure.hint {
        Some(hint) => format!("{}; hint: {hint}", failure.what),
        None => failure.what.clone(),
    }
}

#[derive(Serialize)]
struct Granted<'a> {
    access_token: &'a str,
    token_type: &'a str,
}

#[derive(Serialize)]
struct Refused {
    #[serde(skip)]
    status: StatusCode,
    error: &'static str,
    error_description: String,
}

impl Refused {
    /// Makes an error of RFC 6749 §5.2, whose description has no quotation mark and no backslash, on one line.
    fn of(error: &'static str, description: &str) -> Self {
        let allowed = |c: char| if matches!(c, '"' | '\\') || !(c.is_ascii_graphic() || c == ' ') { '\'' } else { c };
        let error_description = printable(description, LONGEST_DESCRIPTION).chars().map(allowed).collect();
        Self { status: StatusCode::BAD_REQUEST, error, error_description }
    }
}

fn json(status: StatusCode, body: &impl Serialize) -> Response<Full<Bytes>> {
    let body = serde_json::to_vec(body).unwrap_or_default();
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    quiet(response.headers_mut());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

const LONGEST_FORM: usize = 8 * 1024;
const LONGEST_DESCRIPTION: usize = 600;
const PATIENCE: Duration = Duration::from_secs(10);
