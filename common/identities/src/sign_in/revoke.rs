//! Takes tokens back at the issuer (RFC 7009).
//! Tokens come in, nothing or the reason why they live on goes out.
//! Dials out through `https` alone.

use credmint_https::Https;
use credmint_vocabulary::{Deadline, Secret, Timestamp};

use crate::oauth_refusal::OauthRefusal;
use crate::sign_in::error::SignInError;
use crate::sign_in::provider::Provider;
use crate::sign_in::tokens::Tokens;
use crate::token_endpoint::TokenEndpointError;
use crate::way::Way;

impl Provider {
    /// Revokes the refresh token, then the access token; both are tried, and the first error is told.
    ///
    /// # Errors
    /// [`SignInError::CannotRevoke`], or why it did not work.
    pub async fn revoke(
        &self,
        tokens: &Tokens,
        https: &Https,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<(), SignInError> {
        let way = self.way(https, now, deadline);
        if self.metadata.additional_metadata().revocation_endpoint.is_none() {
            return Err(SignInError::CannotRevoke { who: self.who() });
        }
        let refresh = match &tokens.refresh {
            Some(refresh) => Some(self.revoke_one(refresh, "refresh_token", &way).await),
            None => None,
        };
        let access = self.revoke_one(&tokens.access, "access_token", &way).await;
        match (refresh, access) {
            (Some(Ok(())), Err(error)) if is_of_another_type(&error) => Ok(()),
            (refresh, access) => refresh.unwrap_or(Ok(())).and(access),
        }
    }

    /// Revokes a refresh token of which no access token is known.
    ///
    /// # Errors
    /// As [`Self::revoke`].
    pub async fn revoke_refresh(
        &self,
        refresh: &Secret<String>,
        https: &Https,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<(), SignInError> {
        if self.metadata.additional_metadata().revocation_endpoint.is_none() {
            return Err(SignInError::CannotRevoke { who: self.who() });
        }
        self.revoke_one(refresh, "refresh_token", &self.way(https, now, deadline)).await
    }

    async fn revoke_one(&self, token: &Secret<String>, hint: &str, way: &Way<'_>) -> Result<(), SignInError> {
        let form = [("token", token.expose().as_str()), ("token_type_hint", hint)];
        let address = self.metadata.additional_metadata().revocation_endpoint.as_ref();
        self.post(address, "revocation endpoint", &form, way).await.map(drop)
    }
}

/// Tells an issuer that revokes refresh tokens alone: the access token ends by itself.
const fn is_of_another_type(error: &SignInError) -> bool {
    matches!(error, SignInError::Endpoint(TokenEndpointError::Refused { class: OauthRefusal::TokenType, .. }))
}
