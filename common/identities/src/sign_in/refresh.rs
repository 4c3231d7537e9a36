//! New tokens for a refresh token (RFC 6749 §6, OpenID Connect Core §12).
//! The tokens that there are come in, those that take their place go out, whole.
//! `invalid_grant` is the end of the session; everything else is for later.

use credmint_https::Https;
use credmint_vocabulary::{Deadline, FailureKind, Secret, Timestamp};
use openidconnect::core::CoreTokenResponse;
use openidconnect::{HttpRequest, OAuth2TokenResponse, RefreshToken};

use crate::claims::Claims;
use crate::oauth_refusal::OauthRefusal;
use crate::sign_in::client::NO_TOKENS;
use crate::sign_in::error::{RefreshError, SignInError};
use crate::sign_in::provider::Provider;
use crate::sign_in::tokens::Tokens;
use crate::token_endpoint::TokenEndpointError;
use crate::way::{Way, assertion, told};

impl Provider {
    /// Refreshes. What the answer does not have is taken over from `tokens`: the refresh token, and the ID token. The refresh
    /// token is given to `keep` before anything else is done with the answer: the one before may be used up.
    ///
    /// # Errors
    /// [`RefreshError::Over`] when only a new sign-in helps, [`RefreshError::NotNow`] for the rest.
    #[expect(clippy::too_many_arguments, reason = "the tokens and who keeps them, and what every call has")]
    pub async fn refresh(
        &self,
        tokens: &Tokens,
        https: &Https,
        now: Timestamp,
        deadline: Deadline,
        keep: impl AsyncFnOnce(&Secret<String>),
    ) -> Result<Tokens, RefreshError> {
        let way = self.way(https, now, deadline);
        let Some(before) = &tokens.refresh else {
            return Err(RefreshError::Over(format!("{} gave no refresh token", self.who())));
        };
        let proof = self.proof(&way).await?;
        let client = self.client(&proof);
        let refresh = RefreshToken::new(before.expose().clone());
        let mut request = client.exchange_refresh_token(&refresh).map_err(|_| self.no_token_endpoint())?;
        for (name, value) in assertion(&proof).chain(self.resources()) {
            request = request.add_extra_param(name, value);
        }
        let who = self.who();
        let send = |request: HttpRequest| way.send(&who, request);
        let answer = request.request_async(&send).await.map_err(|error| told(error, who.clone(), NO_TOKENS));
        let answer = answer.map_err(over_or_not_now)?;
        match answer.refresh_token() {
            Some(new) => keep(&Secret::from(new.secret().as_str())).await,
            None => keep(before).await,
        }
        let check = self.check(&answer, None, &proof, &way).await;
        self.renewed(&answer, tokens, check, &way)
    }

    /// Takes the answer over. The refresh token has been used up: only an ID token that is *wrong* ends the session, one that
    /// cannot be checked now is left out.
    fn renewed(
        &self,
        answer: &CoreTokenResponse,
        before: &Tokens,
        check: Result<(), SignInError>,
        way: &Way<'_>,
    ) -> Result<Tokens, RefreshError> {
        let mut tokens = self.unchecked(answer, way);
        match check {
            Err(error) if error.kind() == FailureKind::Refused => return Err(RefreshError::Over(error.to_string())),
            Err(_) => (tokens.id, tokens.claims) = (None, None),
            Ok(()) => {}
        }
        let subject = |tokens: &Tokens| tokens.claims.as_ref().and_then(Claims::sub);
        match (subject(before), subject(&tokens)) {
            (Some(old), Some(new)) if old != new => {
                return Err(RefreshError::Over(format!("the new ID token of {} is of somebody else", self.who())));
            }
            _ => {}
        }
        if tokens.id.is_none() {
            tokens.id = before.id.as_ref().map(|id| id.copied());
            tokens.claims.clone_from(&before.claims);
        }
        tokens.refresh = tokens.refresh.or_else(|| before.refresh.as_ref().map(|refresh| refresh.copied()));
        if tokens.scope.is_empty() {
            tokens.scope.clone_from(&before.scope);
        }
        Ok(tokens)
    }
}

fn over_or_not_now(error: TokenEndpointError) -> RefreshError {
    match error {
        TokenEndpointError::Refused { class: OauthRefusal::Grant, ref who, ref reason, .. } => {
            RefreshError::Over(format!("{who} does not renew it any more ({reason})"))
        }
        error => RefreshError::NotNow(error.into()),
    }
}
