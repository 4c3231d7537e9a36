//! What Terraform sends: the authorization request in the browser's address, and the form of the token request.
//! A query or a form comes in, what it asks goes out, or a word that says what is wrong.
//! Pure. RFC 6749 §4.1, RFC 7636 §4.3; `protocol-spec/bridge-protocol.md` §8.

use std::collections::BTreeMap;

use credmint_vocabulary::Secret;
use url::{Host, Url, form_urlencoded};

/// Names the one client that there is: the `host` block has it.
pub(crate) const CLIENT: &str = "terraform-cli";
/// Where Terraform may wait for the browser, first and last port: the `host` block has them.
pub(crate) const PORTS: (u16, u16) = (10_000, 10_050);

/// Holds an authorization request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Authorize {
    /// Where the browser goes back to.
    pub(super) redirect: Url,
    /// What Terraform wants back with the code.
    pub(super) state: String,
    /// SHA-256 of what only this run of Terraform knows.
    pub(super) challenge: String,
}

/// Holds a token request.
pub(super) struct Redeem {
    /// The one-use code.
    pub(super) code: Secret<String>,
    /// The redirect URI of the authorization request, again.
    pub(super) redirect: String,
    /// What the challenge was made of.
    pub(super) verifier: Secret<String>,
}

impl Authorize {
    /// Reads the query of the authorization endpoint.
    pub(super) fn of_query(query: &str) -> Result<Self, &'static str> {
        let mut fields = fields(query.as_bytes())?;
        let mut take = |name: &str| fields.remove(name).unwrap_or_default();
        if take("client_id") != CLIENT {
            return Err("client_id");
        }
        let redirect = redirect(&take("redirect_uri")).ok_or("redirect_uri")?;
        if take("response_type") != "code" {
            return Err("response_type");
        }
        let (state, challenge) = (take("state"), take("code_challenge"));
        if take("code_challenge_method") != "S256" || !is_digest(&challenge) {
            return Err("code_challenge");
        }
        if !(1..=LONGEST_STATE).contains(&state.len()) || !state.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("state");
        }
        Ok(Self { redirect, state, challenge })
    }
}

impl Redeem {
    /// Reads the form of the token endpoint; gives the error's word (RFC 6749 §5.2).
    pub(super) fn of_form(form: &[u8]) -> Result<Self, &'static str> {
        let mut fields = fields(form).map_err(|_| "invalid_request")?;
        let mut take = |name: &str| fields.remove(name).filter(|value| !value.is_empty()).ok_or("invalid_request");
        if take("grant_type")? != "authorization_code" {
            return Err("unsupported_grant_type");
        }
        if take("client_id")? != CLIENT {
            return Err("invalid_client");
        }
        let (code, verifier) = (Secret::new(take("code")?), Secret::new(take("code_verifier")?));
        Ok(Self { code, redirect: take("redirect_uri")?, verifier })
    }
}

/// Reads fields, each of which may stand there once (RFC 6749 §3.1).
fn fields(text: &[u8]) -> Result<BTreeMap<String, String>, &'static str> {
    let mut fields = BTreeMap::new();
    for (name, value) in form_urlencoded::parse(text) {
        if fields.insert(name.into_owned(), value.into_owned()).is_some() {
            return Err("a parameter that stands there twice");
        }
    }
    Ok(fields)
}

/// Takes what Terraform listens on, and nothing else: http on loopback, a port of the `host` block, a path (RFC 8252 §7.3).
fn redirect(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let is_loopback = match url.host()? {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(address) => address == std::net::Ipv4Addr::LOCALHOST,
        Host::Ipv6(address) => address == std::net::Ipv6Addr::LOCALHOST,
    };
    let is_plain = url.scheme() == "http" && url.query().is_none() && url.fragment().is_none();
    let nobody = url.username().is_empty() && url.password().is_none();
    let (first, last) = PORTS;
    let is_there = url.port().is_some_and(|port| (first..=last).contains(&port)) && url.path().len() > 1;
    (is_loopback && is_plain && nobody && is_there && url.as_str().len() <= LONGEST_ADDRESS).then_some(url)
}

