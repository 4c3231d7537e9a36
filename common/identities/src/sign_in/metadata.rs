//! What an OpenID Provider says about itself (OpenID Connect Discovery §3 and §4, RFC 8414, RFC 8628 §4, RFC 9207 §3).
//! An issuer URL comes in, metadata with the key set go out.
//! A slash at the end of the issuer is not held against anybody: both spellings have the same document.

use credmint_https::HttpsError;
use openidconnect::core::{
    CoreAuthDisplay, CoreClaimName, CoreClaimType, CoreClientAuthMethod, CoreGrantType, CoreJsonWebKey,
    CoreJsonWebKeySet, CoreJweContentEncryptionAlgorithm, CoreJweKeyManagementAlgorithm, CoreResponseMode,
    CoreResponseType, CoreSubjectIdentifierType,
};
use openidconnect::{AdditionalProviderMetadata, DiscoveryError, IssuerUrl, ProviderMetadata};
use serde::{Deserialize, Serialize};
use url::{Host, Url};

use crate::quotable::quotable;
use crate::sign_in::error::SignInError;
use crate::token_endpoint::{TokenEndpointError, who};
use crate::way::Way;

/// Members that the crate does not know.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Extra {
    pub(super) device_authorization_endpoint: Option<Url>,
    pub(super) revocation_endpoint: Option<Url>,
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

impl AdditionalProviderMetadata for Extra {}

pub(super) type Metadata = ProviderMetadata<
    Extra,
    CoreAuthDisplay,
    CoreClientAuthMethod,
    CoreClaimName,
    CoreClaimType,
    CoreGrantType,
    CoreJweContentEncryptionAlgorithm,
    CoreJweKeyManagementAlgorithm,
    CoreJsonWebKey,
    CoreResponseMode,
    CoreResponseType,
    CoreSubjectIdentifierType,
>;

/// Fetches metadata and keys.
pub(super) async fn discover(issuer: &str, way: &Way<'_>) -> Result<Metadata, SignInError> {
    let url = IssuerUrl::new(issuer.to_owned()).map_err(|_| TokenEndpointError::Address("the issuer is no URL"))?;
    let peer = who(url.url());
    let http = way.oauth();
    let found = match Metadata::discover_async(url, &http).await {
        Err(DiscoveryError::Validation(_)) => Metadata::discover_async(respelled(issuer)?, &http).await,
        found => found,
    };
    found.map_err(|error| told(error, peer))
}

/// Fetches the keys again: the issuer may have changed them.
pub(super) async fn keys(metadata: &Metadata, way: &Way<'_>) -> Result<CoreJsonWebKeySet, SignInError> {
    let http = way.oauth();
    let found = CoreJsonWebKeySet::fetch_async(metadata.jwks_uri(), &http).await;
    found.map_err(|error| told(error, who(metadata.jwks_uri().url())))
}

/// Makes sure that an endpoint is one: `https`, or `http` on loopback. `what` is for the error.
///
/// # Errors
/// [`SignInError::Missing`] when it is none, or not there.
pub fn endpoint(url: Option<&Url>, peer: &str, what: &'static str) -> Result<Url, SignInError> {
    let usable = url.filter(|url| match (url.scheme(), url.host()) {
        ("https", host) => host.is_some(),
        ("http", Some(Host::Domain(name))) => name == "localhost",
        ("http", Some(Host::Ipv4(address))) => address.is_loopback(),
        ("http", Some(Host::Ipv6(address))) => address.is_loopback(),
        _ => false,
    });
    usable.cloned().ok_or_else(|| SignInError::Missing { who: peer.to_owned(), what })
}

/// Gives the other spelling of an issuer, with or without a slash at the end.
fn respelled(issuer: &str) -> Result<IssuerUrl, TokenEndpointError> {
    let other = issuer.strip_suffix('/').map_or_else(|| format!("{issuer}/"), str::to_owned);
    IssuerUrl::new(other).map_err(|_| TokenEndpointError::Address("the issuer is no URL"))
}

/// Tells the error without what the crate keeps of the body.
fn told(error: DiscoveryError<HttpsError>, peer: String) -> SignInError {
    let what = match error {
        DiscoveryError::Request(error) => return TokenEndpointError::from(error).into(),
        DiscoveryError::Validation(what) => return SignInError::Issuer { who: peer, what: quotable(&what) },
        DiscoveryError::Response(status, _, what) if status.is_success() => quotable(&what),
        DiscoveryError::Response(status, ..) => format!("status {}", status.as_u16()),
        DiscoveryError::Parse(error) => quotable(&format!("{}: {}", error.path(), error.inner())),
        _ => "its address cannot be used".to_owned(),
    };
    TokenEndpointError::Discovery { who: peer, what }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_https_or_on_loopback() {
        for good in ["https://id.example/auth?tenant=a", "http://127.0.0.1:3/a", "http://[::1]/a", "http://localhost/a"]
        {
            assert!(endpoint(Url::parse(good).ok().as_ref(), "id", "x").is_ok(), "{good}");
        }
        for bad in
            ["http://id.example/auth", "javascript:alert(1)", "file:///etc/passwd", "http://localhost.evil.example/"]
        {
            assert!(endpoint(Url::parse(bad).ok().as_ref(), "id", "x").is_err(), "{bad}");
        }
        assert!(endpoint(None, "id", "x").is_err());
    }
}
