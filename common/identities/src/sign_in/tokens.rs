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
    /// What is special about them if the access token is a client token of a Vault.
    pub vault: Option<Box<VaultTraits>>,
}

/// Says what a client token of a Vault is, beside an access token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaultTraits {
    /// The one server that it may be sent to.
    pub home: String,
    /// Whether it can be renewed, which needs nothing but the token itself.
    pub renewable: bool,
    /// Whether it can be revoked; a batch token cannot.
    pub revocable: bool,
    /// When it ends however often it is renewed, if the Vault says so.
    pub ends_for_good: Option<Timestamp>,
}

impl Tokens {
    /// Makes the tokens of a sign-in of which a refresh token is left, and nothing that serves.
    #[must_use]
    pub fn of_refresh(refresh: Secret<String>, who: String) -> Self {
        Self {
            access: Secret::from(""),
            access_expires: None,
            id: None,
            claims: None,
            refresh: Some(refresh),
            scope: Vec::new(),
            who,
            vault: None,
        }
    }

    /// Gives the same tokens with another refresh token, for one more try; the access token is not among them.
    #[must_use]
    pub fn with_refresh(&self, refresh: Secret<String>) -> Self {
        Self {
            id: self.id.as_ref().map(Secret::copied),
            claims: self.claims.clone(),
            scope: self.scope.clone(),
            ..Self::of_refresh(refresh, self.who.clone())
        }
    }

    /// Gives the token that proves who is asking.
    ///
    /// # Errors
    /// [`SignInError::NoIdToken`], or why the token cannot be one.
    pub fn subject(&self, kind: OidcTokenKind) -> Result<SubjectToken, SignInError> {
        if let Some(vault) = &self.vault {
            let (claims, home) = (self.claims.clone(), Some(vault.home.clone()));
            return Ok(SubjectToken { claims, home, ..SubjectToken::new(self.access.copied())? });
        }
        let token = match kind {
            OidcTokenKind::Access => &self.access,
            OidcTokenKind::Id => self.id.as_ref().ok_or_else(|| SignInError::NoIdToken { who: self.who.clone() })?,
        };
        let token = SubjectToken::new(token.copied())?;
        Ok(SubjectToken { expires: token.expires.or_else(|| self.ends(kind)), ..token })
    }

    /// Tells whether there can be new ones without the person.
    #[must_use]
    pub fn can_be_renewed(&self) -> bool {
        self.vault.as_ref().map_or(self.refresh.is_some(), |vault| vault.renewable)
    }

    /// Says when that token ends; `None` when nobody says so.
    #[must_use]
    pub fn ends(&self, kind: OidcTokenKind) -> Option<Timestamp> {
        match kind {
            _ if self.vault.is_some() => self.access_expires,
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
