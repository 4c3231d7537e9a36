//! The bridge's listeners: one port on both loopback families, HTTP/1.1.
//! A port comes in, connections are served until the agent ends.
//! Binds loopback and nothing else; a port that somebody else holds is a failure.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use credmint_vocabulary::{Failure, FailureKind};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;

use super::forward;
use super::run::{Run, Way};
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
    let limit = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let serve = |(address, listener)| {
        let accepting = tokio::task::spawn_local(accept(Rc::clone(agent), listener, Arc::clone(&limit), run.cloned()));
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

async fn accept(agent: Rc<Agent>, listener: TcpListener, limit: Arc<Semaphore>, run: Option<Rc<Run>>) {
    loop {
        let Ok(permit) = Arc::clone(&limit).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) if loopback::is_crowded_out(&limit, MOST_CONNECTIONS, &stream) => {}
            Ok((stream, _)) => {
                tokio::task::spawn_local(serve(Rc::clone(&agent), stream, permit, run.clone()));
            }
            // Out of file descriptors, or the peer gave up: others still come.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn serve(agent: Rc<Agent>, stream: TcpStream, _permit: OwnedSemaphorePermit, run: Option<Rc<Run>>) {
    let _busy = Rc::clone(&agent.busy);
    let port = stream.local_addr().map_or(0, |address| address.port());
    let way = Way { port, run: run.clone() };
    let ends = stream.local_addr().ok().zip(stream.peer_addr().ok()).map(Ends);
    let service = service_fn(|mut request| {
        if let Some(ends) = ends {
            request.extensions_mut().insert(ends);
        }
        forward::answer(Rc::clone(&agent), way.clone(), request)
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(MOST_BUFFERED)
        .serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        // An error means that the client went away or spoke no HTTP: there is nobody to tell.
        _ = serving => {}
        // Locked: what is under way holds a credential.
        () = agent.lock.closing.notified() => {}
        // A run that has ended has nothing under way.
        () = ended(run.as_deref()) => {}
    }
}

async fn ended(run: Option<&Run>) {
    match run {
        Some(run) => run.over.notified().await,
        None => std::future::pending().await,
    }
}

const MOST_CONNECTIONS: usize = 256;
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// hyper reads up to as much again before it looks: a header of more than 64 KiB is never taken.
const MOST_BUFFERED: usize = 32 * 1024;
