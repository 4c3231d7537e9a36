//! The client of `openidconnect` for one request: made of the metadata and of this request's proof.
//! A provider and a proof come in, a typed client or the fields of a form go out.
//! Its type is named here and nowhere else.

use credmint_vocabulary::Secret;
use openidconnect::core::{CoreClient, CoreTokenResponse};
use openidconnect::{ClientId, EndpointMaybeSet, EndpointNotSet, EndpointSet, OAuth2TokenResponse as _};
use url::Url;
use zeroize::Zeroizing;

use crate::claims::Claims;
use crate::client_authentication::{ClientProof, client_id, prove};
use crate::sign_in::error::SignInError;
use crate::sign_in::metadata::{Metadata, endpoint};
use crate::sign_in::provider::Provider;
use crate::sign_in::tokens::Tokens;
use crate::token_endpoint::{TokenEndpoint, TokenEndpointError};
use crate::way::{Way, auth_type, client_secret};

pub(super) type Client =
    CoreClient<EndpointSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointMaybeSet, EndpointMaybeSet>;

/// What a token answer lacks when the crate cannot read it.
pub(super) const NO_TOKENS: &str = "its tokens cannot be read";

impl Provider {
    /// Makes the proof that we are this client.
    pub(super) async fn proof(&self, way: &Way<'_>) -> Result<ClientProof, SignInError> {
        let proof = prove(&self.settings.client, self.issuer(), &self.caller(), way.now, way.deadline).await;
        Ok(proof.map_err(TokenEndpointError::from)?)
    }

    pub(super) fn client(&self, proof: &ClientProof) -> Client {
        self.client_of(self.metadata.clone(), proof)
    }

    pub(super) fn client_of(&self, metadata: Metadata, proof: &ClientProof) -> Client {
        let id = ClientId::new(client_id(&self.settings.client).to_owned());
        CoreClient::from_provider_metadata(metadata, id, client_secret(proof))
            .set_auth_type(auth_type(&self.settings.client))
    }

    /// Says that there is no token endpoint.
    pub(super) fn no_token_endpoint(&self) -> SignInError {
        SignInError::Missing { who: self.who(), what: "token endpoint" }
    }

    /// Sends a form that the crate has no request for, and gives the body of a success.
    pub(super) async fn post(
        &self,
        address: Option<&Url>,
        what: &'static str,
        form: &[(&str, &str)],
        way: &Way<'_>,
    ) -> Result<Zeroizing<Vec<u8>>, SignInError> {
        let address = endpoint(address, &self.who(), what)?;
        let endpoint = TokenEndpoint { address, audience: self.issuer().to_owned() };
        let proof = self.proof(way).await?;
        let who = (&self.settings.client, &proof);
        Ok(endpoint.post(form, who, (way.https, &way.trust), (way.now, way.deadline)).await?)
    }

    /// Takes over what a token answer has; the ID token is still to be checked.
    pub(super) fn unchecked(&self, answer: &CoreTokenResponse, way: &Way<'_>) -> Tokens {
        let id = answer.extra_fields().id_token().map(|token| Secret::new(token.to_string()));
        Tokens {
            access: Secret::from(answer.access_token().secret().as_str()),
            access_expires: answer.expires_in().map(|life| way.now.plus(life)),
            claims: id.as_ref().and_then(Claims::of),
            id,
            refresh: answer.refresh_token().map(|token| Secret::from(token.secret().as_str())),
            scope: answer.scopes().into_iter().flatten().map(|scope| scope.to_string()).collect(),
            who: self.who(),
            vault: None,
        }
    }
}
