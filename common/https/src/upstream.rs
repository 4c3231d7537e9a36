//! The bridge's other side: one fixed server, reached with one client identity, streamed both ways.
//! A request for a path comes in, the server's answer goes out as it arrives.
//! Dials out. Address, name and client certificate belong together and are swapped together: a new identity, a new upstream.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use credmint_vocabulary::Hostname;
use http::header::HOST;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Request, Response, Uri};
use http_body::Body;
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use hyper_rustls::FixedServerNameResolver;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use url::Url;

use crate::address::Address;
use crate::client::Https;
use crate::dial::{Bounded, BoxError, Dial, IDLE};
use crate::error::HttpsError;
use crate::explain::explain;
use crate::roots;
use crate::tls::{self, Presented};
use crate::trust::{self, Trust};

/// Says where the bridge goes, and as whom.
#[derive(Clone, Debug)]
pub struct UpstreamTarget {
    /// Where to connect; a path is put before the path of every request.
    pub address: Url,
    /// The name that the server must prove, that TLS asks for (SNI) and that stands in `Host`.
    pub server_name: Hostname,
    /// Trust anchors, proxy and client identity.
    pub trust: Trust,
}

/// Holds the connections to one server.
#[derive(Clone)]
pub struct Upstream {
    client: Client<Bounded, UnsyncBoxBody<Bytes, BoxError>>,
    scheme: Scheme,
    authority: Authority,
    prefix: String,
    peer: String,
    presented: Arc<Presented>,
}

impl Https {
    /// Prepares an upstream; opens nothing yet.
    ///
    /// # Errors
    /// An address, a file of trust anchors, a proxy or an identity that cannot be used.
    pub fn upstream(&self, target: UpstreamTarget) -> Result<Upstream, HttpsError> {
        let address = Address::of(&target.address)?;
        let ca = roots::read(&target.trust)?;
        let anchors = self.roots().of(&target.trust, ca.as_deref())?;
        let (tls, presented) = tls::configuration(anchors, target.trust.client.as_deref())?;
        let proxy = target.trust.proxy.as_deref().filter(|_| !address.loopback).map(trust::proxy).transpose()?;
        let dial = Dial::new(place(&address.peer)?, proxy.as_ref().map(|url| place(&host_port(url))).transpose()?);
        let unusable = |why| HttpsError::Address { address: target.server_name.to_string(), why };
        Ok(Upstream {
            client: client(connector(dial, tls, &target.server_name)?),
            scheme: if address.tls { Scheme::HTTPS } else { Scheme::HTTP },
            authority: target.server_name.as_str().parse().map_err(|_| unusable("it is no authority of a URL"))?,
            prefix: target.address.path().trim_end_matches('/').to_owned(),
            peer: shown(&target.server_name, &address.peer),
            presented,
        })
    }
}

impl Upstream {
    /// Sends a request; of its URI only path and query count.
    ///
    /// # Errors
    /// Why no answer began. A body that breaks off later is told by the body.
    pub async fn request<B>(&self, mut request: Request<B>) -> Result<Response<Incoming>, HttpsError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        *request.uri_mut() = self.uri(request.uri())?;
        request.headers_mut().remove(HOST);
        *request.version_mut() = http::Version::HTTP_11;
        let request = request.map(|body| body.map_err(Into::into).boxed_unsync());
        let failed =
            |error: hyper_util::client::legacy::Error| explain(&self.peer, &error, error.is_connect(), &self.presented);
        let response = self.client.request(request).await.map_err(failed)?;
        self.presented.answered();
        Ok(response)
    }

    /// Tells whether the server asked for a client certificate, on any of the connections so far.
    #[must_use]
    pub fn asked_for_certificate(&self) -> bool {
        self.presented.was_asked()
    }

    /// Puts our scheme, authority and prefix before the path of a request.
    fn uri(&self, asked: &Uri) -> Result<Uri, HttpsError> {
        let refuse = |why| HttpsError::Address { address: self.peer.clone(), why };
        let path = asked.path_and_query().map_or("/", PathAndQuery::as_str);
        let path = if path.starts_with('/') { path } else { "/" };
        let builder = Uri::builder().scheme(self.scheme.clone()).authority(self.authority.clone());
        let built = builder.path_and_query(format!("{}{path}", self.prefix)).build();
        built.map_err(|_| refuse("the path of the request is no path of a URL"))
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Upstream({})", self.peer)
    }
}

fn connector(dial: Dial, tls: ClientConfig, name: &Hostname) -> Result<Bounded, HttpsError> {
    let bare = name.name().trim_start_matches('[').trim_end_matches(']').to_owned();
    let refuse =
        |_| HttpsError::Address { address: name.to_string(), why: "it is no name that a certificate can have" };
    let name = ServerName::try_from(bare).map_err(refuse)?;
    let connector = hyper_rustls::HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
        .with_server_name_resolver(FixedServerNameResolver::new(name))
        .enable_all_versions()
        .wrap_connector(dial);
    Ok(Bounded(connector))
}

fn client(connector: Bounded) -> Client<Bounded, UnsyncBoxBody<Bytes, BoxError>> {
    Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(8)
        .http2_keep_alive_interval(Duration::from_secs(20))
        .build(connector)
}

/// Writes host and port as the connector wants them; whether TLS follows is decided elsewhere.
fn place(peer: &str) -> Result<Uri, HttpsError> {
    let refuse = |_| HttpsError::Address { address: peer.to_owned(), why: "it is no authority of a URL" };
    format!("http://{peer}/").parse().map_err(refuse)
}

fn host_port(url: &Url) -> String {
    format!("{}:{}", url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(80))
}

/// Shows the name, and the address if it is another.
fn shown(name: &Hostname, address: &str) -> String {
    let named = format!("{}:{}", name.name(), name.port());
    if named == address { named } else { format!("{name} at {address}") }
}
