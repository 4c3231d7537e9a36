//! Endpoints of a run: where the SDKs of clouds ask for a credential, as they would in a container or a CI system.
//! A request with the endpoint's token comes in, the credential goes out of memory, or why there is none.
//! Sends nothing to anybody but the issuer of the route. `protocol-spec/bridge-protocol.md` §11.

mod store;

use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use credmint_local_machine::{clock, last_failure};
use credmint_protocols::{AnswerError, aws_container, id_token};
use credmint_settings::Channel;
use credmint_vocabulary::{Deadline, Failure, FailureKind};
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use zeroize::Zeroizing;

use super::head;
use super::reply::{self, Body};
use super::run::Way;
use super::watched::Watched;
use crate::agent::Agent;
use crate::get::{Pair, pair_soon};
use crate::recipe::Recipe;
use crate::run_provider;
use store::Endpoint;
pub(super) use store::Endpoints;

/// Begins the path of every endpoint.
pub(super) const PATH: &str = "/.provider/";

/// Why there is no credential: what the client does next hangs on the status.
struct Refusal {
    status: StatusCode,
    code: &'static str,
    failure: Failure,
}

impl Refusal {
    fn new(status: StatusCode, code: &'static str, what: &str) -> Self {
        Self { status, code, failure: Failure::new(FailureKind::Refused, what) }
    }
}

/// Answers one request; a refusal is an answer too.
pub(super) async fn answer(agent: &Rc<Agent>, way: &Way, request: &Request<Incoming>) -> Response<Body> {
    let endpoint = match admit(agent, way, request) {
        Ok(endpoint) => endpoint,
        Err(refusal) => return refused(&refusal),
    };
    let watched = Watched::endpoint(agent, way, &endpoint.recipe, request);
    let answered = match credential(agent, &endpoint).await {
        Ok(bytes) => given(bytes),
        Err(refusal) => {
            way.run.iter().for_each(|run| run.note(&refusal.failure, true));
            let name = endpoint.recipe.name.to_string();
            last_failure::record("credmint-bridge", Some(&name), &refusal.failure, clock::now());
            refused(&refusal)
        }
    };
    watched.answered(answered)
}

/// Finds the endpoint that a request has the right to.
fn admit<B>(agent: &Agent, way: &Way, request: &Request<B>) -> Result<Rc<Endpoint>, Refusal> {
    let of_failure = |failure| Refusal { status: StatusCode::FORBIDDEN, code: "Forbidden", failure };
    head::own_name(request.uri(), request.headers(), way.port).map_err(of_failure)?;
    let unknown = || Refusal::new(StatusCode::NOT_FOUND, "NotFound", "this run has no such endpoint");
    let word = request.uri().path().strip_prefix(PATH).ok_or_else(unknown)?;
    let endpoints = agent.bridge.as_ref().map(|bridge| &bridge.endpoints);
    let endpoint = endpoints.zip(way.number()).and_then(|(all, run)| all.find(run, word)).ok_or_else(unknown)?;
    if *request.method() != Method::GET {
        return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", "credentials are only read here"));
    }
    if request.uri().query().is_some_and(|query| query.len() > LONGEST_QUERY) {
        return Err(Refusal::new(StatusCode::URI_TOO_LONG, "UriTooLong", "the query of the request is too long"));
    }
    agent.lock.check().map_err(of_failure)?;
    let given = head::authorization(request.headers()).map_err(of_failure)?.map(HeaderValue::as_bytes);
    // The AWS SDKs send what they find in their variable as it is, others put a word before it.
    let token = given.map(|given| given.strip_prefix(b"Bearer ").unwrap_or(given));
    if token.is_some_and(|token| endpoint.is_opened_by(token)) {
        return Ok(endpoint);
    }
    let what = "the token is none of this endpoint's, or the run has ended";
    Err(Refusal::new(StatusCode::UNAUTHORIZED, "Unauthorized", what))
}

/// Gives the credential in the client's form.
async fn credential(agent: &Rc<Agent>, endpoint: &Endpoint) -> Result<Zeroizing<Vec<u8>>, Refusal> {
    let recipe = &endpoint.recipe;
    agent.stay(recipe.settings.agent.idle_exit);
    let pair = pair_soon(agent, recipe, Deadline::after(Instant::now(), PATIENCE)).await.map_err(of_route)?;
    written(endpoint.channel, recipe, &pair).map_err(of_route)
}

fn written(channel: Channel, recipe: &Recipe, pair: &Pair) -> Result<Zeroizing<Vec<u8>>, Failure> {
    run_provider::with_credential(pair, |credential| match channel {
        Channel::AwsContainer => aws_container::answer(credential, clock::now()),
        _ => id_token::answer(credential),
    })?
    .map_err(|error: AnswerError| run_provider::unfit(recipe, &error))
}

/// What may be better in a moment is asked for again by the clients themselves; the rest is not.
fn of_route(failure: Failure) -> Refusal {
    match failure.kind {
        FailureKind::Unreachable => {
            Refusal { status: StatusCode::SERVICE_UNAVAILABLE, code: "ServiceUnavailable", failure }
        }
        _ => Refusal { status: StatusCode::FORBIDDEN, code: "AccessDenied", failure },
    }
}

fn given(bytes: Zeroizing<Vec<u8>>) -> Response<Body> {
    json(StatusCode::OK, Bytes::from_owner(bytes))
}

fn refused(refusal: &Refusal) -> Response<Body> {
    let Failure { what, hint, .. } = &refusal.failure;
    let text = hint.as_ref().map_or_else(|| what.clone(), |hint| format!("{what}; hint: {hint}"));
    let mut response = json(refusal.status, aws_container::refusal(refusal.code, &text).into());
    if refusal.status == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET"));
    }
    response
}

fn json(status: StatusCode, bytes: Bytes) -> Response<Body> {
    let mut response = Response::new(reply::body(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// botocore waits for two seconds.
const PATIENCE: Duration = Duration::from_millis(1_700);
const LONGEST_QUERY: usize = 2048;
