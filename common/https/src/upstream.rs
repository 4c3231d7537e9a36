//! The bridge's other side: one fixed server, reached with one client identity, streamed both ways.
//! A request for a path comes in, the server's answer goes out as it arrives.
//! Dials out. Address, name and client certificate belong together and are swapped together: a new identity, a new upstream.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use credmint_vocabulary::Hostname;
use http::header::HOST;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Request, Response, Uri};
use http_body::Body;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use url::Url;

use crate::address::Address;
use crate::client::Https;
use crate::dial::{BoxError, Dial};
use crate::error::HttpsError;
use crate::explain::explain;
use crate::pool::Pool;
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
    pool: Arc<Pool>,
    scheme: Scheme,
    authority: Authority,
    prefix: String,
    peer: String,
}

impl Https {
    /// Prepares an upstream; opens nothing yet.
    ///
    /// # Errors
    /// An address, a file of trust anchors, a proxy or an identity that cannot be used.
    pub fn upstream(&self, target: UpstreamTarget) -> Result<Upstream, HttpsError> {
        let address = Address::of(&target.address)?;
        trust::pinnable(&target.trust, &address)?;
        let proxy = target.trust.proxy.as_deref().filter(|_| !address.loopback).map(trust::proxy).transpose()?;
        let dial = Dial::new(place(&address.peer)?, proxy.as_ref().map(|url| place(&host_port(url))).transpose()?);
        let unusable = |why| HttpsError::Address { address: target.server_name.to_string(), why };
        Ok(Upstream {
            scheme: if address.tls { Scheme::HTTPS } else { Scheme::HTTP },
            authority: target.server_name.as_str().parse().map_err(|_| unusable("it is no authority of a URL"))?,
            prefix: target.address.path().trim_end_matches('/').to_owned(),
            peer: shown(&target.server_name, &address.peer),
            pool: Arc::new(Pool::new(self.roots().clone(), dial, target.server_name, target.trust)?),
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
        let (client, presented) = self.pool.now(Instant::now());
        let failed =
            |error: hyper_util::client::legacy::Error| explain(&self.peer, &error, error.is_connect(), &presented);
        let response = client.request(request).await.map_err(failed)?;
        presented.answered();
        Ok(response)
    }

    /// Tells whether the server asked for a client certificate, on any of the connections so far.
    #[must_use]
    pub fn asked_for_certificate(&self) -> bool {
        self.pool.was_asked()
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

/// Writes host and port as the connector wants them; whether TLS follows is decided elsewhere.
pub(crate) fn place(peer: &str) -> Result<Uri, HttpsError> {
    let refuse = |_| HttpsError::Address { address: peer.to_owned(), why: "it is no authority of a URL" };
    format!("http://{peer}/").parse().map_err(refuse)
}

pub(crate) fn host_port(url: &Url) -> String {
    format!("{}:{}", url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(80))
}

/// Shows the name, and the address if it is another.
fn shown(name: &Hostname, address: &str) -> String {
    let named = format!("{}:{}", name.name(), name.port());
    if named == address { named } else { format!("{name} at {address}") }
}
