//! The upstream's connector: TCP to one fixed address, through a tunnel if there is a proxy, then TLS.
//! The URI of a request comes in and is not believed: the address and the name are the settings'.
//! Dials out. RFC 9110 §9.3.6 (CONNECT), RFC 8305 (both address families).

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tower_service::Service;

use crate::resolver::Resolver;

/// What connecting may take before TLS begins.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// What the whole of a connection to the upstream may take, TLS included. Who waits for it gives up when their own patience ends:
/// that of a registry's client ends before, that of a download does not, and a server that is busy with downloads is no dead one.
const LONGEST: Duration = Duration::from_secs(20);
/// How long an unused connection is kept: past login and signing, and shorter than servers keep theirs, because a login
/// that meets a closed connection is not sent twice.
pub(crate) const IDLE: Duration = Duration::from_secs(20);

/// Any error of a layer below.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A connection that is being made.
pub(crate) type Connecting<T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send>>;

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
                Box::pin(within(CONNECT_TIMEOUT, async move { connecting.await.map_err(Into::into) }))
            }
            None => {
                let connecting = self.tcp.call(to);
                Box::pin(within(CONNECT_TIMEOUT, async move { connecting.await.map_err(Into::into) }))
            }
        }
    }
}

/// Bounds the time that TCP, tunnel and TLS take together, and how many connections are made at once.
#[derive(Clone, Debug)]
pub(crate) struct Bounded<C> {
    connector: C,
    turns: Arc<Semaphore>,
}

impl<C> Bounded<C> {
    /// Bounds a connector; its clones take turns with each other.
    pub(crate) fn new(connector: C) -> Self {
        Self { connector, turns: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

impl<C> Service<Uri> for Bounded<C>
where
    C: Service<Uri, Error = BoxError>,
    C::Response: Send + 'static,
    C::Future: Send + 'static,
{
    type Response = C::Response;
    type Error = BoxError;
    type Future = Connecting<Self::Response>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.connector.poll_ready(cx)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.connector.call(uri);
        let turns = Arc::clone(&self.turns);
        Box::pin(async move {
            // Its time begins with its turn: how long others take is no fault of the server's. Whoever asks has a deadline besides.
            let _turn = turns.acquire_owned().await?;
            within(LONGEST, connecting).await
        })
    }
}

async fn within<T>(time: Duration, connecting: impl Future<Output = Result<T, BoxError>>) -> Result<T, BoxError> {
    let late = || io::Error::new(io::ErrorKind::TimedOut, "connecting took too long");
    tokio::time::timeout(time, connecting).await.map_err(|_| late())?
}

/// How many connections to one server are made at once. A server has its share of work in each, and does it for all of them in turn:
/// of a hundred at once the last would take longer than one may.
const AT_ONCE: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::Mutex;

    /// Makes connections one after the other, as a server with one busy core does, each in a tenth of a second; or never.
    #[derive(Clone)]
    struct OneByOne(Arc<Mutex<()>>, bool);

    impl Service<Uri> for OneByOne {
        type Response = ();
        type Error = BoxError;
        type Future = Connecting<()>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Uri) -> Self::Future {
            let Self(core, answers) = self.clone();
            Box::pin(async move {
                let _core = core.lock().await;
                if !answers {
                    std::future::pending::<()>().await;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
                Ok(())
            })
        }
    }

    async fn outcomes(answers: bool, count: usize) -> Vec<Result<(), String>> {
        let bounded = Bounded::new(OneByOne(Arc::new(Mutex::new(())), answers));
        let mut all = tokio::task::JoinSet::new();
        for _ in 0..count {
            let connecting = bounded.clone().call(Uri::from_static("https://registry.corp.example/"));
            all.spawn(async { connecting.await.map_err(|error| error.to_string()) });
        }
        all.join_all().await
    }

    #[tokio::test(start_paused = true)]
    async fn a_crowd_takes_longer_than_one_may() {
        assert!(outcomes(true, 256).await.iter().all(Result::is_ok));
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_is_busy_may_take_longer_than_a_dead_one() {
        let busy = OneByOne(Arc::new(Mutex::new(())), true);
        let core = Arc::clone(&busy.0).lock_owned().await;
        let connecting = tokio::spawn(Bounded::new(busy).call(Uri::from_static("https://registry.corp.example/")));
        tokio::time::sleep(CONNECT_TIMEOUT * 2).await;
        drop(core);
        assert!(connecting.await.is_ok_and(|made| made.is_ok()));
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_is_never_made_is_given_up() {
        let start = tokio::time::Instant::now();
        assert_eq!(outcomes(false, 1).await, [Err("connecting took too long".to_owned())]);
        assert_eq!(start.elapsed(), LONGEST);
    }
}
