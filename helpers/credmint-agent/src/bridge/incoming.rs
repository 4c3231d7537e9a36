//! What comes back through the bridge: the upstream's answer, with the addresses in it that lead through the bridge again.
//! An upstream's answer comes in, the client's goes out, streamed but for what is rewritten.
//! Sends nothing, and follows nothing. `protocol-spec/bridge-protocol.md` §5 and §6.

use std::cell::Cell;
use std::fmt::Display;

use bytes::Bytes;
use credmint_vocabulary::{Failure, FailureKind};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;

use super::arriving;
use super::forward::{drop_hop_by_hop, refused};
use super::json_api;
use super::refusal;
use super::reply::{self, Body, BodyError};
use super::rewrite::Rewriter;
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
) -> Result<Response<Body>, Failure> {
    let rewriter = rewriter(agent, visit)?;
    let (mut parts, body) = arriving::accept(response, visit.recipe.host()?)?;
    drop_hop_by_hop(&mut parts.headers);
    if !visit.is_by_its_name {
        lead_through_us(&mut parts, visit, &rewriter)?;
    }
    if let (Some((subject, _)), true) = (&entry.facts.certificate, refusal::may_be_one(&parts)) {
        let page = collect(body, &visit.recipe.name).await?;
        let refusal = refusal::of_page(&page, &visit.recipe.name, subject);
        return refusal.map_or_else(|| Ok(Response::from_parts(parts, reply::body(page))), Err);
    }
    let Some(rewrite) = rewriting(&parts, visit) else {
        return Ok(Response::from_parts(parts, body.boxed_unsync()));
    };
    if visit.is_head {
        // That of the document as it is there; nobody knows how long it will be here.
        parts.headers.remove(header::CONTENT_LENGTH);
        return Ok(Response::from_parts(parts, body.boxed_unsync()));
    }
    let json = collect(body, &visit.recipe.name).await?;
    let json = rewrite(&rewriter, &json)?.map_or(json, Bytes::from);
    parts.headers.insert(header::CONTENT_LENGTH, json.len().into());
    Ok(Response::from_parts(parts, reply::body(json)))
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

/// Reads a whole answer, up to a limit.
pub(super) async fn collect<B>(body: B, hostname: &impl Display) -> Result<Bytes, Failure>
where
    B: hyper::body::Body,
    B::Error: Into<BodyError>,
{
    let collected = Limited::new(body, MOST_JSON).collect().await;
    collected.map(http_body_util::Collected::to_bytes).map_err(|_| {
        let what = format!("{hostname} broke off its answer, or it is larger than 8 MiB");
        Failure::new(FailureKind::Unreachable, what).hint("run the command again")
    })
}

const TERRAFORM_GET: HeaderName = HeaderName::from_static("x-terraform-get");
const MOST_JSON: usize = 8 * 1024 * 1024;
