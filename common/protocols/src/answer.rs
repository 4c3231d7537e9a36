//! What the answers of all protocols have in common: a credential, and the one line of JSON that it becomes.
//! A credential as the agent gave it comes in, bytes go out, complete or not at all, in a buffer that is wiped.
//! Pure: the time of now is a parameter.

use std::io;
use std::time::Duration;

use credmint_vocabulary::{Secret, Timestamp};
use serde::{Serialize, Serializer};
use zeroize::Zeroizing;

/// Holds what the agent granted for a provider; which parts there are depends on the issuer.
#[derive(Clone, Copy, Default)]
pub struct Credential<'a> {
    /// Bearer token, or subject token.
    pub token: Option<&'a Secret<String>>,
    /// Certification path in PEM.
    pub certificate_pem: Option<&'a str>,
    /// Private key in PEM.
    pub private_key_pem: Option<&'a Secret<String>>,
    /// User name that goes with the token where a client wants one.
    pub username: Option<&'a str>,
    /// Keys of AWS.
    pub keys: Option<AccessKeys<'a>>,
    /// End of life.
    pub expires: Option<Timestamp>,
}

/// Holds temporary security credentials of AWS.
#[derive(Clone, Copy)]
pub struct AccessKeys<'a> {
    /// Access key ID.
    pub access_key_id: &'a str,
    /// Secret access key.
    pub secret_access_key: &'a Secret<String>,
    /// Session token.
    pub session_token: &'a Secret<String>,
    /// Account that the role is of.
    pub account_id: Option<&'a str>,
}

impl AccessKeys<'_> {
    /// Refuses keys of which a part is empty: SDKs would sign with it.
    pub(crate) fn check(&self) -> Result<(), AnswerError> {
        let is_whole =
            !self.access_key_id.is_empty() && !self.secret_access_key.is_empty() && !self.session_token.is_empty();
        if is_whole { Ok(()) } else { Err(AnswerError::Empty) }
    }
}

/// Says why a credential cannot be handed over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// Nothing is in it.
    #[error("the credential is empty")]
    Empty,
    /// It is of another kind than the protocol can carry.
    #[error("the issuer grants no {0}")]
    Kind(&'static str),
    /// An empty token: its reader would send an empty bearer.
    #[error("the token is empty")]
    EmptyToken,
    /// Too long for a header.
    #[error("the token has {0} bytes, more than {MAXIMUM_TOKEN}")]
    TooLong(usize),
    /// A byte that a header cannot have: clients fail on it without saying why.
    #[error("the token has a byte at position {0} that no HTTP header can have")]
    NotForAHeader(usize),
    /// It has ended: some clients would take it, and ask again for each request.
    #[error("the credential has expired")]
    Expired,
    /// It cannot be written as JSON.
    #[error("the credential cannot be written as JSON")]
    NotJson,
}

impl<'a> Credential<'a> {
    /// Gives the token, if it is one that can stand in a header.
    ///
    /// # Errors
    /// [`AnswerError`] says why there is none.
    pub fn bearer(&self) -> Result<&'a Secret<String>, AnswerError> {
        let token = self.token.ok_or(AnswerError::Kind("token"))?;
        check_token(token.expose().as_bytes())?;
        Ok(token)
    }

    /// Gives the keys of AWS.
    ///
    /// # Errors
    /// [`AnswerError::Kind`] when the issuer grants something else.
    pub fn aws_keys(&self) -> Result<AccessKeys<'a>, AnswerError> {
        self.keys.ok_or(AnswerError::Kind("access keys of AWS"))
    }

    /// Gives the user name; most servers look at the token alone.
    pub(crate) fn username(&self) -> &'a str {
        self.username.unwrap_or(USERNAME)
    }

    /// Tells its reader when it ends: a minute early, because readers use it until then to the second.
    ///
    /// # Errors
    /// [`AnswerError::Expired`], also when less than that minute is left.
    pub fn announced_end(&self, now: Timestamp) -> Result<Option<Timestamp>, AnswerError> {
        let end = self.expires.map(|expires| expires.minus(EARLY));
        if end.is_some_and(|end| end <= now) { Err(AnswerError::Expired) } else { Ok(end) }
    }
}

/// Checks that a token can stand in an HTTP header.
pub(crate) fn check_token(token: &[u8]) -> Result<(), AnswerError> {
    if token.is_empty() {
        return Err(AnswerError::EmptyToken);
    }
    if token.len() > MAXIMUM_TOKEN {
        return Err(AnswerError::TooLong(token.len()));
    }
    token.iter().position(|byte| !byte.is_ascii_graphic()).map_or(Ok(()), |at| Err(AnswerError::NotForAHeader(at)))
}

/// Writes one object as one line, in a buffer that never grows and is wiped.
pub(crate) fn line(object: &impl Serialize) -> Result<Zeroizing<Vec<u8>>, AnswerError> {
    let mut size = Size(0);
    serde_json::to_writer(&mut size, object).map_err(|_| AnswerError::NotJson)?;
    if size.0 <= "{}".len() {
        return Err(AnswerError::Empty);
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(size.0 + 1));
    serde_json::to_writer(&mut *bytes, object).map_err(|_| AnswerError::NotJson)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Serialises a secret, for `serialize_with` alone: where it is written to is wiped.
pub(crate) fn written<S: Serializer>(secret: &&Secret<String>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose())
}

/// The same for one that may be absent.
pub(crate) fn written_if_any<S: Serializer>(
    secret: &Option<&Secret<String>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match secret {
        Some(secret) => serializer.serialize_some(secret.expose()),
        None => serializer.serialize_none(),
    }
}

/// Counts what would be written.
struct Size(usize);

impl io::Write for Size {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Longest token: servers take headers of 8 to 64 KiB, Go's client and ours more.
pub(crate) const MAXIMUM_TOKEN: usize = 32 * 1024;
/// What GitLab wants for an OAuth token, and others do not mind.
pub(crate) const USERNAME: &str = "oauth2";
/// Neither Go's AWS SDK nor client-go has a margin of its own.
const EARLY: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_announced_a_minute_early_and_then_it_is_over() {
        let at = |seconds| Credential { expires: Some(Timestamp::from_unix(seconds)), ..Credential::default() };
        let now = Timestamp::from_unix(1_000);
        assert_eq!(at(1_061).announced_end(now), Ok(Some(Timestamp::from_unix(1_001))));
        assert_eq!(at(1_060).announced_end(now), Err(AnswerError::Expired));
        assert_eq!(Credential::default().announced_end(now), Ok(None));
    }
}
