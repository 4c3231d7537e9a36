//! What the AWS SDKs are answered at a container's credentials endpoint.
//! A credential comes in, one JSON object goes out; so does a refusal, which the SDKs show.
//! Pure. <https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html>

use credmint_vocabulary::{Secret, Timestamp};
use serde::Serialize;
use zeroize::Zeroizing;

use crate::answer::{AnswerError, Credential, line, written};

/// What the SDKs read here; what is `SessionToken` elsewhere is `Token`, and botocore wants all four.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Answer<'a> {
    access_key_id: &'a str,
    #[serde(serialize_with = "written")]
    secret_access_key: &'a Secret<String>,
    #[serde(serialize_with = "written")]
    token: &'a Secret<String>,
    expiration: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    account_id: Option<&'a str>,
}

/// Writes the answer. The end is told early, as everywhere; in the last minute, where nothing better is to be had, as it is.
///
/// # Errors
/// [`AnswerError`], when an SDK could not use the credential.
pub fn answer(credential: &Credential<'_>, now: Timestamp) -> Result<Zeroizing<Vec<u8>>, AnswerError> {
    let keys = credential.aws_keys()?;
    let end = credential.expires.ok_or(AnswerError::Kind("end of life"))?;
    keys.check()?;
    if end <= now {
        return Err(AnswerError::Expired);
    }
    let told = credential.announced_end(now).ok().flatten().unwrap_or(end);
    line(&Answer {
        access_key_id: keys.access_key_id,
        secret_access_key: keys.secret_access_key,
        token: keys.session_token,
        expiration: told.to_string(),
        account_id: keys.account_id,
    })
}

/// What the SDKs read of a refusal.
#[derive(Serialize)]
struct Refusal<'a> {
    code: &'a str,
    message: &'a str,
}

/// Writes a refusal: a word, and a sentence for people.
#[must_use]
pub fn refusal(code: &str, message: &str) -> Vec<u8> {
    serde_json::to_vec(&Refusal { code, message }).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::AccessKeys;

    fn answered(keys: (&str, &str, &str), ends: i64) -> Result<String, AnswerError> {
        let (secret, token) = (Secret::from(keys.1), Secret::from(keys.2));
        let keys =
            AccessKeys { access_key_id: keys.0, secret_access_key: &secret, session_token: &token, account_id: None };
        let credential =
            Credential { keys: Some(keys), expires: Some(Timestamp::from_unix(ends)), ..Credential::default() };
        answer(&credential, Timestamp::from_unix(1_000)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    #[test]
    fn an_answer_has_what_botocore_wants_by_its_own_names() {
        let text = answered(("AKID", "key", "session"), 4_600).expect("an answer");
        let expected = "{\"AccessKeyId\":\"AKID\",\"SecretAccessKey\":\"key\",\"Token\":\"session\",\
                        \"Expiration\":\"1970-01-01T01:15:40Z\"}\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn in_its_last_minute_the_end_is_told_as_it_is_and_what_is_over_is_none() {
        assert!(answered(("a", "b", "c"), 1_030).expect("alive").contains("1970-01-01T00:17:10Z"));
        assert_eq!(answered(("a", "b", "c"), 1_000), Err(AnswerError::Expired));
        assert_eq!(answered(("a", "b", ""), 4_600), Err(AnswerError::Empty));
        assert!(answer(&Credential::default(), Timestamp::from_unix(0)).is_err());
    }

    #[test]
    fn a_refusal_is_an_object_whatever_is_said() {
        assert_eq!(refusal("NotFound", "say \"x\""), br#"{"code":"NotFound","message":"say \"x\""}"#);
    }
}
