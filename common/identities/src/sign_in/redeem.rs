//! The authorization code for tokens (RFC 6749 §4.1.3, RFC 7636 §4.5).
//! A sign-in that was begun and its callback come in, checked tokens go out.
//! Dials out through `https` alone.

use std::borrow::Cow;

use credmint_https::Https;
use credmint_vocabulary::{Deadline, Secret, Timestamp};
use openidconnect::{AuthorizationCode, HttpRequest};

use crate::sign_in::authorization::Authorization;
use crate::sign_in::callback::{Callback, Outcome};
use crate::sign_in::client::NO_TOKENS;
use crate::sign_in::error::SignInError;
use crate::sign_in::provider::Provider;
use crate::sign_in::tokens::Tokens;
use crate::way::{Way, assertion, told};

impl Provider {
    /// Redeems a callback.
    ///
    /// # Errors
    /// [`SignInError`]: what the issuer refused, or which check failed.
    #[expect(clippy::too_many_arguments, reason = "the two halves of one sign-in, and what every call has")]
    pub async fn redeem(
        &self,
        authorization: Authorization,
        callback: Callback,
        https: &Https,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<Tokens, SignInError> {
        if !authorization.matches(&callback) {
            return Err(SignInError::Foreign);
        }
        match callback.outcome {
            Outcome::Code(code) => self.exchange(authorization, &code, &self.way(https, now, deadline)).await,
            Outcome::Refusal { class, reason } => Err(SignInError::Refused { who: self.who(), class, reason }),
        }
        .map_err(|error| self.with_scopes(error))
    }

    async fn exchange(
        &self,
        authorization: Authorization,
        code: &Secret<String>,
        way: &Way<'_>,
    ) -> Result<Tokens, SignInError> {
        let proof = self.proof(way).await?;
        let client = self.client(&proof);
        let code = AuthorizationCode::new(code.expose().clone());
        let mut request = client
            .exchange_code(code)
            .map_err(|_| self.no_token_endpoint())?
            .set_pkce_verifier(authorization.verifier)
            .set_redirect_uri(Cow::Owned(authorization.redirect));
        for (name, value) in assertion(&proof).chain(self.resources()) {
            request = request.add_extra_param(name, value);
        }
        let who = self.who();
        let send = |request: HttpRequest| way.send(&who, request);
        let answer = request.request_async(&send).await.map_err(|error| told(error, who.clone(), NO_TOKENS))?;
        self.checked(&answer, Some(&authorization.nonce), &proof, way).await
    }
}
