//! One value, read as what its key wants.
//! A value with its place comes in, a checked Rust value or a mistake at that place goes out.
//! Repeats words of the settings, never addresses, templates or what could be a secret.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use credmint_client_identity::KeyAlgorithm;
use url::Url;

use crate::error::SettingsError;
use crate::text::address::{self, Rule};
use crate::text::duration::{self, NoDuration};
use crate::text::nearest;
use crate::text::template::{TemplatePart, template_parts};
use crate::tree::{Entry, Node, Table, Value};

/// Lends one value and the name under which it was written.
pub(crate) struct Item<'t> {
    shown: &'t str,
    node: &'t Node,
}

impl<'t> Item<'t> {
    pub(crate) fn of(entry: &'t Entry) -> Self {
        Self { shown: &entry.shown, node: &entry.node }
    }

    /// Gives the items of a list; anything else stands for a list of one.
    pub(crate) fn items(&self) -> Vec<Self> {
        match &self.node.value {
            Value::List(nodes) => nodes.iter().map(|node| Self { shown: self.shown, node }).collect(),
            _ => vec![Self { shown: self.shown, node: self.node }],
        }
    }

    pub(crate) fn error(&self, what: impl AsRef<str>) -> SettingsError {
        SettingsError::at(&self.node.place, what)
    }

    /// Says that `key` is not what it should be: "`key` is …".
    pub(crate) fn is_wrong(&self, why: impl AsRef<str>) -> SettingsError {
        self.error(format!("`{}` {}", self.shown, why.as_ref()))
    }

    pub(crate) fn wrong_type(&self, expected: &str) -> SettingsError {
        let found = self.node.value.type_name();
        self.error(format!("expected {expected} for `{}`, found {found}", self.shown))
    }

    /// Reads text that is not empty and has no control characters.
    pub(crate) fn text(&self) -> Result<String, SettingsError> {
        let Value::Text(text) = &self.node.value else {
            return Err(self.wrong_type("a string").with_hint("a string stands in quotes"));
        };
        if text.is_empty() {
            return Err(self.is_wrong("is empty").with_hint("leave it out, or give it a value"));
        }
        if text.chars().any(char::is_control) {
            return Err(self
                .is_wrong("has a control character in it")
                .with_hint("a line break or a tab, perhaps from pasting"));
        }
        Ok(text.clone())
    }

    /// Reads text of several lines, without the blanks around it.
    pub(crate) fn lines(&self) -> Result<String, SettingsError> {
        let Value::Text(text) = &self.node.value else { return self.text() };
        let text = text.trim();
        if text.is_empty() || text.chars().any(|c| c.is_control() && !"\n\r\t".contains(c)) {
            return self.text();
        }
        Ok(text.to_owned())
    }

    pub(crate) const fn is_text(&self) -> bool {
        matches!(self.node.value, Value::Text(_))
    }

    pub(crate) fn flag(&self) -> Result<bool, SettingsError> {
        match self.node.value {
            Value::Flag(flag) => Ok(flag),
            _ => Err(self.wrong_type("true or false").with_hint("true and false stand without quotes")),
        }
    }

