//! What Vault's answers mean: the envelope of a success, and every status that is none.
//! Status, headers and body come in, data with warnings or an error without any body goes out.
//! Shows of a refusal its class, and a cut of the server's words without anything that looks like a credential.

use credmint_https::{Answer, host_and_port};
use credmint_identities::quotable;
use credmint_vocabulary::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use zeroize::Zeroizing;

use crate::error::GrantError;
use crate::vault::refusal::VaultRefusal;

/// Holds the body of a success.
pub(crate) struct Reply {
    who: String,
    body: Zeroizing<Vec<u8>>,
    /// By how many seconds our clock is ahead of the server's; negative when it is behind.
    pub(crate) clock_ahead: Option<i64>,
}

/// Holds the envelope around all data.
#[derive(Deserialize)]
pub(crate) struct Envelope<T> {
    /// The data.
    pub(crate) data: Option<T>,
    /// Identifies a lease; empty when there is none.
    #[serde(default)]
    pub(crate) lease_id: String,
    /// Life of the lease in seconds.
    #[serde(default)]
    pub(crate) lease_duration: u64,
    /// What the server did otherwise than asked.
    #[serde(default)]
    pub(crate) warnings: Option<Vec<String>>,
}

/// Holds the envelope of a refusal.
#[derive(Deserialize)]
struct Refusal {
    #[serde(default)]
    errors: Vec<String>,
}

impl Reply {
    /// Tells a success from everything else; `path` is what was asked for.
    pub(crate) fn judge(who: &str, path: &str, answer: Answer, now: Timestamp) -> Result<Self, GrantError> {
        let status = answer.status.as_u16();
        let owned = who.to_owned();
        match status {
            200..=208 => {
                let clock_ahead = answer.date().map(|theirs| now.unix() - theirs.unix());
                Ok(Self { who: owned, body: answer.body, clock_ahead })
            }
            300..=399 => {
                Err(GrantError::Redirected { who: owned, to: answer.location().as_ref().and_then(host_and_port) })
            }
            412 | 429 => Err(GrantError::Throttled { who: owned, retry_after: answer.retry_after(now) }),
            472 | 473 => Err(GrantError::Standby { who: owned, status }),
            503 => Err(sealed_or_failing(owned, &answer.body)),
            500..=599 => Err(failing(owned, status, &answer.body)),
            _ => Err(refused(owned, path, status, &answer.body)),
        }
    }

    /// Reads the whole body; a mistake is told by its place, never by what stands there.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, GrantError> {
        serde_json::from_slice(&self.body).map_err(|error| self.malformed(&place(&error)))
    }

    /// Reads the envelope with parts that borrow from the body.
    pub(crate) fn borrow<'a, T: Deserialize<'a>>(&'a self) -> Result<T, GrantError> {
        serde_json::from_slice(&self.body).map_err(|error| self.malformed(&place(&error)))
    }

    /// Makes an error about an answer that is a success and cannot be used.
    pub(crate) fn malformed(&self, what: &str) -> GrantError {
        GrantError::Malformed { who: self.who.clone(), what: what.to_owned() }
    }
}

/// Tells where a JSON text is wrong; serde's own words may show what stands there.
fn place(error: &serde_json::Error) -> String {
    let what = if error.is_data() { "a member is missing or of another type" } else { "it is no JSON" };
    format!("{what} (line {}, column {})", error.line(), error.column())
}

fn errors(body: &[u8]) -> Vec<String> {
    serde_json::from_slice(body).map(|refusal: Refusal| refusal.errors).unwrap_or_default()
}

/// Joins the server's words, cut and without what looks like a credential.
fn words(errors: &[String]) -> String {
    let plain =
        |error: &String| quotable(error.trim_start_matches("1 error occurred:").trim().trim_start_matches("* "));
    errors.iter().take(3).map(plain).filter(|word| !word.is_empty()).collect::<Vec<_>>().join("; ")
}

fn refused(who: String, path: &str, status: u16, body: &[u8]) -> GrantError {
    let errors = errors(body);
    let class = VaultRefusal::of(status, &errors);
    let reason = Some(words(&errors)).filter(|reason| reason != class.words()).unwrap_or_default();
    GrantError::Refused { who, path: path.to_owned(), status, class, reason }
}

fn failing(who: String, status: u16, body: &[u8]) -> GrantError {
    GrantError::Failing { who, status, reason: words(&errors(body)) }
}

/// Tells a sealed Vault from a proxy in front of it that has none.
fn sealed_or_failing(who: String, body: &[u8]) -> GrantError {
    let errors = errors(body);
    if errors.iter().any(|error| error.to_ascii_lowercase().contains("sealed")) {
        return GrantError::Sealed { who };
    }
    GrantError::Failing { who, status: 503, reason: words(&errors) }
}

/// Makes the server's warnings fit to be shown.
///
/// One kind is left out: that it took a name from the request and not from the parameter of the same value. We send both,
/// and whether the certificate has the name is seen in the certificate.
pub(crate) fn told(who: &str, warnings: Option<&[String]>) -> Vec<String> {
    let expected = |warning: &&String| warning.contains("was provided but the role is set with \"use_csr_");
    let warnings = warnings.unwrap_or_default().iter().filter(|warning| !expected(warning));
    warnings.take(10).map(|warning| format!("{who} warns: {}", quotable(warning))).collect()
}
