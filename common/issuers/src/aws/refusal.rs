//! What STS refused, in one sentence for each code of its error answers.
//! An answer that is no success comes in, an error with a sentence and the next step goes out.
//! Shows a cut of STS's own message, without anything that looks like a credential. STS API reference, "Errors".

use credmint_https::Answer;
use credmint_identities::quotable;
use credmint_vocabulary::Timestamp;

use crate::error::GrantError;
use credmint_identities::aws::xml;

/// Tells the code of an error answer.
pub(crate) fn code(answer: &Answer) -> Option<String> {
    xml::text(&answer.body, "Error", "Code").map(|code| quotable(code.expose()))
}

/// Makes an error of an error answer; `None` when it is none of STS.
pub(crate) fn refused(who: &str, what: &str, answer: &Answer, now: Timestamp) -> Option<GrantError> {
    let code = code(answer)?;
    let (who, status) = (who.to_owned(), answer.status.as_u16());
    let message = xml::text(&answer.body, "Error", "Message");
    let message = message.map(|message| quotable(message.expose())).unwrap_or_default();
    let reason = if message.is_empty() { code.clone() } else { format!("{code}: {message}") };
    if THROTTLED.contains(&code.as_str()) || status == 429 {
        return Some(GrantError::Throttled { who, retry_after: answer.retry_after(now) });
    }
    if code == UNREACHED {
        let reason = format!("AWS does not reach the issuer of the identity's token; {reason}");
        return Some(GrantError::Failing { who, status, reason });
    }
    if status >= 500 {
        return Some(GrantError::Failing { who, status, reason });
    }
    let (why, hint) = class(&code);
    Some(GrantError::Explained { who, what: what.to_owned(), status, why, reason, hint })
}

/// The one refusal that is worth a second try: AWS did not get the issuer's keys in time.
pub(crate) const UNREACHED: &str = "IDPCommunicationError";

const THROTTLED: [&str; 5] =
    ["Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequestsException", "SlowDown"];

/// Gives the sentence and the next step for a code.
fn class(code: &str) -> (&'static str, Option<&'static str>) {
    let (why, hint) = match code {
        "ExpiredTokenException" | "ExpiredToken" => {
            ("the token that was presented has expired", "get a new token, and check this machine's clock")
        }
        "InvalidIdentityToken" | "InvalidIdentityTokenException" => (
            "it does not accept the identity's token",
            "the account needs an OIDC provider for the token's iss, with the token's aud among its audiences",
        ),
        "AccessDenied" | "AccessDeniedException" => (
            "the role does not let this identity in",
            "compare aud and sub of the token with the conditions in the trust policy of the role; a role of `then` has to trust the one before it, which needs sts:AssumeRole",
        ),
        "IDPRejectedClaim" => ("the issuer does not stand by the token any more", "sign in again, or get a new token"),
        "MalformedPolicyDocument" => ("the session policy is malformed", "check policy in the settings"),
        "PackedPolicyTooLarge" => {
            ("the session policies and tags are too large together", "shorten policy, or name fewer policy_arns")
        }
        "RegionDisabledException" => {
            ("STS is not activated in this region", "activate it in the account, or set another region")
        }
        "ValidationError" | "InvalidParameterValue" => {
            ("a value of the request is not allowed", "check role_arn, duration and session_name in the settings")
        }
        "SignatureDoesNotMatch" | "RequestExpired" | "InvalidClientTokenId" | "IncompleteSignature" => {
            ("it does not accept the signature", "check this machine's clock, and region and endpoint in the settings")
        }
        _ => return ("it gave a reason that we do not know", None),
    };
    (why, Some(hint))
}