    pub(crate) fn table(&self, expected: &str, example: &str) -> Result<&'t Table, SettingsError> {
        match &self.node.value {
            Value::Table(table) => Ok(table),
            _ => Err(self.wrong_type(expected).with_hint(format!("write {example}"))),
        }
    }

    pub(crate) fn is_zero(&self) -> bool {
        matches!(&self.node.value, Value::Integer(digits) if digits == "0")
    }

    pub(crate) fn port(&self) -> Result<u16, SettingsError> {
        let Value::Integer(digits) = &self.node.value else {
            return Err(self.wrong_type("a port number").with_hint("a number stands without quotes"));
        };
        match digits.parse::<u16>() {
            Ok(port) if port > 0 => Ok(port),
            _ => Err(self.is_wrong("is not a port").with_hint("a port is a number from 1 to 65535")),
        }
    }

    pub(crate) fn word<T: Copy>(&self, words: &[(&'static str, T)]) -> Result<T, SettingsError> {
        let word = self.text()?;
        if let Some((_, meaning)) = words.iter().find(|(known, _)| *known == word) {
            return Ok(*meaning);
        }
        let hint = nearest::hint(&word, words.iter().map(|(known, _)| *known), "values");
        Err(self.error(format!("unknown value `{word}` for `{}`", self.shown)).with_hint(hint))
    }

    pub(crate) fn key_algorithm(&self) -> Result<KeyAlgorithm, SettingsError> {
        self.word(&KeyAlgorithm::ALL.map(|algorithm| (algorithm.word(), algorithm)))
    }

    /// Reads the same, or `auto`: the issuer may name another than the usual one.
    pub(crate) fn key_algorithm_or_auto(&self) -> Result<Option<KeyAlgorithm>, SettingsError> {
        let all = KeyAlgorithm::ALL.map(|algorithm| (algorithm.word(), Some(algorithm)));
        self.word(&[[("auto", None)].as_slice(), &all].concat())
    }

    /// Reads a duration that is not zero.
    pub(crate) fn duration(&self) -> Result<Duration, SettingsError> {
        match self.duration_or_zero()? {
            Duration::ZERO => Err(self.is_wrong("is zero").with_hint("leave it out, or give it a length of time")),
            duration => Ok(duration),
        }
    }

    pub(crate) fn duration_or_zero(&self) -> Result<Duration, SettingsError> {
        let seconds = |number: &str| format!("seconds are written \"{number}s\"; other units are d, h and m");
        let text = match &self.node.value {
            Value::Text(text) => text,
            Value::Integer(number) => {
                return Err(self.wrong_type("a duration like \"1h30m\"").with_hint(seconds(number)));
            }
            _ => return Err(self.wrong_type("a duration like \"1h30m\"")),
        };
        duration::parse(text).map_err(|reason| match reason {
            NoDuration::WithoutUnit => self.is_wrong("has no unit").with_hint(seconds(text)),
            NoDuration::TooLong => self.is_wrong("is longer than ten years").with_hint("use a shorter duration"),
            NoDuration::Form => {
                self.is_wrong("is not a duration").with_hint("durations look like 1h, 30m, 90s, 1d, 1h30m")
            }
        })
    }

    /// Tells whether a path means the same wherever it is read.
    pub(crate) fn is_rooted(path: &str) -> bool {
        let path = Path::new(path);
        path.has_root() || path.is_absolute() || path.starts_with("~")
    }

    /// Reads an absolute path, or one below the caller's home (`~/`).
    pub(crate) fn path(&self) -> Result<PathBuf, SettingsError> {
        let text = self.text()?;
        if Self::is_rooted(&text) {
            return Ok(text.into());
        }
        Err(self.is_wrong("is not an absolute path").with_hint("begin it with `/`, or with `~/` for the caller's home"))
    }

    /// Reads the name of an environment variable. The text is not repeated: it may be the secret itself.
    pub(crate) fn variable(&self) -> Result<String, SettingsError> {
        let name = self.text()?;
        let good = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.chars().all(good) && !name.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(name);
        }
        Err(self.is_wrong("is not the name of an environment variable").with_hint("names have letters, digits and `_`"))
    }

    /// Reads an argument vector.
    pub(crate) fn argv(&self) -> Result<Vec<String>, SettingsError> {
        let expected = "a list of strings";
        let Value::List(_) = self.node.value else {
            return Err(self.wrong_type(expected).with_hint("[\"program\", \"argument\"]; no shell reads it"));
        };
        let read = |item: &Self| match &item.node.value {
            Value::Text(text) if !text.contains('\0') => Ok(text.clone()),
            Value::Text(_) => Err(item.is_wrong("has a NUL character in it")),
            _ => Err(item.wrong_type(expected)),
        };
        let argv = self.items().iter().map(read).collect::<Result<Vec<_>, _>>()?;
        match argv.first() {
            Some(program) if !program.is_empty() => Ok(argv),
            _ => Err(self.is_wrong("names no program").with_hint("[\"program\", \"argument\"]; no shell reads it")),
        }
    }

    pub(crate) fn server(&self) -> Result<String, SettingsError> {
        self.address(Rule::Server)
    }

    pub(crate) fn endpoint(&self) -> Result<String, SettingsError> {
        self.address(Rule::Endpoint)
    }

    pub(crate) fn proxy(&self) -> Result<String, SettingsError> {
        self.address(Rule::Proxy)
    }

    /// Reads a pin of a key: the only spelling of it, because pins are compared as text.
    pub(crate) fn pin(&self) -> Result<String, SettingsError> {
        let text = self.text()?;
        if text.strip_prefix("sha256//").is_some_and(is_base64_of_32_bytes) {
            return Ok(text);
        }
        Err(self
            .is_wrong("is not a pin")
            .with_hint("a pin is sha256// and the base64 of a key's SHA-256, 44 characters"))
    }

    /// Reads an absolute URI without fragment (RFC 8707 §2).
    pub(crate) fn resource(&self) -> Result<String, SettingsError> {
        let text = self.text()?;
        match Url::parse(&text) {
            Ok(url) if url.fragment().is_none() => Ok(text),
            _ => {
                Err(self.is_wrong("is not an absolute URI").with_hint("a resource looks like https://api.corp.example"))
            }
        }
    }

    /// Reads a URI of the kind that names token types.
    pub(crate) fn token_type(&self) -> Result<String, SettingsError> {
        let text = self.text()?;
        if Url::parse(&text).is_ok() {
            return Ok(text);
        }
        Err(self.is_wrong("is not a URI").with_hint("for example urn:ietf:params:oauth:token-type:jwt"))
    }

    /// Reads one scope: visible ASCII without blanks (RFC 6749 §3.3).
    pub(crate) fn scope(&self) -> Result<String, SettingsError> {
        let text = self.text()?;
        if text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\') {
            return Ok(text);
        }
        Err(self
            .is_wrong("has a character that no scope has")
            .with_hint("one string a scope: [\"openid\", \"profile\"]"))
    }

    pub(crate) fn template(&self) -> Result<String, SettingsError> {
        self.template_where(|_| true, ("", ""))
    }

    pub(crate) fn dns_name(&self) -> Result<String, SettingsError> {
        let good = |text: &str| !text.contains(|c: char| c.is_whitespace() || "/:@,".contains(c));
        self.template_where(good, ("is not a DNS name", "one string a name, for example build-07.corp.example"))
    }

    pub(crate) fn email_address(&self) -> Result<String, SettingsError> {
        let good = |text: &str| text.contains('@') && !text.contains([',', ' ']);
        self.template_where(good, ("is not an email address", "one string an address, for example me@corp.example"))
    }

    pub(crate) fn ip_address(&self) -> Result<String, SettingsError> {
        let good = |text: &str| text.parse::<IpAddr>().is_ok();
        self.template_where(
            good,
            ("is not an IP address", "one string an address, for example 10.0.0.7 or 2001:db8::7"),
        )
    }

    pub(crate) fn uri(&self) -> Result<String, SettingsError> {
        let good = |text: &str| Url::parse(text).is_ok();
        self.template_where(good, ("is not a URI", "one string a URI, for example spiffe://corp.example/build"))
    }

    /// Says that a secret stands where a source belongs. Never repeats it.
    pub(crate) fn literal_secret(&self) -> SettingsError {
        self.error(format!("secrets are not accepted in the settings, and `{}` holds one", self.shown))
            .with_hint("name its source: { env = \"NAME\" }, { file = \"/path\" } or { command = [\"prog\", \"arg\"] }")
    }

    fn address(&self, rule: Rule) -> Result<String, SettingsError> {
        let text = self.text()?;
        address::check(&text, rule).map_err(|(reason, hint)| self.is_wrong(reason).with_hint(hint))?;
        Ok(text)
    }

    /// Reads a template; one without claims is known already and has to be `good`.
    fn template_where(&self, good: fn(&str) -> bool, wrong: (&str, &str)) -> Result<String, SettingsError> {
        let text = self.text()?;
        let parts = template_parts(&text).map_err(|error| {
            self.is_wrong(format!("has {error}")).with_hint("a claim is written {name}; braces are written {{ and }}")
        })?;
        match parts.as_slice() {
            [TemplatePart::Literal(fixed)] if !good(fixed) => Err(self.is_wrong(wrong.0).with_hint(wrong.1)),
            _ => Ok(text),
        }
    }
}

/// Tells the base64 (RFC 4648 §4) of 32 bytes: 43 characters, the last of which has two bits to spare, and the padding.
fn is_base64_of_32_bytes(text: &str) -> bool {
    let of_the_alphabet = |c: u8| c.is_ascii_alphanumeric() || c == b'+' || c == b'/';
    match text.as_bytes() {
        [begin @ .., last, b'='] => {
            begin.len() == 42 && begin.iter().all(|c| of_the_alphabet(*c)) && b"AEIMQUYcgkosw048".contains(last)
        }
        _ => false,
    }
}
