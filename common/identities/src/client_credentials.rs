//! `kind = "client-credentials"`: a token in the client's own name.
//! The client's settings and its secret come in, an access token or its absence goes out.
//! Dials out through `https` alone. RFC 6749 §4.4 by the `oauth2` crate; `audience` and RFC 8707 `resource` as asked.

use credmint_https::Https;
use credmint_settings::ClientCredentials;
use credmint_vocabulary::{Deadline, Secret, Timestamp};
use oauth2::basic::{BasicClient, BasicTokenResponse};
use oauth2::{ClientId, HttpRequest, Scope, TokenResponse as _, TokenUrl};

use crate::caller::Caller;
use crate::client_authentication::{ClientProof, ClientProofError, client_id, prove};
use crate::token_endpoint::{TokenEndpoint, TokenEndpointError};
use crate::way::{Way, assertion, auth_type, client_secret, told};

/// Asks for a token; `None` when the client's secret is not there.
pub(crate) async fn ask(
    settings: &ClientCredentials,
    caller: &Caller,
    https: &Https,
    now: Timestamp,
    deadline: Deadline,
) -> Result<Option<Secret<String>>, TokenEndpointError> {
    let way = Way::new(https, &settings.peer, now, deadline);
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
    let mut client = BasicClient::new(ClientId::new(client_id(&settings.client).to_owned()))
        .set_token_uri(TokenUrl::from_url(endpoint.address.clone()))
        .set_auth_type(auth_type(&settings.client));
    if let Some(secret) = client_secret(proof) {
        client = client.set_client_secret(secret);
    }
    let mut request = client.exchange_client_credentials();
    request = request.add_scopes(settings.scopes.iter().cloned().map(Scope::new));
    for (name, value) in assertion(proof).chain(targets(settings)) {
        request = request.add_extra_param(name, value);
    }
    let who = endpoint.who();
    let send = |request: HttpRequest| way.send(&who, request);
    let answer = request.request_async(&send).await.map_err(|error| told(error, who.clone(), TOKEN))?;
    Ok(token_of(&answer))
}

const TOKEN: &str = "access_token or token_type is missing";

fn targets(settings: &ClientCredentials) -> impl Iterator<Item = (&'static str, &str)> {
    let audience = settings.audience.iter().map(|audience| ("audience", audience.as_str()));
    audience.chain(settings.resources.iter().map(|resource| ("resource", resource.as_str())))
}

fn token_of(answer: &BasicTokenResponse) -> Secret<String> {
    Secret::from(answer.access_token().secret().as_str())
}
