//! How Terraform and OpenTofu ask a credentials helper, and what they take for an answer.
//! Arguments and the object of `store` come in, a request goes out; a credentials object comes in, bytes go out.
//! Pure. `protocol-spec/helper-protocol.md` (rules H6 to H22), `protocol-spec/credentials-object.md`.

use std::collections::BTreeMap;
use std::ffi::OsString;

use credmint_vocabulary::{Hostname, HostnameError, Secret};
use serde::Serialize;
use serde::de::IgnoredAny;
use zeroize::Zeroizing;

pub use crate::answer::AnswerError;
use crate::answer::{check_token, line};

/// The answer that means: we do not serve this host.
pub const NONE: &[u8] = b"{}\n";
/// The answer that stops Terraform: no HTTP client sends a header with a line break, so nobody is asked for anything
/// (helper-protocol, H15). For when somebody else would be asked in our place.
pub const STOP: &[u8] = b"{\"token\":\"credmint stops Terraform here\\n\"}\n";

/// Most bytes of standard input that `store` reads.
pub const MAXIMUM_OBJECT: usize = 64 * 1024;

/// Says what a helper was started for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// `--help` alone.
    Help,
    /// `--version` alone.
    Version,
    /// What Terraform asks.
    Ask(Request),
}

/// Holds what Terraform asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The helper's own arguments, from the `args` of its block.
    pub own_arguments: Vec<String>,
    /// What is to be done.
    pub verb: Verb,
    /// For which host.
    pub hostname: Hostname,
}

/// Says what is to be done with the credentials of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Give them.
    Get,
    /// Keep those on standard input.
    Store,
    /// Drop what is kept.
    Forget,
}

/// Says why a call is none of Terraform's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// Less than two arguments.
    #[error("two arguments are needed, a verb and a hostname, and {0} came")]
    TooFew(usize),
    /// The second last argument is no verb.
    #[error("the second last argument is none of get, store and forget")]
    UnknownVerb,
    /// The last argument is no hostname; it is not repeated, it may be a URL with a password in it.
    #[error("{0}")]
    Hostname(HostnameError),
    /// An argument is not UTF-8.
    #[error("argument {0} is not UTF-8 text")]
    NotText(usize),
}

/// Reads the arguments: the last two are verb and hostname, what precedes them is the helper's own.
///
/// # Errors
/// [`CallError`], with what is wrong first.
pub fn call(arguments: Vec<OsString>) -> Result<Call, CallError> {
    let mut texts = Vec::with_capacity(arguments.len());
    for (at, argument) in arguments.into_iter().enumerate() {
        texts.push(argument.into_string().map_err(|_| CallError::NotText(at + 1))?);
    }
    match texts.as_slice() {
        [only] if only == "--help" => return Ok(Call::Help),
        [only] if only == "--version" => return Ok(Call::Version),
        _ => {}
    }
    let [own_arguments @ .., verb, hostname] = texts.as_slice() else { return Err(CallError::TooFew(texts.len())) };
    let verb = Verb::from_word(verb).ok_or(CallError::UnknownVerb)?;
    let hostname = Hostname::from_comparison_form(hostname).map_err(CallError::Hostname)?;
    Ok(Call::Ask(Request { own_arguments: own_arguments.to_vec(), verb, hostname }))
}

impl Verb {
    /// Gives the word of the command line.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Store => "store",
            Self::Forget => "forget",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        [Self::Get, Self::Store, Self::Forget].into_iter().find(|verb| verb.word() == word)
    }
}

impl Request {
    /// Tells whether one of the helper's own arguments is `--host=` and this hostname.
    #[must_use]
    pub fn names_its_host(&self) -> bool {
        let hosts = self.own_arguments.iter().filter_map(|argument| argument.strip_prefix("--host="));
        hosts.into_iter().any(|host| host == self.hostname.as_str())
    }
}

/// Holds the object of `store`, whole: properties that we do not know are still in it.
pub struct StoredObject {
    /// The object as JSON text.
    pub text: Secret<String>,
    /// Names of its properties, sorted.
    pub properties: Vec<String>,
}

