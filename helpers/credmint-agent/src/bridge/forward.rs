//! One request through the bridge: who may, with which credential, to which upstream, and what comes back.
//! A client's request comes in, the upstream's answer goes out, streamed both ways.
//! Adds the credential on the way out and takes it from nobody; goes only where the route says.

use std::convert::Infallible;
use std::fmt::Display;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use credmint_https::{HttpsError, Trust, Upstream, UpstreamTarget};
use credmint_local_machine::{clock, last_failure};
use credmint_vocabulary::{Deadline, Failure, FailureKind, Hostname};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, Uri, header};
use hyper::body::Incoming;
use tokio::time::timeout_at;
use url::Url;

use super::again;
use super::endpoint;
use super::head;
use super::incoming::{incoming, rewriter};
use super::mirror::{self, Reading};
use super::reply::{self, Body};
use super::run::Way;
use super::sending::Late;
use super::target::{Asker, Target};
use super::visit::{AnsweredBy, Visit, asker, visit};
use super::watched::Watched;
use crate::agent::Agent;
use crate::entries::Entry;
use crate::get::{Pair, pair_for_now};
use crate::held::Held;
use crate::terraform_login;

/// Answers one request; a failure is an answer too.
pub(super) async fn answer(
    agent: Rc<Agent>,
    way: Way,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    if let Some(endpoint) = terraform_login::endpoint(request.uri()) {
        let answered = terraform_login::answer(&agent, way.port, endpoint, request).await;
        return Ok(answered.map(reply::whole));
    }
    if way.run.is_some() && request.uri().path().starts_with(endpoint::PATH) {
        return Ok(endpoint::answer(&agent, &way, &request).await);
    }
    let target = Target::of(request.uri());
    let asker = asker(target.as_ref(), request.headers());
    // Of what was never for us nothing is noted: a web page could fill the notes.
    let is_for_us = head::own_name(request.uri(), request.headers(), way.port).is_ok();
    let hostname = target.as_ref().filter(|_| is_for_us).map(|target| target.hostname().clone());
    let visited = visit(&agent, &way, target, &request);
    Ok(answer_to(&agent, &way, (asker, hostname), visited, request).await)
}

/// Answers a request that has a right, or why it has none; and notes that, for a host that is somebody's.
pub(super) async fn answer_to(
    agent: &Rc<Agent>,
    way: &Way,
    (asker, hostname): (Asker, Option<Hostname>),
    visited: Result<Visit, Failure>,
    request: Request<Incoming>,
) -> Response<Body> {
    let (watched, answered) = match visited {
        Ok(visit) => {
            let watched = Watched::begin(agent, way, &visit, request.method());
            (Some(watched), forward(agent, visit, request).await)
        }
        Err(failure) => (None, Err(failure)),
    };
    let answer = answered.unwrap_or_else(|failure| {
        // Every user and every web page of the machine can fail here: what they make up pushes no failure of ours out.
        if let Some(hostname) = hostname.filter(|hostname| knows(agent, hostname)) {
            way.run.iter().for_each(|run| run.note(&failure, watched.is_some()));
            last_failure::record("credmint-bridge", Some(hostname.as_str()), &failure, clock::now());
        }
        reply::failed(asker, &failure)
    });
    match watched {
        Some(watched) => watched.answered(answer),
        None => answer,
    }
}

fn knows(agent: &Agent, hostname: &Hostname) -> bool {
    agent.bridge.as_ref().is_some_and(|bridge| bridge.sessions.knows(hostname))
}

async fn forward(agent: &Rc<Agent>, visit: Visit, request: Request<Incoming>) -> Result<Response<Body>, Failure> {
    if let AnsweredBy::Us(made) = &visit.answered_by {
        return Ok(Response::new(reply::body(made.clone())));
    }
    let start = Instant::now();
    let deadline = Deadline::after(start, CREDENTIAL_TIMEOUT);
    let pair = pair_for_now(agent, &visit.recipe, deadline).await?;
    agent.stay(visit.recipe.settings.agent.idle_exit);
    let upstream = upstream_of(agent, &pair.first)?;
    let (parts, body) = request.into_parts();
    if let AnsweredBy::Mirror(run, asked) = &visit.answered_by {
        let reading = Reading::of(&pair, &upstream, &parts.headers, start, agent)?;
        let rewriter = rewriter(agent, &visit)?;
        return mirror::answer(&run.mirrors, &reading, asked, rewriter).await;
    }
    let patience = patience(visit.asker, &parts.method);
    let request = Request::from_parts(outgoing(parts, &visit, &pair)?, body);
    let hostname = &visit.recipe.name;
    let slow = |late| slow(hostname, late, patience);
    let told = || agent.metrics.counts.retry(&hostname.to_string());
    let response = again::answer(&upstream, request, start, patience, told).await.map_err(slow)?;
    let response = response.map_err(|error| unreachable(hostname, &error))?;
    // What is rewritten has to be there as a whole.
    let since = if patience == REGISTRY_TIMEOUT { start } else { Instant::now() };
    let until = since + patience;
    let answered = timeout_at(until.into(), incoming(agent, &visit, &pair.first, response, until)).await;
    answered.map_err(|_| slow(Late::Upstream))?
}

