//! The token that proves who is asking (RFC 8693 calls it the subject token).
//! A secret text comes in, a token that is fit for a header and a form goes out, with its claims and its digest.
//! Touches nothing else; the digest keeps apart the entries of two users who share a route (design §4.4).

use std::fmt;

use aws_lc_rs::digest;
use credmint_vocabulary::{Secret, Timestamp};

use crate::claims::Claims;

/// Holds a subject token.
pub struct SubjectToken {
    /// The token, without line end.
    pub token: Secret<String>,
    /// What it says, if it is a JWT; not verified.
    pub claims: Option<Claims>,
    /// When it is over: as it says itself, or as whoever granted it said, if nobody can read it.
    pub expires: Option<Timestamp>,
    /// SHA-256 of the token.
    pub digest: [u8; 32],
    /// The one server that it may be sent to, if it is a client token of a Vault; any issuer may see other tokens.
    pub home: Option<String>,
}

/// Says why a text cannot be a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SubjectTokenError {
    /// Nothing was there but line ends.
    #[error("is empty")]
    Empty,
    /// Longer than any token that a server would take.
    #[error("is longer than 16 KiB")]
    TooLong,
    /// A control character, a blank or a letter outside ASCII.
    #[error("has a character at position {0} that no token has (blank, control or outside ASCII)")]
    Character(usize),
}

/// Largest token: Vault and most proxies refuse headers beyond that.
const LIMIT: usize = 16 * 1024;

impl SubjectToken {
    /// Takes a token over and drops line ends behind it, which most files and programs add.
    ///
    /// # Errors
    /// [`SubjectTokenError`] when what remains cannot be a token; the position is told, never the character.
    pub fn new(text: Secret<String>) -> Result<Self, SubjectTokenError> {
        let token = without_line_end(text);
        check(token.expose())?;
        let claims = Claims::of(&token);
        let mut own = [0; 32];
        let sum = digest::digest(&digest::SHA256, token.expose().as_bytes());
        own.iter_mut().zip(sum.as_ref()).for_each(|(to, from)| *to = *from);
        Ok(Self { expires: claims.as_ref().and_then(Claims::exp), token, claims, digest: own, home: None })
    }
}

impl fmt::Debug for SubjectToken {
    /// Shows neither token nor digest.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubjectToken").field("claims", &self.claims).finish_non_exhaustive()
    }
}

/// Drops line ends behind a secret; copies only when there is one.
pub(crate) fn without_line_end(text: Secret<String>) -> Secret<String> {
    let trimmed = text.expose().trim_end_matches(['\n', '\r']);
    if trimmed.len() == text.len() { text } else { Secret::from(trimmed) }
}

fn check(token: &str) -> Result<(), SubjectTokenError> {
    if token.is_empty() {
        return Err(SubjectTokenError::Empty);
    }
    if token.len() > LIMIT {
        return Err(SubjectTokenError::TooLong);
    }
    let position = token.bytes().position(|byte| !byte.is_ascii_graphic());
    position.map_or(Ok(()), |at| Err(SubjectTokenError::Character(at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_behind_are_dropped_cargo_13770() {
        let token = SubjectToken::new(Secret::from("abc\r\n\n")).unwrap();
        assert!(token.token.same_as(b"abc") && token.claims.is_none());
        assert_eq!(token.digest[..4], [0xba, 0x78, 0x16, 0xbf]);
    }

    #[test]
    fn what_cannot_be_a_token_is_refused() {
        let error = |text: &str| SubjectToken::new(Secret::from(text)).unwrap_err();
        assert_eq!(error("\n"), SubjectTokenError::Empty);
        assert_eq!(error("a\nb"), SubjectTokenError::Character(1));
        assert_eq!(error("a b"), SubjectTokenError::Character(1));
        assert_eq!(error("aé"), SubjectTokenError::Character(1));
        assert_eq!(error(&"a".repeat(LIMIT + 1)), SubjectTokenError::TooLong);
    }
}
