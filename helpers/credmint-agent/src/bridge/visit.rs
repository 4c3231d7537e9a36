//! What a request through the bridge has the right to: by a session token, or by an address that the bridge made up.
//! A request's head comes in, the upstream's URL and who asks go out; without a right, a refusal.
//! Sends nothing. `protocol-spec/bridge-protocol.md` §3.

use std::rc::Rc;
use std::time::Instant;

use bytes::Bytes;
use credmint_vocabulary::{Failure, FailureKind, Hostname};
use http::{HeaderMap, Method, Request, Uri, header};
use hyper::body::Incoming;
use url::Url;

use super::Bridge;
use super::capability::{Capability, Use};
use super::forward::refused;
use super::head;
use super::json_api;
use super::mirror::Asked;
use super::run::{self, Run, RunNumber, Way};
use super::target::{Asker, Target};
use crate::agent::Agent;
use crate::recipe::Recipe;

/// What a request has the right to.
pub(super) struct Visit {
    /// The host's route.
    pub(super) recipe: Rc<Recipe>,
    /// URL in the upstream's words.
    pub(super) url: Url,
    /// What of its path may be shown.
    pub(super) shown: String,
    /// Which client asks.
    pub(super) asker: Asker,
    /// Host and port by which the client reached us.
    pub(super) own: String,
    /// Whether the client reached the host by its own name, through a proxy: then nothing has to be rewritten.
    pub(super) is_by_its_name: bool,
    /// Whether the client's `Authorization` is its own, and no session's.
    pub(super) has_own_authorization: bool,
    /// The run of `credmint exec` that it came by.
    pub(super) run: Option<RunNumber>,
    /// Whether no body follows, whatever the header says.
    pub(super) is_head: bool,
    /// Who has the answer.
    pub(super) answered_by: AnsweredBy,
}

/// Who has the answer to a request.
pub(super) enum AnsweredBy {
    /// The upstream.
    Upstream,
    /// A mirror, in the words of a registry.
    Mirror(Rc<Run>, Asked),
    /// We ourselves.
    Us(Bytes),
}

/// Finds what a request has the right to.
pub(super) fn visit(
    agent: &Agent,
    way: &Way,
    target: Option<Target>,
    request: &Request<Incoming>,
) -> Result<Visit, Failure> {
    let bridge = agent.bridge.as_ref().ok_or_else(|| refused("there is no bridge"))?;
    let own = head::own_name(request.uri(), request.headers(), way.port)?;
    let target = target.ok_or_else(|| refused("the path of the request names no host"))?;
    agent.lock.check()?;
    let asker = asker(Some(&target), request.headers());
    let (recipe, url, shown, answered_by) = match target {
        Target::Api { hostname, path_and_query } => {
            no_echo(request.method())?;
            let recipe = session(bridge, request.headers(), &hostname, way.number())?;
            // The token of a registry that a mirror stands for opens the mirror alone.
            let recipe = Some(recipe).filter(|recipe| recipe.name == hostname);
            let recipe = recipe.ok_or_else(|| refused(&format!("{hostname} is no host of this run")))?;
            let url = upstream_url(&hostname, &path_and_query)?;
            let shown = url.path().to_owned();
            (recipe, url, shown, AnsweredBy::Upstream)
        }
        Target::Capability { hostname, segment } => {
            let found = bridge.capabilities.find(segment.as_bytes(), Instant::now());
            let found = found.filter(|found| found.recipe.name == hostname && found.run == way.number());
            let found = found.ok_or_else(|| refused("this address has ended; run the command again"))?;
            permitted(&found, request.method())?;
            let shown = if found.purpose == Use::Download { found.url.path() } else { "/.cap/" }.to_owned();
            let by = found.made.map_or(AnsweredBy::Upstream, AnsweredBy::Us);
            (found.recipe, of_use(found.url, found.purpose, request.uri()), shown, by)
        }
        Target::Mirror { hostname, asked } => {
            permits_reading(request.method())?;
            drop(session(bridge, request.headers(), &asked.registry, way.number())?);
            let run = way.run.clone().ok_or_else(|| refused("mirrors are for runs of `credmint exec`"))?;
            let mirror = run.mirrors.find(&hostname, &asked.registry).ok_or_else(|| no_mirror(&hostname, &asked))?;
            let url = mirror.base.join(&asked.document());
            let url = url.map_err(|_| refused("the path of the request is malformed"))?;
            let (recipe, shown) = (Rc::clone(&mirror.recipe), url.path().to_owned());
            (recipe, url, shown, AnsweredBy::Mirror(run, asked))
        }
    };
    let is_head = request.method() == Method::HEAD;
    Ok(Visit {
        recipe,
        url,
        shown,
        asker,
        own,
        is_by_its_name: false,
        has_own_authorization: false,
        run: way.number(),
        is_head,
        answered_by,
    })
}

/// Tells which of Terraform's clients asks.
pub(super) fn asker(target: Option<&Target>, headers: &HeaderMap) -> Asker {
    let accepts = || headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    match target.map_or(Asker::Files, Target::asker) {
        Asker::Modules if accepts().is_some_and(|types| types.starts_with(json_api::MEDIA_TYPE)) => Asker::Remote,
        asker => asker,
    }
}

fn session(
    bridge: &Bridge,
    headers: &HeaderMap,
    hostname: &Hostname,
    run: Option<RunNumber>,
) -> Result<Rc<Recipe>, Failure> {
    let given = head::authorization(headers)?.ok_or_else(|| without_session(hostname))?;
    let token = run::token_of(given.as_bytes(), run);
    let recipe = token.and_then(|token| bridge.sessions.find(&token, hostname, run, Instant::now()));
    recipe.ok_or_else(|| {
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

fn permits_reading(method: &Method) -> Result<(), Failure> {
    let reads = matches!(*method, Method::GET | Method::HEAD);
    if reads { Ok(()) } else { Err(refused("a mirror is only read here")) }
}

fn no_mirror(hostname: &Hostname, asked: &Asked) -> Failure {
    refused(&format!("{hostname} is no mirror of {} in this run", asked.registry))
}

/// Lets the reader of a log say from where; for all others the address is all there is.
fn of_use(mut url: Url, purpose: Use, asked: &Uri) -> Url {
    if purpose == Use::Log && asked.query().is_some() {
        url.set_query(asked.query());
    }
    url
}

pub(super) fn upstream_url(hostname: &Hostname, path_and_query: &str) -> Result<Url, Failure> {
    let url = Url::parse(&format!("https://{hostname}{path_and_query}"));
    let url = url.map_err(|_| refused("the path of the request is malformed"))?;
    head::stays_below(url.path())?;
    Ok(url)
}
