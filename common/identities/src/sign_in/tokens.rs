//! What a sign-in gives: tokens, what they say, and when they end.
//! The parts of a token answer come in, the token that proves who is asking goes out.
//! Shows no token; the claims are those of the ID token, which was checked when it came.

use std::fmt;

use credmint_settings::OidcTokenKind;
use credmint_vocabulary::{Secret, Timestamp};

use crate::claims::Claims;
use crate::sign_in::error::SignInError;
use crate::subject_token::SubjectToken;

/// Holds the tokens of one sign-in or refresh: one value, swapped as one.
pub struct Tokens {
    /// Access token.
    pub access: Secret<String>,
    /// When the access token ends, if the issuer said so.
    pub access_expires: Option<Timestamp>,
    /// ID token, checked; after a refresh without a new one, the one before.
    pub id: Option<Secret<String>>,
    /// Claims of the ID token.
    pub claims: Option<Claims>,
    /// Refresh token; after a refresh without a new one, the one before.
    pub refresh: Option<Secret<String>>,
    /// Scopes that were granted; empty when the issuer did not say.
    pub scope: Vec<String>,
    /// Host and port of the issuer, for messages.
    pub who: String,
}

impl Tokens {
    /// Gives the token that proves who is asking.
    ///
    /// # Errors
    /// [`SignInError::NoIdToken`], or why the token cannot be one.
    pub fn subject(&self, kind: OidcTokenKind) -> Result<SubjectToken, SignInError> {
        let token = match kind {
            OidcTokenKind::Access => &self.access,
            OidcTokenKind::Id => self.id.as_ref().ok_or_else(|| SignInError::NoIdToken { who: self.who.clone() })?,
        };
        Ok(SubjectToken::new(token.copied())?)
    }

    /// Says when that token ends; `None` when nobody says so.
    #[must_use]
    pub fn ends(&self, kind: OidcTokenKind) -> Option<Timestamp> {
        match kind {
            OidcTokenKind::Id => self.claims.as_ref().and_then(Claims::exp),
            OidcTokenKind::Access => self.access_expires.or_else(|| Claims::of(&self.access)?.exp()),
        }
    }
}

impl fmt::Debug for Tokens {
    /// Shows what there is, and no token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Tokens");
        shown.field("claims", &self.claims).field("access_expires", &self.access_expires);
        shown.field("refresh", &self.refresh.is_some()).field("scope", &self.scope).finish_non_exhaustive()
    }
}
