//! Takes tokens back at the issuer (RFC 7009).
//! Tokens come in, nothing or the reason why they live on goes out.
//! Dials out through `https` alone.

use credmint_https::Https;
use credmint_vocabulary::{Deadline, Timestamp};

use crate::sign_in::error::SignInError;
use crate::sign_in::provider::Provider;
use crate::sign_in::tokens::Tokens;

impl Provider {
    /// Revokes the refresh token, then the access token.
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
        let _ = (tokens, https, now, deadline);
        Err(SignInError::CannotRevoke { who: self.who() })
    }
}
