//! How scripts take a credential: one JSON object with all of it, or assignments that a shell reads.
//! A credential comes in, bytes go out, complete or not at all, in a buffer that is wiped.
//! Pure. POSIX.1-2024 XCU §2.2.2 for the quotes of `sh`.

use credmint_vocabulary::{Secret, Timestamp};
use serde::Serialize;
use zeroize::Zeroizing;

use crate::answer::{AnswerError, Credential, line, written_if_any};

/// Whose assignments are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shell {
    /// `sh`, and those that read what it reads: bash, zsh, ksh, dash.
    Sh,
    /// fish.
    Fish,
    /// PowerShell.
    Powershell,
}

#[derive(Serialize)]
struct Whole<'a> {
    #[serde(serialize_with = "written_if_any", skip_serializing_if = "Option::is_none")]
    token: Option<&'a Secret<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    username: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_certificate_pem: Option<&'a str>,
    #[serde(serialize_with = "written_if_any", skip_serializing_if = "Option::is_none")]
    client_private_key_pem: Option<&'a Secret<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    access_key_id: Option<&'a str>,
    #[serde(serialize_with = "written_if_any", skip_serializing_if = "Option::is_none")]
    secret_access_key: Option<&'a Secret<String>>,
    #[serde(serialize_with = "written_if_any", skip_serializing_if = "Option::is_none")]
    session_token: Option<&'a Secret<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    account_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
}

/// Writes all of it as one object, with the names of the credentials object.
///
/// # Errors
/// [`AnswerError`], when nothing is in it, or it has ended.
pub fn json(credential: &Credential<'_>, now: Timestamp) -> Result<Zeroizing<Vec<u8>>, AnswerError> {
    let keys = credential.keys;
    credential.announced_end(now)?;
    if keys.is_none() && credential.token.is_none() && credential.private_key_pem.is_none() {
        return Err(AnswerError::Empty);
    }
    line(&Whole {
        token: credential.token,
        username: credential.username,
        client_certificate_pem: credential.certificate_pem,
        client_private_key_pem: credential.private_key_pem,
        access_key_id: keys.map(|keys| keys.access_key_id),
        secret_access_key: keys.map(|keys| keys.secret_access_key),
        session_token: keys.map(|keys| keys.session_token),
        account_id: keys.and_then(|keys| keys.account_id),
        expires_at: credential.expires.map(|end| end.to_string()),
    })
}

/// Writes assignments: of a token under the given name, of keys and of a certificate with its key under those that AWS SDKs and
/// Terraform's kubernetes and helm providers read.
///
/// # Errors
/// [`AnswerError`], when there is nothing to assign, or it has ended.
pub fn assignments(
    credential: &Credential<'_>,
    variable: Option<&str>,
    shell: Shell,
    now: Timestamp,
) -> Result<Zeroizing<Vec<u8>>, AnswerError> {
    let end = credential.announced_end(now)?.map(|end| end.to_string());
    let mut all: Vec<(&str, &str)> = Vec::new();
    if let Some(keys) = credential.keys {
        all.push(("AWS_ACCESS_KEY_ID", keys.access_key_id));
        all.push(("AWS_SECRET_ACCESS_KEY", keys.secret_access_key.expose()));
        all.push(("AWS_SESSION_TOKEN", keys.session_token.expose()));
        all.extend(end.as_deref().map(|end| ("AWS_CREDENTIAL_EXPIRATION", end)));
    }
    if let (Some(certificate), Some(key)) = (credential.certificate_pem, credential.private_key_pem) {
        all.push(("KUBE_CLIENT_CERT_DATA", certificate));
        all.push(("KUBE_CLIENT_KEY_DATA", key.expose()));
    }
    if credential.token.is_some() {
        let variable = variable.ok_or(AnswerError::Kind("token that is known by a variable"))?;
        all.push((variable, credential.bearer()?.expose()));
    }
    if all.is_empty() { Err(AnswerError::Empty) } else { Ok(lines(&all, shell)) }
}

