//! The upstream's connector: TCP to one fixed address, through a tunnel if there is a proxy, then TLS.
//! The URI of a request comes in and is not believed: the address and the name are the settings'.
//! Dials out. RFC 9110 §9.3.6 (CONNECT), RFC 8305 (both address families).

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderValue, Uri};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use crate::resolver::Resolver;

/// What connecting may take, TLS included.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an unused connection is kept: past login and signing, and shorter than servers keep theirs, because a login
/// that meets a closed connection is not sent twice.
pub(crate) const IDLE: Duration = Duration::from_secs(20);

/// Any error of a layer below.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

type Connecting<T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send>>;

/// Makes TCP connections to one address.
#[derive(Clone, Debug)]
pub(crate) struct Dial {
    to: Uri,
    tcp: HttpConnector<Resolver>,
    tunnel: Option<Tunnel<HttpConnector<Resolver>>>,
}

impl Dial {
    /// Dials `to`, or asks `proxy` to do so; both have host and port.
    pub(crate) fn new(to: Uri, proxy: Option<Uri>) -> Self {
        let mut tcp = HttpConnector::new_with_resolver(Resolver);
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        tcp.set_nodelay(true);
        let tunnel = proxy.map(|proxy| Tunnel::new(proxy, tcp.clone()));
        Self { to, tcp, tunnel }
    }

    /// Shows the proxy who asks.
    pub(crate) fn proving(mut self, authorization: HeaderValue) -> Self {
        self.tunnel = self.tunnel.map(|tunnel| tunnel.with_auth(authorization));
        self
    }
}

impl Service<Uri> for Dial {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Connecting<Self::Response>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let to = self.to.clone();
        match &mut self.tunnel {
            Some(tunnel) => {
                let connecting = tunnel.call(to);
                Box::pin(async move { connecting.await.map_err(Into::into) })
            }
            None => {
                let connecting = self.tcp.call(to);
                Box::pin(async move { connecting.await.map_err(Into::into) })
            }
        }
    }
}

/// Bounds the time that TCP, tunnel and TLS take together.
#[derive(Clone, Debug)]
pub(crate) struct Bounded(pub(crate) HttpsConnector<Dial>);

impl Service<Uri> for Bounded {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = BoxError;
    type Future = Connecting<Self::Response>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.0.call(uri);
        Box::pin(async move {
            let late = || io::Error::new(io::ErrorKind::TimedOut, "connecting took too long");
            tokio::time::timeout(CONNECT_TIMEOUT, connecting).await.map_err(|_| late())?
        })
    }
}
