//! An authorization server's token endpoint: where it is, and what its refusals mean.
//! Issuer or address and a form come in, the body of a success or an error without any body goes out.
//! Follows no redirect. RFC 8414 §3 and OpenID Connect Discovery §4 (where), RFC 6749 §5.2 (refusals).

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use credmint_https::{Answer, Https, HttpsError, Trust, host_and_port};
use credmint_settings::ClientAuthentication;
use credmint_vocabulary::{Deadline, FailureKind, Secret, Timestamp};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, StatusCode};
use serde::Deserialize;
use url::{Url, form_urlencoded};
use zeroize::Zeroizing;

use crate::client_authentication::{ClientProof, ClientProofError, client_id};
use crate::oauth_refusal::OauthRefusal;
use crate::quotable::quotable;

/// Names a token endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenEndpoint {
    /// Where the form is sent.
    pub address: Url,
    /// What the server calls itself, for client assertions.
    pub audience: String,
}

/// Says why a token endpoint gave no token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenEndpointError {
    /// The settings give no usable address.
    #[error("the address of the token endpoint cannot be used: {0}")]
    Address(&'static str),
    /// Discovery answered something else than the server's metadata.
    #[error("{who} has no usable discovery document ({what})")]
    Discovery {
        /// Host and port.
        who: String,
        /// What was wrong with it.
        what: String,
    },
    /// The document is of another issuer than the one asked for.
    #[error("the discovery document of {who} is of issuer `{found}`, and not of the `{wanted}` of the settings")]
    Issuer {
        /// Host and port.
        who: String,
        /// The settings' issuer.
        wanted: String,
        /// The document's.
        found: String,
    },
    /// The client cannot prove to be itself.
    #[error(transparent)]
    Client(#[from] ClientProofError),
    /// Nobody answered.
    #[error(transparent)]
    Unreachable(#[from] HttpsError),
    /// The server said no.
    #[error("{who} refused with status {status}: {}{}", class.words(), if reason.is_empty() { String::new() } else { format!(" ({reason})") })]
    Refused {
        /// Host and port.
        who: String,
        /// HTTP status.
        status: u16,
        /// What was refused.
        class: OauthRefusal,
        /// The server's `error` and `error_description`, fit to be shown.
        reason: String,
    },
    /// Too many requests.
    #[error("{who} wants to be asked less often{}", retry_after.map_or(String::new(), |after| format!(", again in {} s", after.as_secs())))]
    Throttled {
        /// Host and port.
        who: String,
        /// When to come back.
        retry_after: Option<Duration>,
    },
    /// A redirect, which is never followed with a credential.
    #[error("{who} redirects to {}, which is not followed with a credential", to.as_deref().unwrap_or("another address"))]
    Redirected {
        /// Host and port.
        who: String,
        /// Host of the new address.
        to: Option<String>,
    },
    /// The server is in trouble.
    #[error("{who} cannot answer now (status {status})")]
    Failing {
        /// Host and port.
        who: String,
        /// HTTP status.
        status: u16,
    },
    /// A success that is none.
    #[error("{who} answered something that is no token answer: {what}")]
    Malformed {
        /// Host and port.
        who: String,
        /// What was missing or wrong.
        what: &'static str,
    },
}

impl TokenEndpointError {
    /// Says how long the server wants to be left alone, if it said so.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        if let Self::Throttled { retry_after, .. } = self { *retry_after } else { None }
    }

    /// Says whose turn it is.
    #[must_use]
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Address(_) | Self::Issuer { .. } => FailureKind::Settings,
            Self::Client(error) => error.kind(),
            Self::Unreachable(error) => error.kind(),
            Self::Refused { .. } => FailureKind::Refused,
            _ => FailureKind::Unreachable,
        }
    }

    /// Says what to do next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Client(error) => error.hint(),
            Self::Unreachable(error) => error.hint(),
            Self::Refused { class, .. } => class.hint().map(str::to_owned),
            Self::Issuer { found, .. } => Some(format!("set issuer = \"{found}\" if that is the one you mean")),
            Self::Discovery { .. } => Some("give token_endpoint in the settings".to_owned()),
            _ => None,
        }
    }
}

/// Holds what a server says about itself, as far as it matters here.
#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    token_endpoint: String,
}

/// Holds a refusal (RFC 6749 §5.2).
#[derive(Deserialize)]
struct Refusal {
    #[serde(default)]
    error: String,
    #[serde(default)]
    error_description: String,
}