fn is_digest(text: &str) -> bool {
    text.len() == 43 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

const LONGEST_STATE: usize = 512;
const LONGEST_ADDRESS: usize = 512;

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
    pub(crate) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    pub(crate) const REDIRECT: &str = "http://localhost:10007/login";

    fn query(change: (&str, &str)) -> String {
        let fields = [
            ("client_id", CLIENT),
            ("response_type", "code"),
            ("redirect_uri", REDIRECT),
            ("state", "8a7f0c"),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
        ];
        let fields = fields.into_iter().map(|(name, value)| (name, if name == change.0 { change.1 } else { value }));
        form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
    }

    #[test]
    fn what_terraform_sends_is_read() {
        let asked = Authorize::of_query(&query(("", ""))).expect("accepted");
        assert_eq!((asked.redirect.as_str(), asked.state.as_str()), (REDIRECT, "8a7f0c"));
        for redirect in ["http://127.0.0.1:10000/login", "http://[::1]:10050/login"] {
            assert!(Authorize::of_query(&query(("redirect_uri", redirect))).is_ok(), "{redirect}");
        }
    }

    #[test]
    fn everything_else_is_named_and_refused() {
        let long = "s".repeat(513);
        for (name, value) in [
            ("client_id", "another"),
            ("response_type", "token"),
            ("state", ""),
            ("state", "a b"),
            ("state", long.as_str()),
            ("code_challenge", ""),
            ("code_challenge", "short"),
            ("code_challenge_method", "plain"),
        ] {
            let wrong = Authorize::of_query(&query((name, value))).expect_err(value);
            assert!(name.starts_with(wrong), "{name}: {wrong}");
        }
        let twice = format!("{}&state=b", query(("", "")));
        assert!(Authorize::of_query(&twice).is_err_and(|wrong| wrong.contains("twice")));
    }

    #[test]
    fn a_browser_is_sent_back_to_loopback_alone() {
        for redirect in [
            "",
            "/login",
            "https://localhost:10007/login",
            "http://evil.example:10007/login",
            "http://localhost.evil.example:10007/login",
            "http://127.0.0.2:10007/login",
            "http://0.0.0.0:10007/login",
            "http://localhost/login",
            "http://localhost:8080/login",
            "http://localhost:10007/",
            "http://a@localhost:10007/login",
            "http://localhost:10007/login?next=x",
            "http://localhost:10007/login#x",
            "javascript:alert(1)",
        ] {
            assert_eq!(Authorize::of_query(&query(("redirect_uri", redirect))), Err("redirect_uri"), "{redirect}");
        }
    }

    #[test]
    fn a_token_request_says_all_of_it() {
        let fields = [
            ("grant_type", "authorization_code"),
            ("client_id", CLIENT),
            ("code", "c"),
            ("code_verifier", VERIFIER),
            ("redirect_uri", REDIRECT),
        ];
        let form = |without: &str, change: &str| {
            let there = fields.into_iter().filter(|(name, _)| *name != without || !change.is_empty());
            let there = there.map(|(name, value)| (name, if name == without { change } else { value }));
            form_urlencoded::Serializer::new(String::new()).extend_pairs(there).finish()
        };
        assert!(Redeem::of_form(form("", "").as_bytes()).is_ok());
        for (name, _) in fields {
            assert_eq!(Redeem::of_form(form(name, "").as_bytes()).err(), Some("invalid_request"), "{name}");
        }
        let wrong = |name, value: &str| Redeem::of_form(form(name, value).as_bytes()).err();
        assert_eq!(wrong("grant_type", "password"), Some("unsupported_grant_type"));
        assert_eq!(wrong("client_id", "another"), Some("invalid_client"));
    }
}
