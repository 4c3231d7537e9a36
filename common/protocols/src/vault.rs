//! How `vault`, `bao` and Terraform's vault provider ask a token helper.
//! One argument comes in, a verb goes out; a token comes in, its bytes go out without a line break.
//! Pure. openbao/openbao `internal/command/token/helper_external.go`; hashicorp/vault `api/tokenhelper`.

use std::ffi::OsString;

use zeroize::Zeroizing;

use crate::answer::{AnswerError, Credential};
use crate::program::{CallError, texts};

/// Says what a token helper was started for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `--help` alone.
    Help,
    /// `--version` alone.
    Version,
    /// Give the token.
    Get,
    /// A token comes on standard input: it is read, and not kept.
    Store,
    /// Nothing is to be kept.
    Erase,
}

/// Reads the one argument.
///
/// # Errors
/// [`CallError`], with what is wrong first.
pub fn call(arguments: Vec<OsString>) -> Result<Call, CallError> {
    let texts = texts(arguments)?;
    let [only] = texts.as_slice() else { return Err(CallError::UnknownVerb(VERBS)) };
    match only.as_str() {
        "--help" => Ok(Call::Help),
        "--version" => Ok(Call::Version),
        "get" => Ok(Call::Get),
        "store" => Ok(Call::Store),
        "erase" => Ok(Call::Erase),
        _ => Err(CallError::UnknownVerb(VERBS)),
    }
}

/// Writes the token: with a line break the clients refuse it.
///
/// # Errors
/// [`AnswerError`], when they could not use it.
pub fn answer(credential: &Credential<'_>) -> Result<Zeroizing<Vec<u8>>, AnswerError> {
    credential.bearer().map(|token| Zeroizing::new(token.expose().as_bytes().to_vec()))
}

const VERBS: &str = "get, store and erase";
