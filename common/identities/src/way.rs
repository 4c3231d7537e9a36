//! The way to an authorization server for the requests that `oauth2` and `openidconnect` make.
//! Their request comes in; only the body of a success goes out to them, refusals are told by our own rules.
//! Dials out through `https` alone; never tells what the crates keep of a body.

use credmint_https::{Https, OauthHttp, Trust};
use credmint_settings::{ClientAuthentication, Peer};
use credmint_vocabulary::{Deadline, Timestamp};
use oauth2::{AuthType, ClientSecret, ErrorResponse, HttpRequest, HttpResponse, RequestTokenError};

use crate::client_authentication::{ASSERTION_TYPE, ClientProof};
use crate::token_endpoint::{TokenEndpointError, judge};

/// Holds what every call to the server takes along.
pub(crate) struct Way<'a> {
    pub(crate) https: &'a Https,
    pub(crate) trust: Trust,
    pub(crate) now: Timestamp,
    pub(crate) deadline: Deadline,
}

impl<'a> Way<'a> {
    pub(crate) fn new(https: &'a Https, peer: &Peer, now: Timestamp, deadline: Deadline) -> Self {
        Self { https, trust: trust(peer), now, deadline }
    }

    /// Gives the sender for requests without a credential.
    pub(crate) fn oauth(&self) -> OauthHttp<'a> {
        OauthHttp { https: self.https, trust: self.trust.clone(), deadline: self.deadline }
    }

    /// Sends what the crate made, and lets only the body of a success through to it.
    pub(crate) async fn send(&self, who: &str, request: HttpRequest) -> Result<HttpResponse, TokenEndpointError> {
        let answer = self.https.send(&self.trust, request, self.deadline).await?;
        let mut body = judge(who, answer, self.now)?;
        Ok(HttpResponse::new(std::mem::take(&mut *body)))
    }
}

/// Turns the settings' words about trust into those of `https`, without a client certificate.
#[must_use]
pub fn trust(peer: &Peer) -> Trust {
    let (ca, pins, proxy) = (peer.ca.clone(), peer.pins.clone(), peer.proxy.clone());
    Trust { ca, ca_only: peer.ca_only, pins, proxy, client: None }
}

/// Tells the error without what the crate keeps of the body.
pub(crate) fn told<E: ErrorResponse + 'static>(
    error: RequestTokenError<TokenEndpointError, E>,
    who: String,
    what: &'static str,
) -> TokenEndpointError {
    match error {
        RequestTokenError::Request(error) => error,
        _ => TokenEndpointError::Malformed { who, what },
    }
}

pub(crate) fn auth_type(client: &ClientAuthentication) -> AuthType {
    match client {
        ClientAuthentication::Basic { .. } => AuthType::BasicAuth,
        _ => AuthType::RequestBody,
    }
}

/// Gives the secret that the crates put where `auth_type` says.
pub(crate) fn client_secret(proof: &ClientProof) -> Option<ClientSecret> {
    match proof {
        ClientProof::Basic(secret) | ClientProof::Post(secret) => Some(ClientSecret::new(secret.expose().clone())),
        _ => None,
    }
}

/// Gives the proof that the crates know nothing of, as fields of the form.
pub(crate) fn assertion(proof: &ClientProof) -> impl Iterator<Item = (&'static str, &str)> {
    let jwt = if let ClientProof::Assertion(jwt) = proof { Some(jwt.expose().as_str()) } else { None };
    jwt.into_iter().flat_map(|jwt| [("client_assertion_type", ASSERTION_TYPE), ("client_assertion", jwt)])
}
