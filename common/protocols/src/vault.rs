//! How `vault`, `bao` and Terraform's vault provider ask a token helper.
//! One argument comes in, a verb goes out; a token comes in, its bytes go out without a line break.
//! Pure. openbao/openbao `internal/command/token/helper_external.go`; hashicorp/vault `api/tokenhelper`.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use zeroize::Zeroizing;

use crate::answer::{AnswerError, Credential};
use crate::host::comparison_form;
use crate::program::{CallError, texts};

/// Most bytes of standard input that are read.
pub const MAXIMUM_INPUT: usize = 64 * 1024;

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

/// Finds the provider in the name that the program was linked under: `credmint-vault-NAME`.
#[must_use]
pub fn provider_of(program: &OsStr) -> Option<String> {
    let name = Path::new(program).file_name()?.to_str()?;
    let name = name.strip_suffix(".exe").unwrap_or(name).strip_prefix("credmint-vault-")?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// Finds the host in a server's address, in comparison form: without the port 443 of https.
#[must_use]
pub fn host(address: &str) -> Option<String> {
    comparison_form(address)
}

/// Writes the token: with a line break the clients refuse it.
///
/// # Errors
/// [`AnswerError`], when they could not use it.
pub fn answer(credential: &Credential<'_>) -> Result<Zeroizing<Vec<u8>>, AnswerError> {
    credential.bearer().map(|token| Zeroizing::new(token.expose().as_bytes().to_vec()))
}

const VERBS: &str = "get, store and erase";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_provider_is_in_the_programs_name_or_in_the_address() {
        assert_eq!(provider_of(OsStr::new("/usr/bin/credmint-vault-prod")), Some("prod".to_owned()));
        assert_eq!(provider_of(OsStr::new("credmint-vault")), None);
        assert_eq!(provider_of(OsStr::new("credmint-vault-")), None);
        assert_eq!(host("https://Vault.corp.example:8200/"), Some("vault.corp.example:8200".to_owned()));
        assert_eq!(host("https://vault.corp.example:443"), Some("vault.corp.example".to_owned()));
        assert_eq!(host("https:///"), None);
    }

    #[test]
    fn a_token_has_no_line_break_after_it() {
        let token = credmint_vocabulary::Secret::from("s.token");
        let credential = Credential { token: Some(&token), ..Credential::default() };
        assert_eq!(answer(&credential).expect("an answer").as_slice(), b"s.token");
    }
}
