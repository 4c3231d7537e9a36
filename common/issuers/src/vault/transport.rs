//! Sends rustify's requests over `credmint-https`.
//! An endpoint and a client token come in, status, headers and body of the answer go out, whatever the status.
//! Follows no redirect and asks twice only where the first time nobody can have listened.

use std::fmt;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use credmint_https::{Answer, Https, HttpsError};
use credmint_vocabulary::{Deadline, Secret, Timestamp};
use http::{HeaderValue, Request, Response};
use rustify::client::Client;
use rustify::endpoint::{Endpoint, MiddleWare};
use rustify::enums::{RequestMethod, RequestType, ResponseType};
use rustify::errors::ClientError;
use serde::de::IgnoredAny;
use zeroize::Zeroizing;

use crate::error::GrantError;
use crate::vault::server::Server;

/// Is the line to one Vault for one grant.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a> {
    /// The Vault.
    pub(crate) server: &'a Server,
    /// The way out.
    pub(crate) https: &'a Https,
    /// When an answer is of no use any more.
    pub(crate) deadline: Deadline,
    /// The wall clock's time when the grant began, and the monotonic one's.
    pub(crate) began: (Timestamp, Instant),
}

impl<'a> Line<'a> {
    /// Takes up the line.
    pub(crate) fn new(server: &'a Server, https: &'a Https, now: Timestamp, deadline: Deadline) -> Self {
        Self { server, https, deadline, began: (now, Instant::now()) }
    }

    /// Gives the wall clock's time as it should be now.
    pub(crate) fn now(&self) -> Timestamp {
        self.began.0.plus(self.began.1.elapsed())
    }

    /// Sends a request and gives the answer, whatever its status.
    pub(crate) async fn send(
        &self,
        endpoint: impl Endpoint,
        token: Option<&Secret<String>>,
    ) -> Result<Answer, GrantError> {
        let headers = Headers { namespace: self.server.namespace.as_ref(), token: token.map(header).transpose()? };
        let endpoint = endpoint.with_middleware(&headers);
        let first = endpoint.exec(self).await;
        let answer = match first {
            Err(error) if refused_at_once(&error) && self.pause().await => endpoint.exec(self).await,
            first => first,
        };
        let answer = answer.map_err(|error| self.told(error))?;
        let (head, body) = answer.response.into_parts();
        Ok(Answer { status: head.status, headers: head.headers, body: Zeroizing::new(body) })
    }

    /// Waits a moment for a server that is just starting; `false` when there is no time for it.
    async fn pause(&self) -> bool {
        let short = Duration::from_millis(150);
        let enough = self.deadline.remaining(Instant::now()) > 4 * short;
        if enough {
            tokio::time::sleep(short).await;
        }
        enough
    }

    /// Takes our own error out of rustify's, whose other variants may hold bodies.
    fn told(&self, error: ClientError) -> GrantError {
        let ours = match error {
            ClientError::GenericError { source } => source.downcast::<HttpsError>().ok(),
            _ => None,
        };
        match ours {
            Some(error) => GrantError::Unreachable(error),
            None => GrantError::Settings(format!("no request can be made for {}", self.server.who)),
        }
    }
}

/// Tells that nothing was sent: the connection was refused.
fn refused_at_once(error: &ClientError) -> bool {
    let ClientError::GenericError { source } = error else { return false };
    matches!(source.downcast_ref::<HttpsError>(), Some(HttpsError::Connect { .. }))
}

/// Makes a header value that is not logged; a token with a line end is an error here, and a panic in vaultrs.
fn header(token: &Secret<String>) -> Result<HeaderValue, GrantError> {
    let unfit = |_| GrantError::UnfitToken;
    let mut value = HeaderValue::from_str(token.expose()).map_err(unfit)?;
    value.set_sensitive(true);
    Ok(value)
}

#[async_trait]
impl Client for Line<'_> {
    async fn send(&self, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, ClientError> {
        let sent = self.https.send(&self.server.trust, request, self.deadline).await;
        let mut answer = sent.map_err(|error| ClientError::GenericError { source: error.into() })?;
        let mut response = Response::new(std::mem::take(&mut *answer.body));
        *response.status_mut() = answer.status;
        *response.headers_mut() = answer.headers;
        Ok(response)
    }

    fn base(&self) -> &str {
        &self.server.base
    }

    /// Lets every status through: rustify's own drops the headers of a refusal and copies its body into the error.
    async fn execute(&self, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, ClientError> {
        Client::send(self, request).await
    }
}

/// Adds token, namespace and the header that Vault's own agents want.
struct Headers<'a> {
    namespace: Option<&'a HeaderValue>,
    token: Option<HeaderValue>,
}

impl MiddleWare for Headers<'_> {
    fn request<E: Endpoint>(&self, _: &E, request: &mut Request<Vec<u8>>) -> Result<(), ClientError> {
        let headers = request.headers_mut();
        headers.insert("x-vault-request", HeaderValue::from_static("true"));
        if let Some(namespace) = self.namespace {
            headers.insert("x-vault-namespace", namespace.clone());
        }
        if let Some(token) = &self.token {
            headers.insert("x-vault-token", token.clone());
        }
        if !request.body().is_empty() {
            request.headers_mut().insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        Ok(())
    }

    fn response<E: Endpoint>(&self, _: &E, _: &mut Response<Vec<u8>>) -> Result<(), ClientError> {
        Ok(())
    }
}

/// Is a request of ours: one whose body may hold a secret, or for which vaultrs has no type.
pub(crate) struct Call {
    method: RequestMethod,
    path: String,
    query: Option<Zeroizing<String>>,
    body: Zeroizing<Vec<u8>>,
}

impl Call {
    /// Reads a path.
    pub(crate) fn get(path: String) -> Self {
        Self { method: RequestMethod::GET, path, query: None, body: Zeroizing::new(Vec::new()) }
    }

    /// Reads a path with a query, which no message shows.
    pub(crate) fn ask(path: String, query: Zeroizing<String>) -> Self {
        Self { query: Some(query), ..Self::get(path) }
    }

    /// Sends JSON to a path.
    pub(crate) fn post(path: String, body: Zeroizing<Vec<u8>>) -> Self {
        Self { method: RequestMethod::POST, path, query: None, body }
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Call({:?} {})", self.method, self.path)
    }
}

impl Endpoint for Call {
    type Response = IgnoredAny;
    const REQUEST_BODY_TYPE: RequestType = RequestType::JSON;
    const RESPONSE_BODY_TYPE: ResponseType = ResponseType::JSON;

    fn path(&self) -> String {
        self.path.clone()
    }

    fn method(&self) -> RequestMethod {
        self.method.clone()
    }

    fn query(&self) -> Result<Option<String>, ClientError> {
        Ok(self.query.as_ref().map(|query| query.to_string()))
    }

    /// Hands a copy over, which `https` wipes after sending.
    fn body(&self) -> Result<Option<Vec<u8>>, ClientError> {
        Ok(Some(self.body.to_vec()).filter(|body| !body.is_empty()))
    }
}
