//! The proxy carrier of a run: `CONNECT` at the run's port, for programs that take no address of ours.
//! A request for a tunnel comes in; one to a host of the run is opened, every other is passed through unseen.
//! Lets in nobody without the run's own password, and never leads back to itself. `protocol-spec/bridge-protocol.md` §10.

mod authority;
mod blind;
mod inside;
mod place;

use std::rc::Rc;
use std::sync::Arc;

use credmint_https::ProxyOfCaller;
use credmint_local_machine::clock;
use credmint_vocabulary::{Failure, Hostname, NoProxy};
use http::{HeaderMap, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::upgrade::{self, OnUpgrade};
use tokio::sync::OwnedSemaphorePermit;

use self::authority::RunAuthority;
use self::place::Place;
use super::forward::refused;
use super::head;
use super::listen::while_open;
use super::reply::{self, Body};
use super::run::{Run, token_of};
use crate::agent::Agent;

/// How tunnels to other hosts leave: as those of the caller did.
#[derive(Default)]
pub(crate) struct WayOut {
    /// The caller's proxy.
    pub(crate) proxy: Option<ProxyOfCaller>,
    /// Whom it is not asked for.
    pub(crate) no_proxy: NoProxy,
}

/// Makes a proxy of a run's port.
pub(super) struct Carrier {
    hosts: Vec<Hostname>,
    authority: RunAuthority,
    way_out: WayOut,
}

impl Carrier {
    /// Makes one with an authority of its own, which vouches for these hosts alone.
    pub(super) fn new(hosts: Vec<Hostname>, way_out: WayOut, port: u16) -> Result<Self, Failure> {
        let authority = RunAuthority::new(&hosts, port, clock::now())?;
        Ok(Self { hosts, authority, way_out })
    }

    /// Lends the authority's certificate.
    pub(super) fn certificate_pem(&self) -> &str {
        self.authority.certificate_pem()
    }

    fn host(&self, place: &Place) -> Option<&Hostname> {
        self.hosts.iter().find(|host| Place::of_host(host) == *place)
    }
}

/// What a tunnel is made of.
struct Tunnel {
    agent: Rc<Agent>,
    run: Rc<Run>,
    port: u16,
    place: Place,
    /// Counts it, as long as it lasts.
    _permit: Arc<OwnedSemaphorePermit>,
}

/// Makes a tunnel of a connection, or says why not.
pub(super) async fn connect(
    agent: Rc<Agent>,
    run: Rc<Run>,
    port: u16,
    permit: Arc<OwnedSemaphorePermit>,
    mut request: Request<Incoming>,
) -> Response<Body> {
    let (upgrade, place) = match admitted(&agent, &run, &request) {
        Ok(place) => (upgrade::on(&mut request), place),
        Err(answer) => return *answer,
    };
    let tunnel = Tunnel { agent, run, port, place, _permit: permit };
    match tunnel.begin(upgrade).await {
        Ok(()) => Response::new(reply::body("")),
        Err(failure) => tunnel_failed(&failure),
    }
}

/// Finds where a tunnel is to lead, for whoever may have one.
fn admitted(agent: &Agent, run: &Run, request: &Request<Incoming>) -> Result<Place, Box<Response<Body>>> {
    let refuse = |failure: Failure| Box::new(reply::no_tunnel(StatusCode::FORBIDDEN, &failure));
    agent.lock.check().map_err(refuse)?;
    head::is_of_a_program(request.headers()).map_err(refuse)?;
    if !proves_itself(agent, run, request.headers()) {
        return Err(Box::new(reply::wants_proof()));
    }
    let place = request.uri().authority().and_then(|authority| Place::of(authority.as_str()));
    place.ok_or_else(|| refuse(refused("the tunnel is to no host and port")))
}

fn proves_itself(agent: &Agent, run: &Run, headers: &HeaderMap) -> bool {
    let token =
        headers.get(header::PROXY_AUTHORIZATION).and_then(|field| token_of(field.as_bytes(), Some(run.number())));
    let sessions = agent.bridge.as_ref().map(|bridge| &bridge.sessions);
    token.zip(sessions).is_some_and(|(token, sessions)| sessions.is_of_proxy(&token, run.number()))
}

fn tunnel_failed(failure: &Failure) -> Response<Body> {
    reply::no_tunnel(StatusCode::BAD_GATEWAY, failure)
}

impl Tunnel {
    /// Prepares the other end, and goes on in the background once the answer is out.
    async fn begin(self, upgrade: OnUpgrade) -> Result<(), Failure> {
        let carrier = self.run.carrier.get().ok_or_else(|| refused("there is no proxy"))?;
        if let Some(host) = carrier.host(&self.place).cloned() {
            let server = carrier.authority.server(&host, clock::now())?;
            let inside = async move |tunnel: &Self| inside::serve(tunnel, host, server, upgrade).await;
            tokio::task::spawn_local(async move { while_open(&self.agent, Some(&self.run), inside(&self)).await });
            return Ok(());
        }
        let there = blind::dial(&self.place, &carrier.way_out, self.port).await?;
        tokio::task::spawn_local(async move {
            while_open(&self.agent, Some(&self.run), blind::pass(upgrade, there)).await;
        });
        Ok(())
    }
}
