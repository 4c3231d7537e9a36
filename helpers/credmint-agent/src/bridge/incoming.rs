//! What comes back through the bridge: the upstream's answer, with the addresses in it that lead through the bridge again.
//! An upstream's answer comes in, the client's goes out, streamed but for what is rewritten.
//! Sends nothing, and follows nothing. `protocol-spec/bridge-protocol.md` §5 and §6.

use std::cell::Cell;
use std::time::Instant;

use credmint_vocabulary::{Failure, FailureKind};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;

use super::arriving;
use super::forward::{drop_hop_by_hop, refused};
use super::json_api;
use super::refusal;
use super::reply::Body;
use super::rewrite::Rewriter;
use super::room::Room;
use super::target::Asker;
use super::visit::Visit;
use crate::agent::Agent;
use crate::entries::Entry;

/// Makes the client's answer of the upstream's.
pub(super) async fn incoming(
    agent: &Agent,
    visit: &Visit,
    entry: &Entry,
    response: Response<Incoming>,
    until: Instant,
) -> Result<Response<Body>, Failure> {
    let rewriter = rewriter(agent, visit)?;
    let room = room(agent)?;
    let (mut parts, body) = arriving::accept(response, visit.recipe.host()?)?;
    drop_hop_by_hop(&mut parts.headers);
    if !visit.is_by_its_name {
        lead_through_us(&mut parts, visit, &rewriter)?;
    }
    if let (Some((subject, _)), true) = (&entry.facts.certificate, refusal::may_be_one(&parts)) {
        let page = room.collect(body, &visit.recipe.name, until).await?;
        let refusal = refusal::of_page(&page.bytes, &visit.recipe.name, subject);
        return refusal.map_or_else(|| Ok(Response::from_parts(parts, page.body(None))), Err);
    }
    let Some(rewrite) = rewriting(&parts, visit) else {
        return Ok(Response::from_parts(parts, body.boxed_unsync()));
    };
    if visit.is_head {
        // That of the document as it is there; nobody knows how long it will be here.
        parts.headers.remove(header::CONTENT_LENGTH);
        return Ok(Response::from_parts(parts, body.boxed_unsync()));
    }
    let json = room.collect(body, &visit.recipe.name, until).await?;
    let made = rewrite(&rewriter, &json.bytes)?;
    let length = made.as_ref().map_or(json.bytes.len(), Vec::len);
    parts.headers.insert(header::CONTENT_LENGTH, length.into());
    Ok(Response::from_parts(parts, json.body(made)))
}

/// Prepares what makes addresses for the answer to a visit.
pub(super) fn rewriter<'a>(agent: &'a Agent, visit: &'a Visit) -> Result<Rewriter<'a>, Failure> {
    let bridge = agent.bridge.as_ref().ok_or_else(|| refused("there is no bridge"))?;
    let (base, own) = (visit.url.clone(), visit.own.clone());
    let given = Cell::default();
    Ok(Rewriter { capabilities: &bridge.capabilities, recipe: &visit.recipe, base, own, run: visit.run, given })
}

/// Rewrites the addresses in the header.
fn lead_through_us(parts: &mut http::response::Parts, visit: &Visit, rewriter: &Rewriter<'_>) -> Result<(), Failure> {
    redirect(parts, visit, rewriter)?;
    if let Some(address) = reference(&parts.headers, &TERRAFORM_GET)? {
        let value = HeaderValue::try_from(rewriter.archive(address)?);
        parts.headers.insert(TERRAFORM_GET, value.map_err(|_| refused("the archive's address is malformed"))?);
    }
    Ok(())
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
        () if visit.is_by_its_name || is_empty => None,
        () if is_package => Some(|rewriter, json| rewriter.package(json)),
        () if is_document => Some(|rewriter, json| rewriter.json_api(json)),
        () => None,
    }
}

/// Keeps a redirect inside the bridge; one to another host never meets a client that holds a token.
fn redirect(parts: &mut http::response::Parts, visit: &Visit, rewriter: &Rewriter<'_>) -> Result<(), Failure> {
    let Some(location) = reference(&parts.headers, &header::LOCATION)? else { return Ok(()) };
    let inside = match (visit.asker, rewriter.ours(location)) {
        (Asker::Files, Some(url)) => Some(rewriter.file(url)?),
        (Asker::Files, None) => return Ok(()),
        (_, Some(_)) => rewriter.location(location),
        (_, None) if !parts.status.is_redirection() => return Ok(()),
        (_, None) => None,
    };
    let elsewhere = || {
        let what = format!("{} redirects its API to another host", visit.recipe.name);
        Failure::new(FailureKind::Refused, what)
            .hint("use that host's name in the configuration, with a route of its own")
    };
    let inside = inside.and_then(|inside| HeaderValue::try_from(inside).ok()).ok_or_else(elsewhere)?;
    parts.headers.insert(header::LOCATION, inside);
    Ok(())
}

/// Reads a header field that leads somewhere; clients follow what is not ASCII as well, so it is not passed over.
pub(super) fn reference<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Failure> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    let text = std::str::from_utf8(value.as_bytes());
    text.map(Some).map_err(|_| refused("the upstream's answer leads to an address that is no text"))
}

/// Gives the room for documents.
pub(super) fn room(agent: &Agent) -> Result<&Room, Failure> {
    agent.bridge.as_ref().map(|bridge| &bridge.room).ok_or_else(|| refused("there is no bridge"))
}

const TERRAFORM_GET: HeaderName = HeaderName::from_static("x-terraform-get");