impl TokenEndpoint {
    /// Finds the endpoint: the given address, or what the issuer's metadata say.
    ///
    /// `openidconnect`'s own discovery is not used here: it fetches the key set too, a round trip that nobody needs for a
    /// token request, and insists on members that a plain authorization server (RFC 8414) does not have.
    ///
    /// # Errors
    /// [`TokenEndpointError`] when there is no usable address.
    pub async fn find(
        issuer: Option<&str>,
        given: Option<&str>,
        https: &Https,
        trust: &Trust,
        deadline: Deadline,
    ) -> Result<Self, TokenEndpointError> {
        if let Some(given) = given {
            let address = usable(given)?;
            let audience = issuer.map_or_else(|| address.to_string(), str::to_owned);
            return Ok(Self { address, audience });
        }
        let issuer = issuer.ok_or(TokenEndpointError::Address("neither issuer nor token_endpoint is given"))?;
        discover(issuer, https, trust, deadline).await
    }

    /// Gives host and port, for messages.
    #[must_use]
    pub fn who(&self) -> String {
        who(&self.address)
    }

    /// Sends a form and gives the body of a success.
    ///
    /// # Errors
    /// [`TokenEndpointError`] for everything else.
    pub async fn post(
        &self,
        form: &[(&str, &str)],
        (client, proof): (&ClientAuthentication, &ClientProof),
        (https, trust): (&Https, &Trust),
        (now, deadline): (Timestamp, Deadline),
    ) -> Result<Zeroizing<Vec<u8>>, TokenEndpointError> {
        let id = client_id(client);
        let mut fields = form.to_vec();
        fields.extend(proof.form_fields(id));
        let mut request = self.request(&fields)?;
        if let ClientProof::Basic(secret) = proof {
            request.headers_mut().insert(AUTHORIZATION, basic(id, secret)?);
        }
        let answer = https.send(trust, request, deadline).await?;
        judge(&self.who(), answer, now)
    }

    /// Sends a form that proves by itself who asks, and gives the body of a success.
    ///
    /// # Errors
    /// [`TokenEndpointError`] for everything else.
    pub async fn post_form(
        &self,
        form: &[(&str, &str)],
        (https, trust): (&Https, &Trust),
        (now, deadline): (Timestamp, Deadline),
    ) -> Result<Zeroizing<Vec<u8>>, TokenEndpointError> {
        let answer = https.send(trust, self.request(form)?, deadline).await?;
        judge(&self.who(), answer, now)
    }

    fn request(&self, fields: &[(&str, &str)]) -> Result<Request<Vec<u8>>, TokenEndpointError> {
        let mut request = Request::new(encode_form(fields));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.address.as_str().parse().map_err(|_| TokenEndpointError::Address("no URI"))?;
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
        Ok(request)
    }
}

/// Encodes a form into one buffer that never grows, so that no copy of a secret stays behind.
#[must_use]
pub fn encode_form(fields: &[(&str, &str)]) -> Vec<u8> {
    let size = fields.iter().map(|(name, value)| 3 * (name.len() + value.len()) + 2).sum();
    let mut form = form_urlencoded::Serializer::new(String::with_capacity(size));
    form.extend_pairs(fields).finish().into_bytes()
}

