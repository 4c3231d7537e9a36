//! One request, one whole answer, within a deadline.
//! A request and its trust come in, the answer goes out; redirects are answers, never followed.
//! Dials out through reqwest; connections are kept per trust, and dropped with the client identity that made them.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use credmint_vocabulary::Deadline;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, Request};
use url::Url;

use crate::address::Address;
use crate::answer::Answer;
use crate::body::{Gathered, wiped};
use crate::dial::{CONNECT_TIMEOUT, IDLE};
use crate::error::HttpsError;
use crate::explain::explain;
use crate::kept::{Client, Kept};
use crate::resolver::Resolver;
use crate::roots::{Ground, Roots};
use crate::tls::{self, Presented};
use crate::trust::{self, Trust};

/// Bounds the body of an answer.
const LARGEST: usize = 1024 * 1024;
/// Bounds the number of clients that are kept.
const MOST: usize = 32;

/// Sends requests. Cheap to clone: all clones share trust roots and connections.
#[derive(Clone)]
pub struct Https(Arc<Shared>);

struct Shared {
    user_agent: String,
    roots: Roots,
    kept: Mutex<Vec<Kept>>,
}

impl Https {
    /// Makes a sender that calls itself `user_agent`; opens nothing yet.
    #[must_use]
    pub fn new(user_agent: &str) -> Self {
        Self(Arc::new(Shared {
            user_agent: user_agent.to_owned(),
            roots: Roots::default(),
            kept: Mutex::new(Vec::new()),
        }))
    }

    /// Sends a request with an absolute URI and gathers the answer, at most 1 MiB of it.
    ///
    /// # Errors
    /// Why there is no answer. Every status code is an answer, 3xx included.
    pub async fn send(
        &self,
        trust: &Trust,
        request: Request<Vec<u8>>,
        deadline: Deadline,
    ) -> Result<Answer, HttpsError> {
        self.send_if(Address::of, trust, request, deadline).await
    }

    /// Sends a request to an address that the caller's platform gave: the fixed addresses where a cloud's machine and its
    /// containers ask for their keys count, too.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub async fn send_to_platform(
        &self,
        trust: &Trust,
        request: Request<Vec<u8>>,
        deadline: Deadline,
    ) -> Result<Answer, HttpsError> {
        self.send_if(Address::of_platform, trust, request, deadline).await
    }

    async fn send_if(
        &self,
        check: fn(&Url) -> Result<Address, HttpsError>,
        trust: &Trust,
        request: Request<Vec<u8>>,
        deadline: Deadline,
    ) -> Result<Answer, HttpsError> {
        let (parts, body) = request.into_parts();
        let body = wiped(body);
        let url = Url::parse(&parts.uri.to_string()).map_err(|_| HttpsError::Address {
            address: parts.uri.host().unwrap_or_default().to_owned(),
            why: "it is not an absolute URL",
        })?;
        let address = check(&url)?;
        let late = || HttpsError::Timeout { peer: address.peer.clone() };
        if deadline.remaining(Instant::now()).is_zero() {
            return Err(late());
        }
        let client = self.client(trust, &address)?;
        let mut request = reqwest::Request::new(parts.method, url);
        *request.headers_mut() = parts.headers;
        *request.body_mut() = (!body.is_empty()).then(|| body.into());
        let exchange = exchange(&client, request, &address.peer);
        tokio::time::timeout_at(deadline.instant().into(), exchange).await.map_err(|_| late())?
    }

    /// Drops all kept connections, and with them what the TLS library holds of client keys.
    pub fn forget(&self) {
        self.kept().clear();
    }

    /// Gives the trust roots, shared with the upstream.
    pub(crate) fn roots(&self) -> &Roots {
        &self.0.roots
    }

    fn client(&self, trust: &Trust, address: &Address) -> Result<Client, HttpsError> {
        let proxy = trust.proxy.as_deref().filter(|_| !address.loopback);
        trust::pinnable(trust, address)?;
        let ground = self.0.roots.ground(trust)?;
        let mut kept = self.kept();
        kept.retain(Kept::is_alive);
        if let Some(found) = kept.iter().find(|kept| kept.serves(trust, &ground, proxy)) {
            return Ok(found.client.clone());
        }
        let client = self.build(trust, &ground, proxy)?;
        if kept.len() >= MOST {
            kept.remove(0);
        }
        kept.push(Kept::new(trust, ground, proxy, client.clone()));
        Ok(client)
    }

    fn build(&self, trust: &Trust, ground: &Ground, proxy: Option<&str>) -> Result<Client, HttpsError> {
        let (mut tls, presented) = tls::configuration(ground.store(trust)?, trust)?;
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .user_agent(&self.0.user_agent)
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .no_proxy()
            .dns_resolver(Resolver)
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(4);
        if let Some(proxy) = proxy {
            let unusable = |_| HttpsError::Proxy { why: "it is no URL" };
            builder = builder.proxy(reqwest::Proxy::all(trust::proxy(proxy)?).map_err(unusable)?);
        }
        let unusable = |_| HttpsError::Identity { why: "no client could be made of it".to_owned() };
        Ok(Client { http: builder.build().map_err(unusable)?, presented })
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Https {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Https").field("user_agent", &self.0.user_agent).finish_non_exhaustive()
    }
}

async fn exchange(client: &Client, request: reqwest::Request, peer: &str) -> Result<Answer, HttpsError> {
    let failed = |error: reqwest::Error| because(peer, &error, &client.presented);
    let mut response = client.http.execute(request).await.map_err(failed)?;
    client.presented.answered();
    let headers = std::mem::take(response.headers_mut());
    let mut body = Gathered::new(announced(&headers), LARGEST);
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        if !body.add(chunk) {
            return Err(HttpsError::TooLarge { peer: peer.to_owned(), limit: LARGEST });
        }
    }
    Ok(Answer { status: response.status(), headers, body: body.finish() })
}

fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn because(peer: &str, error: &reqwest::Error, presented: &Presented) -> HttpsError {
    if error.is_timeout() {
        return HttpsError::Timeout { peer: peer.to_owned() };
    }
    explain(peer, error, error.is_connect(), presented)
}
