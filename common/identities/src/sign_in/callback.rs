//! What the browser brings back in the query of the redirect URI (RFC 6749 §4.1.2, RFC 9207 §2).
//! A query comes in, the callback that stands in it goes out; what is none is nothing, so that the wait can go on.
//! Judges nothing: `Authorization::matches` does.

use std::fmt;

use credmint_vocabulary::Secret;
use url::form_urlencoded;

use crate::oauth_refusal::OauthRefusal;
use crate::quotable::quotable;

/// Longest query that is read.
const LIMIT: usize = 16 * 1024;

/// Holds a callback, from whomever.
pub struct Callback {
    pub(super) state: Secret<String>,
    pub(super) iss: Option<String>,
    pub(super) outcome: Outcome,
}

/// Says what the issuer decided.
pub(super) enum Outcome {
    Code(Secret<String>),
    Refusal { class: OauthRefusal, reason: String },
}

/// The parameters that count; none may be there twice (RFC 6749 §3.1).
#[derive(Default)]
struct Parameters {
    state: Option<Secret<String>>,
    code: Option<Secret<String>>,
    error: Option<Secret<String>>,
    error_description: Option<Secret<String>>,
    iss: Option<Secret<String>>,
}

impl Callback {
    /// Reads a query, without its question mark; `None` when it is no callback: no state, neither code nor error, or doubled.
    #[must_use]
    pub fn of_query(query: &str) -> Option<Self> {
        let parameters = Parameters::of(Some(query).filter(|query| query.len() <= LIMIT)?)?;
        let outcome = match (parameters.code, parameters.error) {
            (Some(code), None) if !code.is_empty() => Outcome::Code(code),
            (None, Some(error)) => refusal(&error, parameters.error_description.as_ref()),
            _ => return None,
        };
        let iss = parameters.iss.map(|iss| iss.expose().clone());
        Some(Self { state: parameters.state?, iss, outcome })
    }

    /// Reads what a person pasted: the whole URL of the redirect, or its query.
    #[must_use]
    pub fn of_pasted(pasted: &Secret<String>) -> Option<Self> {
        let pasted = pasted.expose().trim();
        let query = pasted.split_once('?').map_or(pasted, |(_, query)| query);
        Self::of_query(query.split('#').next().unwrap_or(query))
    }

    /// Gives the state, which says to which sign-in it belongs.
    #[must_use]
    pub const fn state(&self) -> &Secret<String> {
        &self.state
    }

    /// Gives the authorization code, or what the issuer refused and its words, fit to be shown.
    ///
    /// # Errors
    /// The refusal.
    pub fn code(&self) -> Result<&Secret<String>, (OauthRefusal, &str)> {
        match &self.outcome {
            Outcome::Code(code) => Ok(code),
            Outcome::Refusal { class, reason } => Err((*class, reason)),
        }
    }

    /// Tells whether the issuer said no.
    #[must_use]
    pub const fn is_refusal(&self) -> bool {
        matches!(self.outcome, Outcome::Refusal { .. })
    }
}

impl fmt::Debug for Callback {
    /// Shows neither state nor code.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callback").field("is_refusal", &self.is_refusal()).finish_non_exhaustive()
    }
}

impl Parameters {
    fn of(query: &str) -> Option<Self> {
        let mut found = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let place = match &*name {
                "state" => &mut found.state,
                "code" => &mut found.code,
                "error" => &mut found.error,
                "error_description" => &mut found.error_description,
                "iss" => &mut found.iss,
                _ => continue,
            };
            if place.replace(Secret::new(value.into_owned())).is_some() {
                return None;
            }
        }
        Some(found)
    }
}

fn refusal(error: &Secret<String>, description: Option<&Secret<String>>) -> Outcome {
    let words = [Some(error), description].into_iter().flatten().filter(|word| !word.is_empty());
    let reason = words.map(|word| quotable(word.expose())).collect::<Vec<_>>().join(": ");
    Outcome::Refusal { class: OauthRefusal::of(error.expose()), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_or_a_refusal_with_a_state_is_a_callback() {
        let callback = Callback::of_query("code=c%20d&state=s&iss=https%3A%2F%2Fid.example&session_state=x").unwrap();
        assert!(callback.state.same_as(b"s") && callback.iss.as_deref() == Some("https://id.example"));
        assert!(matches!(&callback.outcome, Outcome::Code(code) if code.same_as(b"c d")));
        let callback = Callback::of_query("error=access_denied&error_description=no+way&state=s").unwrap();
        assert!(
            matches!(&callback.outcome, Outcome::Refusal { class: OauthRefusal::Denied, reason } if reason == "access_denied: no way")
        );
    }

    #[test]
    fn everything_else_is_none() {
        for query in [
            "",
            "x",
            "state=s",
            "code=c",
            "code=&state=s",
            "code=a&code=b&state=s",
            "code=a&state=s&state=s",
            "code=a&error=b&state=s",
        ] {
            assert!(Callback::of_query(query).is_none(), "{query}");
        }
        assert!(Callback::of_query(&format!("code={}&state=s", "x".repeat(LIMIT))).is_none());
    }

    #[test]
    fn a_pasted_url_is_read_with_what_a_terminal_adds() {
        for pasted in [" http://127.0.0.1:7/cb?code=c&state=s#\n", "code=c&state=s", "http://localhost/?state=s&code=c"]
        {
            assert!(Callback::of_pasted(&Secret::from(pasted)).is_some(), "{pasted}");
        }
        assert!(Callback::of_pasted(&Secret::from("http://127.0.0.1:7/cb")).is_none());
    }

    #[test]
    fn debug_shows_no_code() {
        let callback = Callback::of_query("code=canary&state=canary").unwrap();
        assert!(!format!("{callback:?}").contains("canary"));
    }
}
