//! The bridge's listeners: one port on both loopback families, HTTP/1.1.
//! A port comes in, connections are served until the agent ends.
//! Binds loopback and nothing else; a port that somebody else holds is a failure.

use std::cell::Cell;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use credmint_vocabulary::{Failure, FailureKind};
use http::{HeaderValue, Method, Request, Response, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::AbortHandle;

use super::places::Places;
use super::reply::Body;
use super::run::{Run, Way};
use super::{carrier, forward};
use crate::agent::Agent;
use crate::loopback;

/// The two addresses of a connection, ours first.
#[derive(Clone, Copy)]
pub(crate) struct Ends(pub(crate) (SocketAddr, SocketAddr));

/// Accepts connections on an address until it is dropped.
pub(super) struct Listening {
    /// Where.
    pub(super) address: SocketAddr,
    accepting: AbortHandle,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Listens on both loopback families and serves in the background; on both, or on none if somebody else holds one.
/// With a run of `credmint exec` they are for that alone.
pub(super) async fn listen(agent: &Rc<Agent>, port: u16, run: Option<&Rc<Run>>) -> Result<Vec<Listening>, Failure> {
    let bound = loopback::bind(port).await.map_err(|(address, error)| taken(address, &error))?;
    let places =
        Rc::new(Places::of(&agent.bridge.as_ref().map(|bridge| Rc::clone(&bridge.places)).unwrap_or_default()));
    let serve = |(address, listener)| {
        let accepting = tokio::task::spawn_local(accept(Rc::clone(agent), listener, Rc::clone(&places), run.cloned()));
        Listening { address, accepting: accepting.abort_handle() }
    };
    Ok(bound.into_iter().map(serve).collect())
}

fn taken(address: SocketAddr, error: &io::Error) -> Failure {
    let held = loopback::is_taken(error);
    let why = if held { "another program holds it".to_owned() } else { error.to_string() };
    let what = format!("the bridge cannot listen on {address}: {why}");
    let hint = "set another `port` in [bridge] of the settings, then run `credmint setup` for the host again";
    let failure = Failure::new(FailureKind::Settings, what).hint(hint);
    // Terraform goes on without its helper when it fetches modules: the other program would be asked (threat model, 3.1).
    if held { failure.usurped() } else { failure }
}

async fn accept(agent: Rc<Agent>, listener: TcpListener, places: Rc<Places>, run: Option<Rc<Run>>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) if places.crowd_out(&stream) => {}
            Ok((stream, _)) => {
                // Nobody holds a place who only listens: there may be many ports.
                let Some(place) = places.take().await else { return };
                tokio::task::spawn_local(serve(Rc::clone(&agent), stream, (Rc::clone(&places), place), run.clone()));
            }
            // Out of file descriptors, or the peer gave up: others still come.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn serve(
    agent: Rc<Agent>,
    stream: TcpStream,
    (places, place): (Rc<Places>, OwnedSemaphorePermit),
    run: Option<Rc<Run>>,
) {
    // A tunnel keeps the place when this connection has become one.
    let place = Arc::new(place);
    let _busy = Rc::clone(&agent.busy);
    let port = stream.local_addr().map_or(0, |address| address.port());
    let way = Way { port, run: run.clone() };
    // Where the system refuses, answers are late, and right.
    let _ = stream.set_nodelay(true);
    let ends = stream.local_addr().ok().zip(stream.peer_addr().ok()).map(Ends);
    let has_answered = Cell::new(false);
    let service = service_fn(|mut request| {
        if let Some(ends) = ends {
            request.extensions_mut().insert(ends);
        }
        let is_tunnel = request.method() == Method::CONNECT;
        let answering = answer(Rc::clone(&agent), way.clone(), Arc::clone(&place), request);
        let (places, has_answered) = (&places, &has_answered);
        async move {
            let mut answer = answering.await;
            has_answered.set(!is_tunnel);
            if let (Ok(answer), true) = (&mut answer, places.are_all_taken() && !is_tunnel) {
                answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            answer
        }
    });
    let serving = http().serve_connection(TokioIo::new(stream), service).with_upgrades();
    let mut serving = std::pin::pin!(serving);
    while_open(&agent, run.as_deref(), async {
        loop {
            tokio::select! {
                // An error means that the client went away or spoke no HTTP: there is nobody to tell.
                _ = serving.as_mut() => return,
                // A client that has had an answer connects again; one that is about to ask for the first time is not turned away.
                () = places.wanted() => {
                    if has_answered.get() {
                        serving.as_mut().graceful_shutdown();
                    }
                }
            }
        }
    })
    .await;
}

/// Answers a request, or makes a tunnel of its connection.
async fn answer(
    agent: Rc<Agent>,
    way: Way,
    place: Arc<OwnedSemaphorePermit>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    match &way.run {
        Some(run) if request.method() == Method::CONNECT && run.carrier.get().is_some() => {
            Ok(carrier::connect(agent, Rc::clone(run), way.port, place, request).await)
        }
        _ => forward::answer(agent, way, request).await,
    }
}

/// Says how HTTP is spoken here.
pub(super) fn http() -> http1::Builder {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT).max_buf_size(MOST_BUFFERED);
    http
}

/// Does something until it is done, or has to end.
pub(super) async fn while_open(agent: &Agent, run: Option<&Run>, something: impl Future) {
    let run_ends = async {
        match run {
            Some(run) => run.ended().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = something => {}
        // Locked: what is under way holds a credential.
        () = agent.lock.closing.notified() => {}
        // A run that has ended has nothing under way.
        () = run_ends => {}
    }
}

const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// hyper reads up to as much again before it looks: a header of more than 64 KiB is never taken.
const MOST_BUFFERED: usize = 32 * 1024;
