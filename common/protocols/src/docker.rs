//! How docker, ORAS and OpenTofu ask a credential helper.
//! One argument and a server's address come in, a verb and the host go out; a token comes in, one JSON object goes out.
//! Pure. docker/docker-credential-helpers `client`, oras-project/oras-go `native_store.go`.

use std::ffi::OsString;

use credmint_vocabulary::Secret;
use serde::Serialize;
use zeroize::Zeroizing;

use crate::answer::{AnswerError, Credential, USERNAME, line, written};
use crate::host::comparison_form;
use crate::program::{CallError, texts};

/// The one sentence by which clients tell "not responsible" from a failure; on standard output, with exit status 1.
pub const NOT_FOUND: &[u8] = b"credentials not found in native keychain\n";
/// Most bytes of standard input that are read.
pub const MAXIMUM_INPUT: usize = 64 * 1024;

/// Says what the helper was started for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `--help` alone.
    Help,
    /// `--version` alone, or `version`, as the helpers beside us have it.
    Version,
    /// Give the credential of the server on standard input.
    Get,
    /// Name the servers whose credential can be had, and the user names.
    List,
    /// `store` and `erase`: what comes is read, and refused.
    Keep,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Answer<'a> {
    #[serde(rename = "ServerURL")]
    server_url: &'a str,
    username: &'a str,
    #[serde(serialize_with = "written")]
    secret: &'a Secret<String>,
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
        "--version" | "version" => Ok(Call::Version),
        "get" => Ok(Call::Get),
        "list" => Ok(Call::List),
        "store" | "erase" => Ok(Call::Keep),
        _ => Err(CallError::UnknownVerb(VERBS)),
    }
}

/// Finds the host in a server's address, in comparison form: `https://registry.example/v2/`, or the bare name.
///
/// # Errors
/// [`CallError::Malformed`], when it is no text, or there is none.
pub fn host(input: &[u8]) -> Result<String, CallError> {
    let text =
        std::str::from_utf8(input).map_err(|_| CallError::Malformed("the server's address is not UTF-8 text"))?;
    comparison_form(text).ok_or(CallError::Malformed("the server's address has no host"))
}

/// Names the server of a host as docker's files do: its own registry has another name there.
#[must_use]
pub fn server(host: &str) -> String {
    let own = ["index.docker.io", "docker.io", "registry-1.docker.io"].contains(&host);
    if own { "https://index.docker.io/v1/".to_owned() } else { host.to_owned() }
}

/// Writes the user name of each host; no secret is in it.
#[must_use]
pub fn list<'a>(hosts: impl IntoIterator<Item = (&'a str, Option<&'a str>)>) -> Vec<u8> {
    let named = |(host, username): (&str, Option<&str>)| (server(host), username.unwrap_or(USERNAME).into());
    let object: serde_json::Map<_, serde_json::Value> = hosts.into_iter().map(named).collect();
    format!("{}\n", serde_json::Value::Object(object)).into_bytes()
}

/// Writes the answer. Not under the name `<token>`, which would mean a refresh token.
///
/// # Errors
/// [`AnswerError`], when a client could not use it.
pub fn answer(credential: &Credential<'_>, server: &str) -> Result<Zeroizing<Vec<u8>>, AnswerError> {
    line(&Answer { server_url: server, username: credential.username(), secret: credential.bearer()? })
}

const VERBS: &str = "get, list, store and erase";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_one_object_of_user_names() {
        let hosts = [("registry.example", Some("ci")), ("docker.io", None)];
        let wanted = "{\"https://index.docker.io/v1/\":\"oauth2\",\"registry.example\":\"ci\"}\n";
        assert_eq!(String::from_utf8_lossy(&list(hosts)), wanted);
        assert_eq!(list([]), b"{}\n");
    }
}