/// Tells whether every shell takes it for a name.
#[must_use]
pub fn is_variable(name: &str) -> bool {
    let first = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    first && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Writes one line a variable, in a buffer that never grows.
fn lines(all: &[(&str, &str)], shell: Shell) -> Zeroizing<Vec<u8>> {
    let most: usize = all.iter().map(|(name, value)| name.len() + MOST_GROWTH * value.len() + ROOM).sum();
    let mut bytes = Zeroizing::new(Vec::with_capacity(most));
    for (name, value) in all {
        let before = match shell {
            Shell::Sh => ["export ", name, "="],
            Shell::Fish => ["set -gx ", name, " "],
            Shell::Powershell => ["$env:", name, " = "],
        };
        before.iter().for_each(|part| bytes.extend_from_slice(part.as_bytes()));
        bytes.push(b'\'');
        value.bytes().for_each(|byte| bytes.extend_from_slice(quoted(&byte, shell)));
        bytes.extend_from_slice(b"'\n");
    }
    bytes
}

/// Writes a byte as it stands between single quotes.
fn quoted(byte: &u8, shell: Shell) -> &[u8] {
    match (byte, shell) {
        (b'\'', Shell::Sh) => br"'\''",
        (b'\'', Shell::Fish) => br"\'",
        (b'\\', Shell::Fish) => br"\\",
        (b'\'', Shell::Powershell) => b"''",
        _ => std::slice::from_ref(byte),
    }
}

/// What one byte becomes at most.
const MOST_GROWTH: usize = 4;
/// What stands around name and value.
const ROOM: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::AccessKeys;

    const NOW: Timestamp = Timestamp::from_unix(1_000);

    fn text(bytes: Result<Zeroizing<Vec<u8>>, AnswerError>) -> String {
        String::from_utf8(bytes.expect("an answer").to_vec()).expect("UTF-8")
    }

    #[test]
    fn keys_are_assigned_whole_and_a_token_under_the_given_name() {
        let (secret, token) = (Secret::from("s/k"), Secret::from("t"));
        let keys =
            AccessKeys { access_key_id: "ASIA", secret_access_key: &secret, session_token: &token, account_id: None };
        let expires = Some(Timestamp::from_unix(1_060 + 60));
        let credential = Credential { keys: Some(keys), expires, ..Credential::default() };
        assert_eq!(
            text(assignments(&credential, None, Shell::Sh, NOW)),
            "export AWS_ACCESS_KEY_ID='ASIA'\nexport AWS_SECRET_ACCESS_KEY='s/k'\nexport AWS_SESSION_TOKEN='t'\n\
             export AWS_CREDENTIAL_EXPIRATION='1970-01-01T00:17:40Z'\n"
        );
        let bearer = Credential { token: Some(&token), ..Credential::default() };
        assert_eq!(text(assignments(&bearer, Some("X"), Shell::Fish, NOW)), "set -gx X 't'\n");
        assert_eq!(text(assignments(&bearer, Some("X"), Shell::Powershell, NOW)), "$env:X = 't'\n");
        assert!(assignments(&bearer, None, Shell::Sh, NOW).is_err());
        assert_eq!(assignments(&Credential::default(), None, Shell::Sh, NOW), Err(AnswerError::Empty));
        let over = Credential { expires: Some(NOW), ..credential };
        assert_eq!(assignments(&over, None, Shell::Sh, NOW), Err(AnswerError::Expired));
        assert_eq!(json(&over, NOW), Err(AnswerError::Expired));
    }

    #[test]
    fn no_quote_ends_early_and_no_buffer_grows() {
        for (shell, wanted) in [
            (Shell::Sh, "export X='a'\\''$(b)\\'\n"),
            (Shell::Fish, "set -gx X 'a\\'$(b)\\\\'\n"),
            (Shell::Powershell, "$env:X = 'a''$(b)\\'\n"),
        ] {
            assert_eq!(String::from_utf8_lossy(&lines(&[("X", "a'$(b)\\")], shell)), wanted);
            let bytes = lines(&[("X", &"'".repeat(500))], shell);
            assert!(bytes.len() <= bytes.capacity() && bytes.capacity() < 2_100, "{}", bytes.capacity());
        }
    }

    #[test]
    fn a_variable_is_a_name_that_no_shell_reads_as_something_else() {
        for name in ["A", "_a", "GITLAB_TOKEN", "a1"] {
            assert!(is_variable(name), "{name}");
        }
        for name in ["", "1a", "A B", "A=B", "A;id", "Ä", "a-b", "a\n"] {
            assert!(!is_variable(name), "{name:?}");
        }
    }

    #[test]
    fn the_object_has_what_there_is_and_nothing_else() {
        let token = Secret::from("t");
        let credential =
            Credential { token: Some(&token), expires: Some(Timestamp::from_unix(2_000)), ..Credential::default() };
        assert_eq!(text(json(&credential, NOW)), "{\"token\":\"t\",\"expires_at\":\"1970-01-01T00:33:20Z\"}\n");
        assert_eq!(json(&Credential::default(), NOW), Err(AnswerError::Empty));
    }
}
