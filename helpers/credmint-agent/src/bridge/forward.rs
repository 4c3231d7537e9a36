//! One request through the bridge: who may, with which credential, to which upstream, and what comes back.
//! A client's request comes in, the upstream's answer goes out, streamed both ways.
//! Adds the credential on the way out and takes it from nobody; goes only where the route says.

use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use credmint_https::{HttpsError, Trust, Upstream, UpstreamTarget};
use credmint_local_machine::{clock, last_failure};
use credmint_vocabulary::{Deadline, Failure, FailureKind, Hostname};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use url::Url;

use super::Bridge;
use super::again;
use super::audit::{self, Line};
use super::capability::{Capability, Use};
use super::json_api;
use super::refusal;
use super::reply::{self, Body};
use super::rewrite::Rewriter;
use super::run::{self, RunNumber, Way};
use super::target::{Asker, Target};
use crate::agent::Agent;
use crate::entries::{Entry, Held};
use crate::get::entry_for_now;
use crate::loopback;
use crate::recipe::Recipe;
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
    let target = Target::of(request.uri());
    let asker = asker(target.as_ref(), request.headers());
    let hostname = target.as_ref().map(|target| target.hostname().clone());
    let (line, answered) = match visit(&agent, &way, target, &request) {
        Ok(visit) => {
            let line = Line::of(&visit.recipe, request.method(), &visit.shown);
            (line, forward(&agent, visit, request).await)
        }
        Err(failure) => (None, Err(failure)),
    };
    let answer = answered.unwrap_or_else(|failure| {
        // Every user and every web page of the machine can fail here: what they make up pushes no failure of ours out.
        if let Some(hostname) = hostname.filter(|hostname| knows(&agent, hostname)) {
            way.run.iter().for_each(|run| run.note(&failure));
            last_failure::record("credmint-bridge", Some(hostname.as_str()), &failure, clock::now());
        }
        reply::failed(asker, &failure)
    });
    Ok(audit::follow(&agent, answer, line))
}

/// Tells which of Terraform's clients asks.
fn asker(target: Option<&Target>, headers: &HeaderMap) -> Asker {
    let accepts = || headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    match target.map_or(Asker::Files, Target::asker) {
        Asker::Modules if accepts().is_some_and(|types| types.starts_with(json_api::MEDIA_TYPE)) => Asker::Remote,
        asker => asker,
    }
}

fn knows(agent: &Agent, hostname: &Hostname) -> bool {
    agent.bridge.as_ref().is_some_and(|bridge| bridge.sessions.knows(hostname))
}

/// What a request has the right to.
struct Visit {
    recipe: Rc<Recipe>,
    /// URL in the upstream's words.
    url: Url,
    /// What of its path may be shown.
    shown: String,
    asker: Asker,
    /// Host and port by which the client reached us.
    own: String,
    /// The run of `credmint exec` that it came by.
    run: Option<RunNumber>,
    /// Whether no body follows, whatever the header says.
    is_head: bool,
}

fn visit(agent: &Agent, way: &Way, target: Option<Target>, request: &Request<Incoming>) -> Result<Visit, Failure> {
    let bridge = agent.bridge.as_ref().ok_or_else(|| refused("there is no bridge"))?;
    let own = own_name(request.headers(), way.port)?;
    let target = target.ok_or_else(|| refused("the path of the request names no host"))?;
    agent.lock.check()?;
    let asker = asker(Some(&target), request.headers());
    let (recipe, url, shown) = match target {
        Target::Api { hostname, path_and_query } => {
            no_echo(request.method())?;
            let recipe = session(bridge, request.headers(), &hostname, way.number())?;
            let url = upstream_url(&hostname, &path_and_query)?;
            let shown = url.path().to_owned();
            (recipe, url, shown)
        }
        Target::Capability { hostname, segment } => {
            let found = bridge.capabilities.find(segment.as_bytes(), Instant::now());
            let found = found.filter(|found| found.recipe.hostname == hostname && found.run == way.number());
            let found = found.ok_or_else(|| refused("this address has ended; run the command again"))?;
            permitted(&found, request.method())?;
            let shown = if found.purpose == Use::Download { found.url.path() } else { "/.cap/" }.to_owned();
            (found.recipe, of_use(found.url, found.purpose, request.uri()), shown)
        }
    };
    let is_head = request.method() == Method::HEAD;
    Ok(Visit { recipe, url, shown, asker, own, run: way.number(), is_head })
}

fn own_name(headers: &HeaderMap, port: u16) -> Result<String, Failure> {
    let own = loopback::own_name(headers, port).map(str::to_owned);
    own.ok_or_else(|| refused("the request was made for another host"))
}

