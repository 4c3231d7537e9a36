//! `kind = "client-credentials"`: a token in the client's own name.
//! The client's settings and its secret come in, an access token or its absence goes out.
//! Dials out through `https` alone. RFC 6749 §4.4 by the `oauth2` crate; `audience` and RFC 8707 `resource` as asked.

use credmint_https::{Https, Trust};
use credmint_settings::{ClientAuthentication, ClientCredentials};
use credmint_vocabulary::{Deadline, Secret, Timestamp};
use oauth2::basic::{BasicClient, BasicErrorResponse, BasicTokenResponse};
use oauth2::{
    AuthType, ClientId, ClientSecret, HttpRequest, HttpResponse, RequestTokenError, Scope, TokenResponse as _, TokenUrl,
};

use crate::caller::Caller;
use crate::client_authentication::{ASSERTION_TYPE, ClientProof, ClientProofError, client_id, prove};
use crate::token_endpoint::{TokenEndpoint, TokenEndpointError, judge};

/// What every call to the server takes along.
struct Way<'a> {
    https: &'a Https,
    trust: Trust,
    now: Timestamp,
    deadline: Deadline,
}

/// Asks for a token; `None` when the client's secret is not there.
pub(crate) async fn ask(
    settings: &ClientCredentials,
    caller: &Caller,
    https: &Https,
    now: Timestamp,
    deadline: Deadline,
) -> Result<Option<Secret<String>>, TokenEndpointError> {
    let peer = &settings.peer;
    let trust = Trust { ca: peer.ca.clone(), ca_only: peer.ca_only, proxy: peer.proxy.clone(), client: None };
    let way = Way { https, trust, now, deadline };
    let (issuer, given) = (settings.issuer.as_deref(), settings.token_endpoint.as_deref());
    let endpoint = TokenEndpoint::find(issuer, given, https, &way.trust, deadline).await?;
    match prove(&settings.client, &endpoint.audience, caller, now, deadline).await {
        Ok(proof) => request(settings, &endpoint, &proof, &way).await.map(Some),
        Err(ClientProofError::Absent { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

async fn request(
    settings: &ClientCredentials,
    endpoint: &TokenEndpoint,
    proof: &ClientProof,
    way: &Way<'_>,
) -> Result<Secret<String>, TokenEndpointError> {
    let client = BasicClient::new(ClientId::new(client_id(&settings.client).to_owned()))
        .set_token_uri(TokenUrl::from_url(endpoint.address.clone()))
        .set_auth_type(auth_type(&settings.client));
    let client = match proof {
        ClientProof::Basic(secret) | ClientProof::Post(secret) => {
            client.set_client_secret(ClientSecret::new(secret.expose().clone()))
        }
        _ => client,
    };
    let mut request = client.exchange_client_credentials();
    if let ClientProof::Assertion(jwt) = proof {
        request = request.add_extra_param("client_assertion_type", ASSERTION_TYPE);
        request = request.add_extra_param("client_assertion", jwt.expose().as_str());
    }
    request = request.add_scopes(settings.scopes.iter().cloned().map(Scope::new));
    for (name, value) in targets(settings) {
        request = request.add_extra_param(name, value);
    }
    let send = |request: HttpRequest| send(request, endpoint, way);
    let answer = request.request_async(&send).await.map_err(|error| told(error, endpoint))?;
    Ok(token_of(&answer))
}

fn auth_type(client: &ClientAuthentication) -> AuthType {
    match client {
        ClientAuthentication::Basic { .. } => AuthType::BasicAuth,
        _ => AuthType::RequestBody,
    }
}

fn targets(settings: &ClientCredentials) -> impl Iterator<Item = (&'static str, &str)> {
    let audience = settings.audience.iter().map(|audience| ("audience", audience.as_str()));
    audience.chain(settings.resources.iter().map(|resource| ("resource", resource.as_str())))
}

fn token_of(answer: &BasicTokenResponse) -> Secret<String> {
    Secret::from(answer.access_token().secret().as_str())
}

/// Sends what `oauth2` made, and lets only the body of a success through to it: refusals are told by our own rules.
async fn send(
    request: HttpRequest,
    endpoint: &TokenEndpoint,
    way: &Way<'_>,
) -> Result<HttpResponse, TokenEndpointError> {
    let answer = way.https.send(&way.trust, request, way.deadline).await?;
    let mut body = judge(&endpoint.who(), answer, way.now)?;
    Ok(HttpResponse::new(std::mem::take(&mut *body)))
}

/// Tells the error without what `oauth2` keeps of the body.
fn told(
    error: RequestTokenError<TokenEndpointError, BasicErrorResponse>,
    endpoint: &TokenEndpoint,
) -> TokenEndpointError {
    match error {
        RequestTokenError::Request(error) => error,
        _ => TokenEndpointError::Malformed { who: endpoint.who(), what: "access_token or token_type is missing" },
    }
}