/// How long an answer may take to begin: who only reads an API is Terraform's registry client, which gives up itself.
fn patience(asker: Asker, method: &Method) -> Duration {
    let reads = matches!(*method, Method::GET | Method::HEAD);
    if matches!(asker, Asker::Files | Asker::Remote) || !reads { LONG_TIMEOUT } else { REGISTRY_TIMEOUT }
}

/// Finds the connections that present this entry's credential, or makes them.
fn upstream_of(agent: &Agent, entry: &Entry) -> Result<Rc<Upstream>, Failure> {
    if let Some(upstream) = entry.upstream.borrow().as_ref() {
        return Ok(Rc::clone(upstream));
    }
    let upstream = Rc::new(connections_of(agent, entry)?);
    *entry.upstream.borrow_mut() = Some(Rc::clone(&upstream));
    Ok(upstream)
}

/// Prepares connections that present this entry's credential; opens none yet.
pub(crate) fn connections_of(agent: &Agent, entry: &Entry) -> Result<Upstream, Failure> {
    let hostname = entry.recipe.host()?;
    let route = entry.recipe.route().ok_or_else(|| crate::failure::no_route(hostname))?;
    let held = entry.held.get().ok_or_else(crate::failure::locked)?;
    let client = if let Held::Identity(identity) = &*held { Some(Arc::clone(identity)) } else { None };
    let trust = Trust { client, ..credmint_identities::trust(&route.host.peer) };
    let address = route.host.upstream.clone().unwrap_or_else(|| format!("https://{hostname}"));
    let address = Url::parse(&address).map_err(|_| refused("the upstream of the settings is no URL"))?;
    let target = UpstreamTarget { address, server_name: hostname.clone(), trust };
    agent.https.upstream(target).map_err(|error| unreachable(hostname, &error))
}

/// Makes the upstream's request of the client's: without the session, with the credential.
fn outgoing(mut parts: Parts, visit: &Visit, pair: &Pair) -> Result<Parts, Failure> {
    drop_hop_by_hop(&mut parts.headers);
    if !visit.has_own_authorization {
        parts.headers.remove(header::AUTHORIZATION);
    }
    parts.headers.remove(header::HOST);
    if !visit.is_by_its_name {
        // Go names the address that redirected it, and that may be a capability. By the host's own name it is none.
        parts.headers.remove(header::REFERER);
    }
    if !visit.is_by_its_name && visit.asker != Asker::Files {
        // What is rewritten must be readable.
        parts.headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
    authorize(&mut parts.headers, pair)?;
    let query = visit.url.query().map(|query| format!("?{query}")).unwrap_or_default();
    let path = format!("{}{query}", visit.url.path());
    parts.uri = path.parse::<Uri>().map_err(|_| refused("the path of the request is malformed"))?;
    Ok(parts)
}

/// Puts the host's token into a request, if it gets one; a client identity is presented by TLS.
pub(crate) fn authorize(headers: &mut HeaderMap, pair: &Pair) -> Result<(), Failure> {
    let held = pair.bearer().held.get().ok_or_else(crate::failure::locked)?;
    if let Held::Token(token) = &*held {
        let value = HeaderValue::try_from(format!("Bearer {}", token.token.expose()));
        let mut value = value.map_err(|_| refused("the token has characters that no header may have"))?;
        value.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, value);
    }
    Ok(())
}

/// Removes what belongs to one connection (RFC 9110 §7.6.1).
pub(super) fn drop_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    named.iter().for_each(|name| drop(headers.remove(name)));
    HOP_BY_HOP.iter().for_each(|name| drop(headers.remove(*name)));
}

/// Refuses a request.
pub(super) fn refused(what: &str) -> Failure {
    Failure::new(FailureKind::Refused, what)
}

/// Says that no answer came in time, and who let the other wait.
pub(super) fn slow(hostname: &impl Display, late: Late, patience: Duration) -> Failure {
    let seconds = patience.as_secs();
    let what = match late {
        Late::Upstream => format!("{hostname} did not answer within {seconds} s"),
        Late::Client => format!("the program that sends something to {hostname} stopped for {seconds} s"),
    };
    Failure::new(FailureKind::Unreachable, what).hint("run the command again")
}

/// Says why no answer began.
pub(crate) fn unreachable(hostname: &impl Display, error: &HttpsError) -> Failure {
    let kind = match error {
        HttpsError::ClientCertificateRefused { .. } | HttpsError::NotPinned { .. } => FailureKind::Refused,
        _ => FailureKind::Unreachable,
    };
    Failure::new(kind, format!("{hostname}: {error}"))
        .hint(error.hint().unwrap_or_else(|| format!("credmint explain {hostname}")))
}

const HOP_BY_HOP: [&str; 8] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
];
const CREDENTIAL_TIMEOUT: Duration = Duration::from_secs(8);
/// The credential included; Terraform's own limit is ten seconds, and what it says then names no cause.
const REGISTRY_TIMEOUT: Duration = Duration::from_secs(9);
/// For files, which a server may have to make first, and for what is written; there Terraform has no limit.
const LONG_TIMEOUT: Duration = Duration::from_secs(60);
