//! An OpenID Provider as its metadata describe it, and who we are to it.
//! Settings and what the caller supplied come in, a provider that can be asked goes out.
//! Owns all it needs, the client's secret too: a refresh happens when the caller is long gone.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use credmint_https::Https;
use credmint_settings::OidcIdentity;
use credmint_vocabulary::{Deadline, Timestamp};

use crate::caller::{Caller, client_reads};
use crate::client_authentication::be_provable;
use crate::oauth_refusal::OauthRefusal;
use crate::sign_in::error::SignInError;
use crate::sign_in::metadata::{self, Metadata};
use crate::sign_in::tokens::Tokens;
use crate::token_endpoint::{TokenEndpointError, who};
use crate::way::Way;

/// Holds an OpenID Provider that has been discovered.
pub struct Provider {
    pub(super) settings: OidcIdentity,
    pub(super) metadata: Metadata,
    /// What proves the client, as far as the caller supplied it.
    caller: Mutex<Arc<Caller>>,
}

const OFFLINE: &str = "offline_access";

impl Provider {
    /// Fetches the provider's metadata and keys.
    ///
    /// # Errors
    /// [`SignInError`] when it cannot be reached, is none, or the client's own secret is not there.
    pub async fn discover(
        settings: &OidcIdentity,
        caller: &Caller,
        https: &Https,
        deadline: Deadline,
    ) -> Result<Self, SignInError> {
        let own = caller.copied(&client_reads(&settings.client));
        be_provable(&settings.client, caller, deadline).await.map_err(TokenEndpointError::from)?;
        let way = Way::new(https, &settings.peer, Timestamp::from_unix(0), deadline);
        let metadata = metadata::discover(&settings.issuer, &way).await?;
        Ok(Self { settings: settings.clone(), metadata, caller: Mutex::new(Arc::new(own)) })
    }

    /// Gives what proves the client, as far as the caller supplied it.
    #[must_use]
    pub fn caller(&self) -> Arc<Caller> {
        Arc::clone(&self.caller.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts other proofs of the client in their place: none while they are kept elsewhere.
    pub fn set_caller(&self, caller: Caller) {
        *self.caller.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(caller);
    }

    /// Gives host and port of the issuer, for messages.
    #[must_use]
    pub fn who(&self) -> String {
        who(self.metadata.issuer().url())
    }

    /// Gives the issuer as its metadata spell it.
    #[must_use]
    pub fn issuer(&self) -> &str {
        self.metadata.issuer().as_str()
    }

    /// Lists the scopes that are asked for, `openid` left out: `openidconnect` adds it.
    ///
    /// `offline_access` is asked for where the issuer has it, or says nothing about its scopes, unless the settings have scopes.
    #[must_use]
    pub fn scopes(&self) -> Vec<String> {
        let offered = |name: &str| {
            self.metadata.scopes_supported().is_none_or(|scopes| scopes.iter().any(|scope| scope.as_str() == name))
        };
        let chosen = match &self.settings.scopes {
            Some(scopes) => scopes.clone(),
            None if offered(OFFLINE) => vec![OFFLINE.to_owned()],
            None => Vec::new(),
        };
        chosen.into_iter().filter(|scope| scope != "openid").collect()
    }

    /// Lists the scopes that were asked for and not granted, if the issuer said what it granted. A refresh token is what
    /// `offline_access` is for, whatever the answer's list says.
    #[must_use]
    pub fn not_granted(&self, tokens: &Tokens) -> Vec<String> {
        let lacks = |scope: &String| match scope.as_str() {
            OFFLINE => tokens.refresh.is_none(),
            _ => !tokens.scope.is_empty() && !tokens.scope.contains(scope),
        };
        self.scopes().into_iter().filter(lacks).collect()
    }

    /// Names the scopes in a refusal that is about them.
    pub(super) fn with_scopes(&self, mut error: SignInError) -> SignInError {
        use SignInError::{Endpoint, Refused};
        let (Refused { class: OauthRefusal::Scope, reason, .. }
        | Endpoint(TokenEndpointError::Refused { class: OauthRefusal::Scope, reason, .. })) = &mut error
        else {
            return error;
        };
        let asked = format!("asked for openid {}", self.scopes().join(" "));
        *reason = if reason.is_empty() { asked } else { format!("{reason}; {asked}") };
        error
    }

    /// Lists the parameters that go with the request which a person approves; `prompt=consent` because OpenID Connect Core
    /// §11 gives no refresh token without it.
    pub(super) fn asked(&self) -> Vec<(&str, &str)> {
        let own = &self.settings.authorization_parameters;
        let consent = !own.contains_key("prompt") && self.scopes().iter().any(|scope| scope == OFFLINE);
        let mut all: Vec<_> = own.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        all.extend(consent.then_some(("prompt", "consent")));
        for (name, value) in self.resources() {
            all.push((name, value));
        }
        all
    }

    /// Gives the `resource` parameters (RFC 8707 §2), which token requests repeat.
    pub(super) fn resources(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.settings.resources.iter().map(|resource| ("resource", resource.as_str()))
    }

    /// Gives the way to the provider.
    pub(super) fn way<'a>(&self, https: &'a Https, now: Timestamp, deadline: Deadline) -> Way<'a> {
        Way::new(https, &self.settings.peer, now, deadline)
    }
}

impl fmt::Debug for Provider {
    /// Shows the issuer alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider").field("issuer", &self.issuer()).finish_non_exhaustive()
    }
}
