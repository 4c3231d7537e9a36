//! How Google's authentication libraries ask an executable-sourced external account.
//! Environment of the call comes in, the wanted audience and type go out; a token or a failure comes in, one JSON object goes out.
//! Pure. <https://google.aip.dev/auth/4117>, response format version 1.

use credmint_vocabulary::{Failure, Secret, Timestamp};
use serde::Serialize;
use zeroize::Zeroizing;

use crate::answer::{AnswerError, Credential, line, written};

/// The token type that we answer with; the libraries take it for both kinds of JWT.
pub const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";
/// The other one that a JWT may be asked for as.
pub const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";

#[derive(Serialize)]
struct Answer<'a> {
    version: u8,
    success: bool,
    token_type: &'a str,
    #[serde(serialize_with = "written")]
    id_token: &'a Secret<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expiration_time: Option<i64>,
}

#[derive(Serialize)]
struct Refusal<'a> {
    version: u8,
    success: bool,
    code: &'a str,
    message: &'a str,
}

/// Writes the answer, for the type that `GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE` says.
///
/// # Errors
/// [`AnswerError`], when a library could not use the credential.
pub fn answer(
    credential: &Credential<'_>,
    wanted: Option<&str>,
    now: Timestamp,
) -> Result<Zeroizing<Vec<u8>>, AnswerError> {
    let token_type = match wanted {
        None | Some("" | JWT) => JWT,
        Some(ID_TOKEN) => ID_TOKEN,
        Some(_) => return Err(AnswerError::Kind("subject token of that type, only a JWT")),
    };
    let expiration_time = credential.announced_end(now)?.map(Timestamp::unix);
    line(&Answer { version: 1, success: true, token_type, id_token: credential.bearer()?, expiration_time })
}

/// Writes a failure: with exit status 0, because otherwise the libraries show no message, or all of standard output.
#[must_use]
pub fn failure(failure: &Failure) -> Vec<u8> {
    let hint = failure.hint.as_ref().map(|hint| format!("; hint: {hint}")).unwrap_or_default();
    let message = format!("{}{hint}", failure.what);
    let refusal = Refusal { version: 1, success: false, code: failure.kind.word(), message: &message };
    line(&refusal).map(|line| line.to_vec()).unwrap_or_else(|_| NO_MESSAGE.to_vec())
}

const NO_MESSAGE: &[u8] = b"{\"version\":1,\"success\":false,\"code\":\"internal\",\"message\":\"no message\"}\n";