/// Says why standard input of `store` is no credentials object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Not UTF-8.
    #[error("the object on standard input is not UTF-8 text")]
    NotText,
    /// Not one JSON object.
    #[error("standard input is not one JSON object (line {line}, column {column})")]
    NotAnObject {
        /// Line of the text.
        line: usize,
        /// Column of the text.
        column: usize,
    },
}

/// Reads the object of `store`.
///
/// # Errors
/// [`StoreError`], with a position and no content.
pub fn stored_object(bytes: &[u8]) -> Result<StoredObject, StoreError> {
    let text = std::str::from_utf8(bytes).map_err(|_| StoreError::NotText)?;
    let object: BTreeMap<String, IgnoredAny> = serde_json::from_str(text)
        .map_err(|error| StoreError::NotAnObject { line: error.line(), column: error.column() })?;
    Ok(StoredObject { text: Secret::from(text), properties: object.into_keys().collect() })
}

/// Writes a credentials object: one line, one JSON object, in a buffer that never grows and is wiped.
///
/// # Errors
/// [`AnswerError`], when Terraform could not use the object.
pub fn answer(token: Option<&Secret<String>>, object: &impl Serialize) -> Result<Zeroizing<Vec<u8>>, AnswerError> {
    token.map_or(Ok(()), |token| check_token(token.expose().as_bytes()))?;
    line(object)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::MAXIMUM_TOKEN;

    fn call_of(arguments: &[&str]) -> Result<Call, CallError> {
        call(arguments.iter().map(OsString::from).collect())
    }

    fn request(arguments: &[&str]) -> Request {
        match call_of(arguments) {
            Ok(Call::Ask(request)) => request,
            other => panic!("{arguments:?} is {other:?}"),
        }
    }

    #[test]
    fn get_takes_verb_from_second_last_argument() {
        let request = request(&["get", "store", "get", "a.example:8443"]);
        assert_eq!((request.verb, request.hostname.as_str()), (Verb::Get, "a.example:8443"));
        assert_eq!(request.own_arguments, ["get", "store"]);
    }

    #[test]
    fn help_and_version_count_only_alone() {
        assert_eq!(call_of(&["--help"]), Ok(Call::Help));
        assert_eq!(call_of(&["--version"]), Ok(Call::Version));
        assert_eq!(request(&["--help", "get", "a.example"]).own_arguments, ["--help"]);
    }

    #[test]
    fn a_host_argument_names_one_host_with_its_port() {
        assert!(request(&["--host=a.example", "--host=b.example", "get", "b.example"]).names_its_host());
        assert!(!request(&["--host=a.example", "get", "a.example:8443"]).names_its_host());
        assert!(!request(&["--host=a.example.org", "get", "a.example"]).names_its_host());
    }

    #[cfg(unix)]
    #[test]
    fn an_argument_that_is_no_text_is_counted_from_one() {
        use std::os::unix::ffi::OsStringExt;
        let arguments = vec![OsString::from("get"), OsString::from_vec(vec![0xff])];
        assert_eq!(call(arguments), Err(CallError::NotText(2)));
    }

    #[test]
    fn store_keeps_unknown_properties() {
        let object = stored_object(br#" {"token":"t","zone":{"a":[1]},"token":"u"} "#).expect("an object");
        assert_eq!(object.properties, ["token", "zone"]);
        assert!(object.text.same_as(br#" {"token":"t","zone":{"a":[1]},"token":"u"} "#));
    }

    #[test]
    fn get_escapes_token_for_json() {
        let token = Secret::from(r#"a"b\c"#);
        let bytes = answer(Some(&token), &BTreeMap::from([("token", token.expose())])).expect("an answer");
        assert_eq!(bytes.as_slice(), b"{\"token\":\"a\\\"b\\\\c\"}\n");
        assert_eq!(bytes.capacity(), bytes.len());
    }

    #[test]
    fn get_refuses_a_token_that_is_too_long() {
        let token = Secret::new("x".repeat(MAXIMUM_TOKEN + 1));
        assert_eq!(answer(Some(&token), &()), Err(AnswerError::TooLong(MAXIMUM_TOKEN + 1)));
    }
}
