//! What Roles Anywhere refused, in one sentence for each thing that may be wrong.
//! An answer that is no success comes in, an error with a sentence and the next step goes out.
//! Shows a cut of AWS's own message, without anything that looks like a credential. Roles Anywhere API reference, "Common errors".

use credmint_https::Answer;
use credmint_identities::quotable;
use credmint_vocabulary::Timestamp;
use serde::Deserialize;

use crate::cloud::Told;
use crate::error::GrantError;

/// Holds what stands in an error answer; the code may stand in a header instead.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Refusal {
    #[serde(alias = "__type")]
    code: String,
    #[serde(alias = "Message")]
    message: String,
}

/// Makes an error of an error answer; `None` when it is none of AWS.
pub(crate) fn refused(who: &str, what: &str, answer: &Answer, now: Timestamp) -> Option<GrantError> {
    let status = answer.status.as_u16();
    let refusal: Refusal = serde_json::from_slice(&answer.body).unwrap_or_default();
    let header = answer.headers.get("x-amzn-errortype").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let code = if header.is_empty() { refusal.code.as_str() } else { header };
    // `com.amazon#AccessDeniedException:http://…` is `AccessDeniedException`.
    let code = code.split(':').next().and_then(|code| code.rsplit('#').next()).unwrap_or_default();
    if code.is_empty() {
        return None;
    }
    let (code, message, who) = (quotable(code), quotable(&refusal.message), who.to_owned());
    let reason = if message.is_empty() { code.clone() } else { format!("{code}: {message}") };
    if code.contains("Throttling") || code.contains("TooManyRequests") || status == 429 {
        return Some(GrantError::Throttled { who, retry_after: answer.retry_after(now) });
    }
    if status >= 500 {
        return Some(GrantError::Failing { who, status, reason });
    }
    let words = reason.to_ascii_lowercase();
    let known = REASONS.iter().find(|(needle, ..)| words.contains(needle)).map(|(_, why, hint)| (*why, Some(*hint)));
    let (why, hint) = known.unwrap_or(("it gave a reason that we do not know", None));
    Some(GrantError::Explained { who, what: what.to_owned(), status, why, reason, hint })
}

/// What to look for in code and message, in lower case; the first counts.
const REASONS: &[Told] = &[
    (
        "revoked",
        "the certificate is revoked",
        "get another certificate, or look at the revocation list of the trust anchor",
    ),
    (
        "expired",
        "the certificate is over, or the signature is of another time",
        "check this machine's clock, and the ttl of the issuer that certificate_issuer names",
    ),
    (
        "signature",
        "it does not accept the signature",
        "check this machine's clock, and that no proxy changes the request",
    ),
    (
        "untrusted",
        "the certificate does not lead to the trust anchor, or is not fit for it",
        "compare the trust anchor's certificate with the authority of certificate_issuer; the certificate needs digitalSignature and CA:FALSE, and its path the intermediates",
    ),
    (
        "certificate",
        "it does not take the certificate",
        "the certificate needs digitalSignature, CA:FALSE and a path to the trust anchor of trust_anchor_arn",
    ),
    (
        "disabled",
        "the trust anchor or the profile is disabled",
        "enable it: aws rolesanywhere enable-trust-anchor, or enable-profile",
    ),
    (
        "not found",
        "there is no such trust anchor or profile",
        "check trust_anchor_arn and profile_arn in the settings, and their region",
    ),
    (
        "notfound",
        "there is no such trust anchor or profile",
        "check trust_anchor_arn and profile_arn in the settings, and their region",
    ),
    (
        "session name",
        "the profile takes no session name of ours",
        "set acceptRoleSessionName of the profile, or leave session_name out",
    ),
    (
        "sessionname",
        "the profile takes no session name of ours",
        "set acceptRoleSessionName of the profile, or leave session_name out",
    ),
    ("assume", ASSUME, TRUST_POLICY),
    ("role", ASSUME, TRUST_POLICY),
    ("accessdenied", ASSUME, TRUST_POLICY),
    (
        "validation",
        "a value of the request is not allowed",
        "check the ARNs, duration and session_name in the settings",
    ),
];

const ASSUME: &str = "the role does not let Roles Anywhere in";
const TRUST_POLICY: &str = "the role's trust policy has to allow rolesanywhere.amazonaws.com sts:AssumeRole, sts:TagSession and sts:SetSourceIdentity, with conditions that the certificate meets, and the profile has to name the role";
