//! How Terraform's github provider asks the program of `GH_PATH`: `auth token --hostname HOST`.
//! Arguments come in, the host goes out; a token comes in, one line goes out.
//! Pure. integrations/terraform-provider-github `github/provider.go`.

use std::ffi::OsString;

use zeroize::Zeroizing;

use crate::answer::{AnswerError, Credential};
use crate::host::comparison_form;
use crate::program::{Asked, CallError, texts};

/// Reads `auth token [--hostname HOST]`; also with `=`, and with `-h`, as `gh` has it.
///
/// # Errors
/// [`CallError`], with what is wrong first.
pub fn call(arguments: Vec<OsString>) -> Result<Asked, CallError> {
    let texts = texts(arguments)?;
    let words: Vec<&str> = texts.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["--help"] => Ok(Asked::Help),
        ["--version"] => Ok(Asked::Version),
        ["auth", "token"] => Ok(Asked::Provider("github.com".to_owned())),
        ["auth", "token", "--hostname" | "-h", host] => named(host),
        ["auth", "token", one] => {
            let host = one.strip_prefix("--hostname=").ok_or(CallError::UnknownVerb(VERBS))?;
            named(host)
        }
        _ => Err(CallError::UnknownVerb(VERBS)),
    }
}

fn named(host: &str) -> Result<Asked, CallError> {
    comparison_form(host).map(Asked::Provider).ok_or(CallError::Malformed("--hostname has no host"))
}

/// Writes the token as a line, as `gh` does.
///
/// # Errors
/// [`AnswerError`], when the provider could not use it.
pub fn answer(credential: &Credential<'_>) -> Result<Zeroizing<Vec<u8>>, AnswerError> {
    let token = credential.bearer()?.expose();
    let mut bytes = Zeroizing::new(Vec::with_capacity(token.len() + 1));
    bytes.extend_from_slice(token.as_bytes());
    bytes.push(b'\n');
    Ok(bytes)
}

const VERBS: &str = "auth token --hostname HOST";