fn session(
    bridge: &Bridge,
    headers: &HeaderMap,
    hostname: &Hostname,
    run: Option<RunNumber>,
) -> Result<Rc<Recipe>, Failure> {
    let given = headers.get(header::AUTHORIZATION).ok_or_else(|| without_session(hostname))?;
    let token = run::token_of(given.as_bytes(), run);
    let recipe = token.and_then(|token| bridge.sessions.find(&token, run, Instant::now()));
    recipe.filter(|recipe| recipe.hostname == *hostname).ok_or_else(|| {
        let what = format!("the bridge does not know this session for {hostname}");
        let hint = "is a TF_TOKEN_ variable or a credentials block set for it? then terraform asks no helper";
        Failure::new(FailureKind::Refused, what).hint(hint)
    })
}

/// Terraform goes on anonymously when its helper fails, and shows this in place of what the helper said.
fn without_session(hostname: &Hostname) -> Failure {
    let what = format!("no credential for {hostname}: its helper failed, or was not asked");
    Failure::new(FailureKind::Refused, what).hint("credmint status")
}

/// `TRACE` would show the credential to whoever has a session (RFC 9110 §9.3.8).
fn no_echo(method: &Method) -> Result<(), Failure> {
    if matches!(*method, Method::TRACE | Method::CONNECT) { Err(refused("nothing is traced here")) } else { Ok(()) }
}

fn permitted(found: &Capability, method: &Method) -> Result<(), Failure> {
    match found.purpose {
        purpose if purpose.permits(method) => Ok(()),
        Use::Upload => Err(refused("this address is for an upload")),
        Use::Download | Use::State | Use::Log => Err(refused("files are only read here")),
    }
}

/// Lets the reader of a log say from where; for all others the address is all there is.
fn of_use(mut url: Url, purpose: Use, asked: &Uri) -> Url {
    if purpose == Use::Log && asked.query().is_some() {
        url.set_query(asked.query());
    }
    url
}

fn upstream_url(hostname: &Hostname, path_and_query: &str) -> Result<Url, Failure> {
    let url = Url::parse(&format!("https://{hostname}{path_and_query}"));
    url.map_err(|_| refused("the path of the request is malformed"))
}

