//! The port where numbers are read: `GET /metrics`, on both loopback families.
//! A port and its hosts come in, connections are served until it is dropped.
//! Serves no browser and nothing that a name led here by mistake; keeps no agent alive.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use crate::agent::Agent;
use crate::bridge::is_of_a_program;
use crate::loopback;

/// Answers at an address until it is dropped.
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

/// Serves in the background.
pub(super) fn serve(agent: &Rc<Agent>, bound: Vec<(SocketAddr, TcpListener)>) -> Vec<Listening> {
    let limit = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let serve = |(address, listener)| {
        let accepting = tokio::task::spawn_local(accept(Rc::clone(agent), listener, Arc::clone(&limit)));
        Listening { address, accepting: accepting.abort_handle() }
    };
    bound.into_iter().map(serve).collect()
}

async fn accept(agent: Rc<Agent>, listener: TcpListener, limit: Arc<Semaphore>) {
    loop {
        let Ok(permit) = Arc::clone(&limit).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::task::spawn_local(one(Rc::clone(&agent), stream, permit))),
            // Out of file descriptors, or the peer gave up: others still come.
            Err(_) => sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn one(agent: Rc<Agent>, stream: TcpStream, _permit: OwnedSemaphorePermit) {
    let port = stream.local_addr().map_or(0, |address| address.port());
    let service = service_fn(async |request| Ok::<_, Infallible>(answer(&agent, port, &request)));
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(MOST_BUFFERED)
        .serve_connection(TokioIo::new(stream), service);
    // Whoever reads slowly has one of few places.
    drop(timeout(LONGEST_CONNECTION, serving).await);
}

fn answer(agent: &Agent, port: u16, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let headers = request.headers();
    let is_foreign = loopback::own_name(headers, port).is_none() || is_of_a_program(headers).is_err();
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    match request.uri().path() {
        _ if is_foreign => refused(StatusCode::FORBIDDEN),
        "/metrics" if reads => {
            let mut response = Response::new(Full::from(agent.metrics.page(agent, port)));
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(TYPE));
            response
        }
        "/metrics" => refused(StatusCode::METHOD_NOT_ALLOWED),
        _ => refused(StatusCode::NOT_FOUND),
    }
}

fn refused(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}

const TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";
const MOST_CONNECTIONS: usize = 16;
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
const LONGEST_CONNECTION: Duration = Duration::from_secs(300);
const MOST_BUFFERED: usize = 16 * 1024;
