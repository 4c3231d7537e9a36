//! How git asks a credential helper.
//! Arguments and lines of `key=value` come in, a verb and the host go out; a token comes in, lines go out.
//! Pure. git/git `Documentation/git-credential.adoc`.

use std::ffi::OsString;

use credmint_vocabulary::Timestamp;
use zeroize::Zeroizing;

use crate::answer::{AnswerError, Credential};
use crate::host::of_name;
use crate::program::{CallError, texts};

/// Most bytes of standard input that are read.
pub const MAXIMUM_INPUT: usize = 64 * 1024;

/// Says what the helper was started for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// `--help` alone.
    Help,
    /// `--version` alone.
    Version,
    /// Give a credential.
    Get,
    /// Anything else that git says, `store` and `erase` among it, or will say one day: it is read, and nothing is done.
    Other,
}

/// Holds what git says of the place that it goes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// `https`, mostly.
    pub protocol: String,
    /// Host in comparison form.
    pub host: String,
    /// Whether a bearer token gets there: git takes `authtype` (since 2.46), and the server wants one, or has not said what it wants.
    pub takes_bearer: bool,
}

/// Reads the arguments: the verb is the last.
///
/// # Errors
/// [`CallError`], when there is none.
pub fn call(arguments: Vec<OsString>) -> Result<Call, CallError> {
    match texts(arguments)?.last().map(String::as_str) {
        Some("--help") => Ok(Call::Help),
        Some("--version") => Ok(Call::Version),
        Some("get") => Ok(Call::Get),
        Some(_) => Ok(Call::Other),
        None => Err(CallError::UnknownVerb("get, store and erase")),
    }
}

/// Reads what git writes: lines up to an empty one or the end; keys that we do not know are skipped.
#[must_use]
pub fn description(bytes: &[u8]) -> Description {
    let mut found = Description::default();
    let (mut has_said, mut wants_bearer) = (false, false);
    let lines = bytes.split(|byte| *byte == b'\n').take_while(|line| !line.is_empty());
    for (key, value) in lines.filter_map(|line| std::str::from_utf8(line).ok()?.split_once('=')) {
        match key {
            "protocol" => value.clone_into(&mut found.protocol),
            "host" => found.host = of_name(value).unwrap_or_default(),
            "capability[]" if value == "authtype" => found.takes_bearer = true,
            "wwwauth[]" => (has_said, wants_bearer) = (true, wants_bearer || is_bearer(value)),
            _ => {}
        }
    }
    found.takes_bearer &= wants_bearer || !has_said;
    found
}

/// Tells whether a bearer token is among what a server challenges with (RFC 9110 §11.6.1).
fn is_bearer(challenges: &str) -> bool {
    let mut schemes = challenges.split(',').filter_map(|challenge| challenge.split_whitespace().next());
    schemes.any(|scheme| scheme.eq_ignore_ascii_case("bearer"))
}

/// Writes the answer: as a bearer token where that gets there, else as the password of the provider's `username`.
///
/// # Errors
/// [`AnswerError`], when git could not use it.
pub fn answer(
    credential: &Credential<'_>,
    description: &Description,
    now: Timestamp,
) -> Result<Zeroizing<Vec<u8>>, AnswerError> {
    let token = credential.bearer()?.expose();
    let end = credential.announced_end(now)?;
    let end = end.map(|end| format!("password_expiry_utc={}\n", end.unix())).unwrap_or_default();
    let (before, after) = if description.takes_bearer {
        ("capability[]=authtype\nauthtype=Bearer\nephemeral=1\ncredential=".to_owned(), String::new())
    } else {
        (format!("username={}\npassword=", credential.username()), end)
    };
    let mut bytes = Zeroizing::new(Vec::with_capacity(before.len() + token.len() + after.len() + 2));
    bytes.extend_from_slice(before.as_bytes());
    bytes.extend_from_slice(token.as_bytes());
    bytes.push(b'\n');
    bytes.extend_from_slice(after.as_bytes());
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_git_decoded_into_more_than_a_name_is_none() {
        for host in ["good.example/.evil.example", "evil.example://good.example", "good.example?x", "good.example "] {
            let found = description(format!("protocol=https\nhost={host}\n\n").as_bytes());
            assert_eq!(found.host, "", "{host}");
        }
    }
}
