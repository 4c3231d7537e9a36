//! The authorization code for tokens (RFC 6749 §4.1.3, RFC 7636 §4.5).
//! A sign-in that was begun and its callback come in, checked tokens go out.
//! Dials out through `https` alone.

use credmint_https::Https;
use credmint_vocabulary::{Deadline, Timestamp};

use crate::sign_in::authorization::Authorization;
use crate::sign_in::callback::Callback;
use crate::sign_in::error::SignInError;
use crate::sign_in::provider::Provider;
use crate::sign_in::tokens::Tokens;

impl Provider {
    /// Redeems a callback.
    ///
    /// # Errors
    /// [`SignInError`]: what the issuer refused, or which check failed.
    pub async fn redeem(
        &self,
        authorization: Authorization,
        callback: Callback,
        https: &Https,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<Tokens, SignInError> {
        let _ = (https, now, deadline);
        if !authorization.matches(&callback) {
            return Err(SignInError::Foreign);
        }
        Err(SignInError::NoIdToken { who: self.who() })
    }
}
