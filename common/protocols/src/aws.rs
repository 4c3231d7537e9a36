//! How the AWS SDKs ask: `credential_process` of a profile, version 1.
//! Arguments come in, the name of a provider goes out; a credential comes in, one JSON object goes out.
//! Pure. <https://docs.aws.amazon.com/sdkref/latest/guide/feature-process-credentials.html>

use credmint_vocabulary::{Secret, Timestamp};
use serde::Serialize;
use zeroize::Zeroizing;

use crate::answer::{AnswerError, Credential, line, written};

/// What the SDKs read; botocore wants these very letters.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Answer<'a> {
    version: u8,
    access_key_id: &'a str,
    #[serde(serialize_with = "written")]
    secret_access_key: &'a Secret<String>,
    #[serde(serialize_with = "written")]
    session_token: &'a Secret<String>,
    /// Without it no SDK ever asks again.
    expiration: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    account_id: Option<&'a str>,
}

/// Writes the answer.
///
/// # Errors
/// [`AnswerError`], when an SDK could not use the credential.
pub fn answer(credential: &Credential<'_>, now: Timestamp) -> Result<Zeroizing<Vec<u8>>, AnswerError> {
    let keys = credential.aws_keys()?;
    let end = credential.announced_end(now)?.ok_or(AnswerError::Kind("end of life"))?;
    keys.check()?;
    line(&Answer {
        version: 1,
        access_key_id: keys.access_key_id,
        secret_access_key: keys.secret_access_key,
        session_token: keys.session_token,
        expiration: end.to_string(),
        account_id: keys.account_id,
    })
}
