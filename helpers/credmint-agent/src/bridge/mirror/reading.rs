//! Reading from a mirror: its documents and, where nothing else tells their sum, its archives.
//! An address at the mirror comes in, what stands there goes out, redirects within the host followed.
//! Sends the entry's credential to its own host and nowhere else.

use std::fmt::Display;
use std::time::{Duration, Instant};

use credmint_https::Upstream;
use credmint_vocabulary::{Failure, FailureKind, RouteName};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use tokio::time::timeout_at;
use url::Url;

use crate::agent::Agent;
use crate::bridge::forward::{authorize, refused, slow, unreachable};
use crate::bridge::incoming::{reference, room};
use crate::bridge::rewrite::ours;
use crate::bridge::room::Document;
use crate::bridge::sending::Late;
use crate::bridge::{again, refusal};
use crate::entries::Entry;
use crate::get::Pair;

/// Knows whom to ask, and as whom.
pub(in crate::bridge) struct Reading<'a> {
    entry: &'a Entry,
    upstream: &'a Upstream,
    headers: HeaderMap,
    start: Instant,
    agent: &'a Agent,
}

impl<'a> Reading<'a> {
    /// Begins to read for a client, of whose header only its name and version go on.
    pub(in crate::bridge) fn of(
        pair: &'a Pair,
        upstream: &'a Upstream,
        client: &HeaderMap,
        start: Instant,
        agent: &'a Agent,
    ) -> Result<Self, Failure> {
        let kept = [header::USER_AGENT, HeaderName::from_static("x-terraform-version")];
        let kept = kept.into_iter().filter_map(|name| Some((name.clone(), client.get(name)?.clone())));
        let mut headers: HeaderMap = kept.collect();
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        authorize(&mut headers, pair)?;
        Ok(Self { entry: &pair.first, upstream, headers, start, agent })
    }

    /// Gives the host that is read from.
    pub(super) fn hostname(&self) -> &RouteName {
        &self.entry.recipe.name
    }

    /// Reads a document, and tells where it was found in the end; or the status, if there is none.
    pub(super) async fn document(&self, url: Url) -> Result<Result<(Url, Document), StatusCode>, Failure> {
        // All of it: one that stops in the middle is as late as one that does not begin.
        let read = timeout_at((self.start + PATIENCE).into(), self.whole(url)).await;
        read.map_err(|_| slow(self.hostname(), Late::Upstream, PATIENCE))?
    }

    async fn whole(&self, url: Url) -> Result<Result<(Url, Document), StatusCode>, Failure> {
        let (url, response) = self.get(url, PATIENCE).await?;
        let (parts, body) = response.into_parts();
        let collected = room(self.agent)?.collect(body, self.hostname(), self.start + PATIENCE);
        if parts.status == StatusCode::OK {
            return Ok(Ok((url, collected.await?)));
        }
        if let (Some((subject, _)), true) = (&self.entry.facts.certificate, refusal::may_be_one(&parts)) {
            let page = collected.await?;
            return refusal::of_page(&page.bytes, self.hostname(), subject).map_or(Ok(Err(parts.status)), Err);
        }
        Ok(Err(parts.status))
    }

    /// Asks for what stands at an address, from the beginning of the client's question for no longer than it waits.
    pub(super) async fn get(&self, mut url: Url, patience: Duration) -> Result<(Url, Response<Incoming>), Failure> {
        for _ in 0..MOST_REDIRECTS {
            let told = || self.agent.metrics.counts.retry(&self.hostname().to_string());
            let answered = again::read(self.upstream, &self.request(&url)?, self.start + patience, told).await;
            let response = answered.ok_or_else(|| slow(self.hostname(), Late::Upstream, patience))?;
            let response = response.map_err(|error| unreachable(self.hostname(), &error))?;
            if !response.status().is_redirection() {
                return Ok((url, response));
            }
            let location = reference(response.headers(), &header::LOCATION)?.unwrap_or_default();
            url = ours(&self.entry.recipe, &url, location).ok_or_else(|| elsewhere(self.hostname()))?;
        }
        Err(Failure::new(FailureKind::Refused, format!("{} redirects again and again", self.hostname())))
    }

    fn request(&self, url: &Url) -> Result<http::request::Parts, Failure> {
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let request = Request::get(format!("{}{query}", url.path())).body(());
        let (mut parts, ()) = request.map_err(|_| refused("the path of the mirror is malformed"))?.into_parts();
        parts.headers = self.headers.clone();
        Ok(parts)
    }
}

fn elsewhere(mirror: &impl Display) -> Failure {
    Failure::new(FailureKind::Refused, format!("the mirror {mirror} redirects to another host"))
        .hint("name that host in network_mirror, with a route of its own")
}

/// Terraform's own limit.
const MOST_REDIRECTS: usize = 5;
/// As for every API: Terraform itself waits for ten seconds.
const PATIENCE: Duration = Duration::from_secs(9);
