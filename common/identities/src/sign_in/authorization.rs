//! The authorization request: the URL that a browser is sent to, and what its answer is held against.
//! A provider and a redirect URI come in, an [`Authorization`] goes out.
//! Opens nothing. RFC 6749 §4.1.1, RFC 7636 (PKCE, S256), RFC 8707, RFC 9207, OpenID Connect Core §3.1.2.1.

use std::borrow::Cow;
use std::fmt;

use credmint_vocabulary::Secret;
use openidconnect::core::CoreResponseType;
use openidconnect::{AuthenticationFlow, CsrfToken, Nonce, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, Scope};
use url::Url;

use crate::client_authentication::ClientProof;
use crate::sign_in::callback::Callback;
use crate::sign_in::error::SignInError;
use crate::sign_in::metadata::endpoint;
use crate::sign_in::provider::Provider;

/// Holds a sign-in that was begun; good for one callback.
pub struct Authorization {
    /// Where the browser goes. Has state and nonce in it: not for logs.
    pub url: Url,
    state: Secret<String>,
    issuer: String,
    names_issuer: bool,
    pub(super) nonce: Nonce,
    pub(super) verifier: PkceCodeVerifier,
    pub(super) redirect: RedirectUrl,
}

impl Authorization {
    /// Tells whether a callback belongs to this sign-in: its state, and the issuer that it names (RFC 9207 §2.4).
    #[must_use]
    pub fn matches(&self, callback: &Callback) -> bool {
        let issuer = callback.iss.as_ref().map_or(!self.names_issuer, |iss| *iss == self.issuer);
        self.state.same_as(callback.state.expose().as_bytes()) && issuer
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
        let _usable =
            endpoint(Some(self.metadata.authorization_endpoint().url()), &self.who(), "authorization endpoint")?;
        let client = self.client(&ClientProof::None);
        let redirect = RedirectUrl::from_url(redirect_uri.clone());
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let code = AuthenticationFlow::<CoreResponseType>::AuthorizationCode;
        let mut request = client
            .authorize_url(code, CsrfToken::new_random, Nonce::new_random)
            .set_pkce_challenge(challenge)
            .set_redirect_uri(Cow::Borrowed(&redirect))
            .add_scopes(self.scopes().into_iter().map(Scope::new));
        for (name, value) in self.asked() {
            request = request.add_extra_param(name.to_owned(), value.to_owned());
        }
        let (url, state, nonce) = request.url();
        let state = Secret::from(state.secret().as_str());
        let names_issuer = self.metadata.additional_metadata().authorization_response_iss_parameter_supported;
        Ok(Authorization { url, state, issuer: self.issuer().to_owned(), names_issuer, nonce, verifier, redirect })
    }
}
