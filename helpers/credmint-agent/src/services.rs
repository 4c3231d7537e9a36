//! The services that a host offers, for `credmint setup`: a `host` block has to name them all, since it gives no fall-back.
//! A host and settings come in, its discovery document goes out with the host's own addresses as paths of the bridge.
//! Asks the upstream of the settings and no other; a redirect to another host is a failure. Terraform's remote service discovery.

use std::collections::BTreeMap;
use std::rc::Rc;

use bytes::Bytes;
use credmint_agent_protocol::{Got, Reply, ServicesOffered};
use credmint_https::Upstream;
use credmint_vocabulary::{Failure, FailureKind, Hostname};
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Incoming;
use serde_json::Value;
use tokio::time::timeout_at;
use url::Url;

use crate::agent::Agent;
use crate::bridge::{self, authorize, connections_of, refusal, unreachable};
use crate::connection::Stream;
use crate::entries::Entry;
use crate::get::{self, Pair};
use crate::server::{Ended, deadline_of, recipe_of};

/// Tells what a host offers.
pub(crate) async fn services(agent: &Rc<Agent>, stream: &mut dyn Stream, got: &Got) -> Result<Reply, Ended> {
    let deadline = deadline_of(got);
    let Some(recipe) = recipe_of(agent, stream, got).await? else { return Ok(Reply::None) };
    let pair = get::pair_of(agent, &Rc::new(recipe), deadline).await?;
    let offered = timeout_at(deadline.instant().into(), discover(agent, &pair)).await;
    if pair.first.recipe.settings.agent.once {
        pair.all().for_each(|entry| agent.keep_nothing(entry));
    }
    let offered = offered.map_err(|_| slow(&pair.first.recipe.hostname))?;
    Ok(Reply::Services(ServicesOffered { services: offered? }))
}

async fn discover(agent: &Agent, pair: &Pair) -> Result<BTreeMap<String, Value>, Failure> {
    let entry = &pair.first;
    let hostname = &entry.recipe.hostname;
    let upstream = connections_of(agent, entry)?;
    let mut url = Url::parse(&format!("https://{hostname}{PATH}")).map_err(|_| unusable(hostname, "it has no URL"))?;
    for _ in 0..=MOST_REDIRECTS {
        let answer = ask(&upstream, pair, &url).await?;
        match next(entry, &url, &answer)? {
            Some(other) => url = other,
            None => return read(entry, &url, answer).await,
        }
    }
    Err(unusable(hostname, "it is redirected more than three times"))
}

async fn ask(upstream: &Upstream, pair: &Pair, url: &Url) -> Result<Response<Incoming>, Failure> {
    let hostname = &pair.first.recipe.hostname;
    let path = url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
    let request = Request::get(path).header(header::ACCEPT, JSON).header(header::ACCEPT_ENCODING, "identity");
    let mut request =
        request.body(Empty::<Bytes>::new()).map_err(|_| unusable(hostname, "its address is malformed"))?;
    authorize(request.headers_mut(), pair)?;
    upstream.request(request).await.map_err(|error| unreachable(hostname, &error))
}

/// Gives where a redirect leads.
fn next(entry: &Entry, url: &Url, answer: &Response<Incoming>) -> Result<Option<Url>, Failure> {
    if !answer.status().is_redirection() {
        return Ok(None);
    }
    let location = answer.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
    let inside = location.and_then(|location| bridge::ours(&entry.recipe, url, location));
    inside.map(Some).ok_or_else(|| unusable(&entry.recipe.hostname, "it is redirected to another host"))
}

async fn read(entry: &Entry, url: &Url, answer: Response<Incoming>) -> Result<BTreeMap<String, Value>, Failure> {
    let hostname = &entry.recipe.hostname;
    let (parts, body) = answer.into_parts();
    let broken = |_| unusable(hostname, "it breaks off, or is larger than 1 MiB");
    let page = Limited::new(body, LARGEST).collect().await.map_err(broken)?.to_bytes();
    if let (Some((subject, _)), true) = (&entry.facts.certificate, refusal::may_be_one(&parts))
        && let Some(failure) = refusal::of_page(&page, hostname, subject)
    {
        return Err(failure);
    }
    if parts.status != StatusCode::OK {
        return Err(unusable(hostname, &format!("it answers {}", parts.status)));
    }
    let document: BTreeMap<String, Value> =
        serde_json::from_slice(&page).map_err(|_| unusable(hostname, "it is no JSON object"))?;
    Ok(document.into_iter().map(|(name, value)| (name, translated(entry, url, value))).collect())
}

/// Makes an address of the host's own a path, and every other one absolute.
fn translated(entry: &Entry, url: &Url, value: Value) -> Value {
    let Value::String(address) = &value else { return value };
    match (bridge::ours(&entry.recipe, url, address), url.join(address)) {
        (Some(own), _) => {
            Value::String(own.query().map_or_else(|| own.path().to_owned(), |query| format!("{}?{query}", own.path())))
        }
        (None, Ok(elsewhere)) => Value::String(elsewhere.into()),
        (None, Err(_)) => value,
    }
}

fn slow(hostname: &Hostname) -> Failure {
    Failure::new(FailureKind::Unreachable, format!("{hostname} did not say in time which services it offers"))
        .hint("run the command again")
}

fn unusable(hostname: &Hostname, why: &str) -> Failure {
    let what = format!("the discovery document of {hostname} cannot be used: {why}");
    Failure::new(FailureKind::Unreachable, what).hint(format!("credmint explain {hostname}"))
}

/// Where a host says what it offers.
const PATH: &str = "/.well-known/terraform.json";
const JSON: &str = "application/json";
const MOST_REDIRECTS: usize = 3;
const LARGEST: usize = 1024 * 1024;
