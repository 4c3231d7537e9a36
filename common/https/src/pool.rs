//! The upstream's connections, and the trust that they were made with.
//! A trust comes in, the client for one request goes out; when the anchors change on disk, a new one.
//! Reads the file of anchors at most every two seconds. What is under way over older connections ends as it began.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use credmint_vocabulary::Hostname;
use http_body_util::combinators::UnsyncBoxBody;
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use crate::ahead::DialAhead;
use crate::dial::{Bounded, BoxError, Dial, IDLE};
use crate::error::HttpsError;
use crate::roots::{Ground, Roots};
use crate::tls::{self, Presented};
use crate::trust::Trust;

type Connections = Client<Bounded<HttpsConnector<DialAhead>>, UnsyncBoxBody<Bytes, BoxError>>;

/// Keeps connections to one server.
pub(crate) struct Pool {
    roots: Roots,
    dial: Dial,
    name: ServerName<'static>,
    trust: Trust,
    current: Mutex<Current>,
}

/// Connections that were judged by the same anchors.
struct Current {
    client: Connections,
    presented: Arc<Presented>,
    ground: Ground,
    looked: Instant,
}

impl Pool {
    /// Prepares connections; opens none yet.
    pub(crate) fn new(roots: Roots, dial: Dial, name: Hostname, trust: Trust) -> Result<Self, HttpsError> {
        let name = server_name(&name)?;
        let ground = roots.ground(&trust)?;
        let (client, presented) = connections(&dial, &name, &trust, &ground)?;
        let current = Mutex::new(Current { client, presented, ground, looked: Instant::now() });
        Ok(Self { roots, dial, name, trust, current })
    }

    /// Gives what the next request goes over, and looks now and then whether the anchors have changed.
    pub(crate) fn now(&self, now: Instant) -> (Connections, Arc<Presented>) {
        let mut current = self.current();
        if now.saturating_duration_since(current.looked) >= BETWEEN_LOOKS {
            current.looked = now;
            self.look(&mut current);
        }
        (current.client.clone(), Arc::clone(&current.presented))
    }

    /// Tells whether the server asked for a client certificate.
    pub(crate) fn was_asked(&self) -> bool {
        self.current().presented.was_asked()
    }

    /// Begins anew with other anchors; those that cannot be used change nothing.
    fn look(&self, current: &mut Current) {
        let Ok(ground) = self.roots.ground(&self.trust) else { return };
        if ground == current.ground {
            return;
        }
        if let Ok((client, presented)) = connections(&self.dial, &self.name, &self.trust, &ground) {
            *current = Current { client, presented, ground, looked: current.looked };
        }
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn connections(
    dial: &Dial,
    name: &ServerName<'static>,
    trust: &Trust,
    ground: &Ground,
) -> Result<(Connections, Arc<Presented>), HttpsError> {
    let (tls, presented) = tls::configuration(ground.store(trust)?, trust)?;
    Ok((client(connector(dial.clone(), tls, name.clone())), presented))
}

fn server_name(name: &Hostname) -> Result<ServerName<'static>, HttpsError> {
    let bare = name.name().trim_start_matches('[').trim_end_matches(']').to_owned();
    let refuse =
        |_| HttpsError::Address { address: name.to_string(), why: "it is no name that a certificate can have" };
    ServerName::try_from(bare).map_err(refuse)
}

fn connector(dial: Dial, tls: ClientConfig, name: ServerName<'static>) -> Bounded<HttpsConnector<DialAhead>> {
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
        .with_server_name_resolver(FixedServerNameResolver::new(name))
        // One connection for each download that is under way: in HTTP/2 they would share one, and a window in it.
        .enable_http1()
        .wrap_connector(DialAhead(dial));
    Bounded::new(connector)
}

fn client(connector: Bounded<HttpsConnector<DialAhead>>) -> Connections {
    Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(MOST_AT_REST)
        .http1_max_buf_size(MOST_WAITING)
        .build(connector)
}

/// As many as a crowded run has downloads: each that is kept saves the next request a handshake.
const MOST_AT_REST: usize = 64;
/// What is read of an answer before the client takes it, for each connection. A head that is larger is no answer to the bridge, either.
const MOST_WAITING: usize = 64 * 1024;
/// How long a change of the anchors may go unnoticed.
const BETWEEN_LOOKS: Duration = Duration::from_secs(2);