/// Encodes identifier and secret as RFC 6749 §2.3.1 wants it: form-encoded each, then Base64.
fn basic(id: &str, secret: &Secret<String>) -> Result<HeaderValue, TokenEndpointError> {
    let mut pair = Zeroizing::new(String::with_capacity(3 * (id.len() + secret.len()) + 1));
    pair.extend(form_urlencoded::byte_serialize(id.as_bytes()));
    pair.push(':');
    pair.extend(form_urlencoded::byte_serialize(secret.expose().as_bytes()));
    let encoded = Zeroizing::new(format!("Basic {}", Zeroizing::new(STANDARD.encode(pair.as_bytes())).as_str()));
    let mut value = HeaderValue::from_str(&encoded).map_err(|_| TokenEndpointError::Address("no header"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Tells a success from a refusal by status and `error` word.
pub(crate) fn judge(who: &str, answer: Answer, now: Timestamp) -> Result<Zeroizing<Vec<u8>>, TokenEndpointError> {
    let who = who.to_owned();
    let status = answer.status.as_u16();
    match answer.status {
        StatusCode::OK => Ok(answer.body),
        StatusCode::TOO_MANY_REQUESTS => {
            Err(TokenEndpointError::Throttled { who, retry_after: answer.retry_after(now) })
        }
        found if found.is_redirection() => {
            Err(TokenEndpointError::Redirected { who, to: answer.location().as_ref().map(self::who) })
        }
        found if found.is_server_error() => Err(TokenEndpointError::Failing { who, status }),
        _ => Err(refused(who, status, &answer.body)),
    }
}

fn refused(who: String, status: u16, body: &[u8]) -> TokenEndpointError {
    let empty = Refusal { error: String::new(), error_description: String::new() };
    let refusal = serde_json::from_slice(body).unwrap_or(empty);
    let class = OauthRefusal::of(&refusal.error);
    let words = [refusal.error, refusal.error_description];
    let reason = words.iter().filter(|word| !word.is_empty()).map(|word| quotable(word)).collect::<Vec<_>>().join(": ");
    TokenEndpointError::Refused { who, status, class, reason }
}

/// Gives host and port of a URL.
pub(crate) fn who(url: &Url) -> String {
    host_and_port(url).unwrap_or_else(|| "the server".to_owned())
}

fn usable(address: &str) -> Result<Url, TokenEndpointError> {
    let url = Url::parse(address).map_err(|_| TokenEndpointError::Address("it is no URL"))?;
    if !matches!(url.scheme(), "https" | "http") || url.host_str().is_none() {
        return Err(TokenEndpointError::Address("it is no https URL"));
    }
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return Err(TokenEndpointError::Address("it has user information or a fragment"));
    }
    Ok(url)
}

/// Asks OpenID Connect's place first, which most servers have, then that of RFC 8414.
async fn discover(
    issuer: &str,
    https: &Https,
    trust: &Trust,
    deadline: Deadline,
) -> Result<TokenEndpoint, TokenEndpointError> {
    let url = usable(issuer)?;
    let path = url.path().trim_end_matches('/').to_owned();
    let places =
        [format!("{path}/.well-known/openid-configuration"), format!("/.well-known/oauth-authorization-server{path}")];
    let mut found = Err(TokenEndpointError::Address("it has no discovery document"));
    for place in places {
        let mut place_url = url.clone();
        place_url.set_path(&place);
        found = metadata(&place_url, https, trust, deadline).await;
        if !matches!(found, Err(TokenEndpointError::Discovery { .. })) {
            break;
        }
    }
    let found = found?;
    if found.issuer != issuer {
        let found = quotable(&found.issuer);
        return Err(TokenEndpointError::Issuer { who: who(&url), wanted: issuer.to_owned(), found });
    }
    Ok(TokenEndpoint { address: usable(&found.token_endpoint)?, audience: found.issuer })
}

async fn metadata(
    place: &Url,
    https: &Https,
    trust: &Trust,
    deadline: Deadline,
) -> Result<Metadata, TokenEndpointError> {
    let who = who(place);
    let mut request = Request::new(Vec::new());
    *request.uri_mut() = place.as_str().parse().map_err(|_| TokenEndpointError::Address("no URI"))?;
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
    let answer = https.send(trust, request, deadline).await?;
    if answer.status != StatusCode::OK {
        return Err(TokenEndpointError::Discovery { who, what: format!("status {}", answer.status.as_u16()) });
    }
    let broken = |_| TokenEndpointError::Discovery { who, what: "no issuer or no token_endpoint in it".to_owned() };
    serde_json::from_slice(&answer.body).map_err(broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_classes_and_quotable_words() {
        let secret = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl";
        let body = format!(r#"{{"error":"invalid_grant","error_description":"token {secret} is expired"}}"#);
        let error = refused("id.example".into(), 400, body.as_bytes());
        assert_eq!(
            error.to_string(),
            "id.example refused with status 400: it does not accept the token that was presented \
             (invalid_grant: token (left out) is expired)"
        );
        let error = refused("id.example".into(), 403, b"<html>canary</html>");
        assert_eq!(error.to_string(), "id.example refused with status 403: it gave no reason that we know");
    }

    #[test]
    fn basic_encodes_twice() {
        let header = basic("a:b", &Secret::from("c d%")).unwrap();
        assert_eq!(header.to_str().unwrap(), format!("Basic {}", STANDARD.encode("a%3Ab:c+d%25")));
        assert!(header.is_sensitive());
    }

    #[test]
    fn addresses_with_secrets_or_other_schemes_are_refused() {
        for address in ["x", "ftp://a/", "https://u:p@a/", "https://a/#f", "file:///a"] {
            assert!(usable(address).is_err(), "{address}");
        }
        assert!(usable("https://id.example/token?tenant=a").is_ok());
    }

    #[test]
    fn a_form_is_encoded_without_growing() {
        assert_eq!(encode_form(&[("a", "b c"), ("d", "é&")]), b"a=b+c&d=%C3%A9%26");
    }
}
