//! What a JSON Web Token says about its bearer, for templates and for showing: read, never verified, never trusted.
//! A token comes in, its claims without the token go out.
//! Touches nothing. RFC 7519 §3 and §4 (claims), RFC 7515 §3.1 (compact serialisation).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use credmint_vocabulary::{Expiry, Secret, Timestamp};
use serde_json::{Map, Value};
use zeroize::Zeroizing;

/// Holds the claims of a JWT: the part between the dots, which proves nothing without the signature.
#[derive(Clone, PartialEq, Eq)]
pub struct Claims(Map<String, Value>);

/// Largest token whose claims are read.
const LIMIT: usize = 16 * 1024;

impl Claims {
    /// Reads the claims of a token in compact serialisation; `None` when it is opaque.
    #[must_use]
    pub fn of(token: &Secret<String>) -> Option<Self> {
        let token = Some(token.expose()).filter(|token| token.len() <= LIMIT)?;
        let mut parts = token.split('.');
        let (header, payload, _signature) = (parts.next()?, parts.next()?, parts.next()?);
        let _header: Map<String, Value> = part(header)?;
        parts.next().is_none().then(|| part(payload)).flatten().map(Self)
    }

    /// Gives a claim that is text, a number or a truth value as text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        self.0.get(name).and_then(text_of)
    }

    /// Gives a claim that is a list of such values, or one of them.
    #[must_use]
    pub fn texts(&self, name: &str) -> Option<Vec<String>> {
        match self.0.get(name)? {
            Value::Array(items) => items.iter().map(text_of).collect(),
            single => text_of(single).map(|text| vec![text]),
        }
    }

    /// Tells whether the claim is there, whatever it is.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Tells whether the issuer says that it has not verified a claim (`email_verified`, OpenID Connect Core §5.1); many say nothing.
    #[must_use]
    pub fn is_unverified(&self, name: &str) -> bool {
        self.text(&format!("{name}_verified")).is_some_and(|verified| verified.eq_ignore_ascii_case("false"))
    }

    /// Gives the names of all claims, for telling which there are.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Gives the same claims with these in place of their own.
    #[must_use]
    pub fn with(&self, others: impl IntoIterator<Item = (String, Value)>) -> Self {
        self.0.clone().into_iter().chain(others).collect()
    }

    /// Gives `iss`.
    #[must_use]
    pub fn iss(&self) -> Option<String> {
        self.text("iss")
    }

    /// Gives `sub`.
    #[must_use]
    pub fn sub(&self) -> Option<String> {
        self.text("sub")
    }

    /// Gives `aud`, which may be one text or several.
    #[must_use]
    pub fn aud(&self) -> Vec<String> {
        self.texts("aud").unwrap_or_default()
    }

    /// Gives `exp`; fractions of a second are dropped.
    #[must_use]
    pub fn exp(&self) -> Option<Expiry> {
        let number = self.0.get("exp")?.as_number()?.to_string();
        let whole = number.split('.').next().unwrap_or(&number);
        whole.parse().ok().map(Timestamp::from_unix)
    }
}

impl FromIterator<(String, Value)> for Claims {
    /// Puts claims together that stand in no JWT: what a Vault says about the owner of its token.
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(claims: I) -> Self {
        Self(claims.into_iter().collect())
    }
}

impl fmt::Debug for Claims {
    /// Shows the names alone: the values are about a person.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

fn part(text: &str) -> Option<Map<String, Value>> {
    let bytes = Zeroizing::new(URL_SAFE_NO_PAD.decode(text).ok()?);
    serde_json::from_slice(&bytes).ok()
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Makes a token with a signature that is none.
    pub(crate) fn token(claims: &str) -> Secret<String> {
        let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
        Secret::new(format!("{}.{}.c2ln", part(r#"{"alg":"none"}"#), part(claims)))
    }

    #[test]
    fn registered_claims_are_read() {
        let claims =
            Claims::of(&token(r#"{"iss":"https://id","sub":"a","aud":["x","y"],"exp":1700000000.7}"#)).unwrap();
        assert_eq!(claims.iss().as_deref(), Some("https://id"));
        assert_eq!(claims.sub().as_deref(), Some("a"));
        assert_eq!(claims.aud(), ["x", "y"]);
        assert_eq!(claims.exp(), Some(Timestamp::from_unix(1_700_000_000)));
    }

    #[test]
    fn one_audience_is_a_list_of_one() {
        assert_eq!(Claims::of(&token(r#"{"aud":"vault"}"#)).unwrap().aud(), ["vault"]);
        assert!(Claims::of(&token("{}")).unwrap().aud().is_empty());
    }

    #[test]
    fn opaque_tokens_have_no_claims() {
        for opaque in ["", "opaque", "a.b", "a.b.c", "e30.e30", "e30.e30.x.y", "e30.W10.x"] {
            assert!(Claims::of(&Secret::from(opaque)).is_none(), "{opaque}");
        }
        assert!(Claims::of(&token(&format!(r#"{{"a":"{}"}}"#, "x".repeat(LIMIT)))).is_none());
    }

    #[test]
    fn debug_shows_names_alone() {
        let claims = Claims::of(&token(r#"{"email":"alice@example.test"}"#)).unwrap();
        assert_eq!(format!("{claims:?}"), r#"{"email"}"#);
    }
}