async fn forward(agent: &Rc<Agent>, visit: Visit, request: Request<Incoming>) -> Result<Response<Body>, Failure> {
    let start = Instant::now();
    let deadline = Deadline::after(start, CREDENTIAL_TIMEOUT);
    let entry = entry_for_now(agent, &visit.recipe, deadline).await?;
    agent.stay(visit.recipe.settings.agent.idle_exit);
    let upstream = upstream_of(agent, &entry)?;
    let patience = patience(visit.asker, request.method());
    let (parts, body) = request.into_parts();
    let request = Request::from_parts(outgoing(parts, &visit, &entry)?, body);
    let hostname = &visit.recipe.hostname;
    let answered = again::answer(&upstream, request, start + patience).await;
    let response = answered.ok_or_else(|| slow(hostname, patience))?;
    incoming(agent, &visit, &entry, response.map_err(|error| unreachable(hostname, &error))?).await
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
    let hostname = &entry.recipe.hostname;
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
fn outgoing(mut parts: Parts, visit: &Visit, entry: &Entry) -> Result<Parts, Failure> {
    drop_hop_by_hop(&mut parts.headers);
    parts.headers.remove(header::AUTHORIZATION);
    parts.headers.remove(header::HOST);
    if visit.asker != Asker::Files {
        // What is rewritten must be readable.
        parts.headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
    authorize(&mut parts.headers, entry)?;
    let query = visit.url.query().map(|query| format!("?{query}")).unwrap_or_default();
    let path = format!("{}{query}", visit.url.path());
    parts.uri = path.parse::<Uri>().map_err(|_| refused("the path of the request is malformed"))?;
    Ok(parts)
}

/// Puts the entry's token into a request, if it is one; a client identity is presented by TLS.
pub(crate) fn authorize(headers: &mut HeaderMap, entry: &Entry) -> Result<(), Failure> {
    let held = entry.held.get().ok_or_else(crate::failure::locked)?;
    if let Held::Token(token) = &*held {
        let value = HeaderValue::try_from(format!("Bearer {}", token.token.expose()));
        let mut value = value.map_err(|_| refused("the token has characters that no header may have"))?;
        value.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, value);
    }
    Ok(())
}

/// Makes the client's answer of the upstream's.
async fn incoming(
    agent: &Agent,
    visit: &Visit,
    entry: &Entry,
    response: Response<Incoming>,
) -> Result<Response<Body>, Failure> {
    let bridge = agent.bridge.as_ref().ok_or_else(|| refused("there is no bridge"))?;
    let rewriter = Rewriter {
        capabilities: &bridge.capabilities,
        recipe: &visit.recipe,
        base: visit.url.clone(),
        own: visit.own.clone(),
        run: visit.run,
    };
    let (mut parts, body) = response.into_parts();
    drop_hop_by_hop(&mut parts.headers);
    redirect(&mut parts, visit, &rewriter)?;
    if let Some(address) = reference(&parts.headers, &TERRAFORM_GET)? {
        let value = HeaderValue::try_from(rewriter.archive(address)?);
        parts.headers.insert(TERRAFORM_GET, value.map_err(|_| refused("the archive's address is malformed"))?);
    }
    if let (Some((subject, _)), true) = (&entry.facts.certificate, refusal::may_be_one(&parts)) {
        let page = collect(body, &visit.recipe.hostname).await?;
        let refusal = refusal::of_page(&page, &visit.recipe.hostname, subject);
        return refusal.map_or_else(|| Ok(Response::from_parts(parts, reply::body(page))), Err);
    }
    let Some(rewrite) = rewriting(&parts, visit) else {
        return Ok(Response::from_parts(parts, body.boxed_unsync()));
    };
    let json = collect(body, &visit.recipe.hostname).await?;
    let json = rewrite(&rewriter, &json)?.map_or(json, Bytes::from);
    parts.headers.insert(header::CONTENT_LENGTH, json.len().into());
    Ok(Response::from_parts(parts, reply::body(json)))
}

type Rewrite = fn(&Rewriter<'_>, &[u8]) -> Result<Option<Vec<u8>>, Failure>;

/// Tells the answers that carry URLs: `…/providers/…/download/OS/ARCH`, and the documents of a JSON:API.
fn rewriting(parts: &http::response::Parts, visit: &Visit) -> Option<Rewrite> {
    let kind = parts.headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let is_empty = parts.headers.get(header::CONTENT_LENGTH).is_some_and(|length| length == "0");
    let is_package = parts.status == StatusCode::OK
        && visit.asker == Asker::Providers
        && visit.url.path().contains("/download/")
        && kind.starts_with("application/json");
    let is_document =
        parts.status.is_success() && visit.asker != Asker::Files && kind.starts_with(json_api::MEDIA_TYPE);
    match () {
        () if visit.is_head || is_empty => None,
        () if is_package => Some(|rewriter, json| rewriter.package(json)),
        () if is_document => Some(|rewriter, json| rewriter.json_api(json)),
        () => None,
    }
}

/// Keeps a redirect inside the bridge; one to another host never meets a client that holds a token.
fn redirect(parts: &mut http::response::Parts, visit: &Visit, rewriter: &Rewriter<'_>) -> Result<(), Failure> {
    let Some(location) = reference(&parts.headers, &header::LOCATION)? else { return Ok(()) };
    let inside = match (visit.asker, rewriter.ours(location)) {
        (Asker::Files, Some(_)) => Some(rewriter.archive(location)?),
        (Asker::Files, None) => return Ok(()),
        (_, Some(_)) => rewriter.location(location),
        (_, None) if !parts.status.is_redirection() => return Ok(()),
        (_, None) => None,
    };
    let elsewhere = || {
        let what = format!("{} redirects its API to another host", visit.recipe.hostname);
        Failure::new(FailureKind::Refused, what)
            .hint("use that host's name in the configuration, with a route of its own")
    };
    let inside = inside.and_then(|inside| HeaderValue::try_from(inside).ok()).ok_or_else(elsewhere)?;
    parts.headers.insert(header::LOCATION, inside);
    Ok(())
}

/// Reads a header field that leads somewhere; clients follow what is not ASCII as well, so it is not passed over.
fn reference<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Failure> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    let text = std::str::from_utf8(value.as_bytes());
    text.map(Some).map_err(|_| refused("the upstream's answer leads to an address that is no text"))
}

async fn collect(body: Incoming, hostname: &Hostname) -> Result<Bytes, Failure> {
    let collected = Limited::new(body, MOST_JSON).collect().await;
    collected.map(http_body_util::Collected::to_bytes).map_err(|_| {
        let what = format!("{hostname} broke off its answer, or it is larger than 8 MiB");
        Failure::new(FailureKind::Unreachable, what).hint("run the command again")
    })
}

/// Removes what belongs to one connection (RFC 9110 §7.6.1).
fn drop_hop_by_hop(headers: &mut HeaderMap) {
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

fn refused(what: &str) -> Failure {
    Failure::new(FailureKind::Refused, what)
}

fn slow(hostname: &Hostname, patience: Duration) -> Failure {
    let what = format!("{hostname} did not begin to answer within {} s", patience.as_secs());
    Failure::new(FailureKind::Unreachable, what).hint("run the command again")
}

/// Says why no answer began.
pub(crate) fn unreachable(hostname: &Hostname, error: &HttpsError) -> Failure {
    let kind = match error {
        HttpsError::ClientCertificateRefused { .. } => FailureKind::Refused,
        _ => FailureKind::Unreachable,
    };
    Failure::new(kind, format!("{hostname}: {error}"))
        .hint(error.hint().unwrap_or_else(|| format!("credmint explain {hostname}")))
}

const TERRAFORM_GET: HeaderName = HeaderName::from_static("x-terraform-get");
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
const MOST_JSON: usize = 8 * 1024 * 1024;
const CREDENTIAL_TIMEOUT: Duration = Duration::from_secs(8);
/// The credential included; Terraform's own limit is ten seconds, and what it says then names no cause.
const REGISTRY_TIMEOUT: Duration = Duration::from_secs(9);
/// For files, which a server may have to make first, and for what is written; there Terraform has no limit.
const LONG_TIMEOUT: Duration = Duration::from_secs(60);
