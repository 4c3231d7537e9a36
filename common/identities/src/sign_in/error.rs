//! Why a sign-in did not come about, as decisions of the caller.
//! What the issuer, the person or the network did comes in, a sentence for people and the next step go out.
//! Holds no code, no token, no body and no query.

use credmint_vocabulary::FailureKind;

use crate::client_authentication::ClientProofError;
use crate::oauth_refusal::OauthRefusal;
use crate::subject_token::SubjectTokenError;
use crate::token_endpoint::TokenEndpointError;

/// Says why nobody is signed in. `who` is host and port of the issuer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignInError {
    /// The issuer's endpoint refused, could not be reached, or answered nonsense.
    #[error(transparent)]
    Endpoint(#[from] TokenEndpointError),
    /// The discovery document is of another issuer than the settings'.
    #[error("the discovery document of {who} is of another issuer: {what}")]
    Issuer {
        /// Host and port.
        who: String,
        /// Which it is, and which it should be.
        what: String,
    },
    /// The issuer does not have what this way of signing in needs.
    #[error("{who} has no {what}")]
    Missing {
        /// Host and port.
        who: String,
        /// What it would need: "device authorization endpoint".
        what: &'static str,
    },
    /// The issuer, or the person there, said no in the browser.
    #[error("{who} did not sign you in: {}{}", words(*class), if reason.is_empty() { String::new() } else { format!(" ({reason})") })]
    Refused {
        /// Host and port.
        who: String,
        /// What was refused.
        class: OauthRefusal,
        /// The issuer's `error` and `error_description`, fit to be shown.
        reason: String,
    },
    /// The callback is not of this sign-in.
    #[error("this answer does not belong to the sign-in that was begun")]
    Foreign,
    /// The user code was not approved in time.
    #[error("the code of {who} was not approved in time")]
    Expired {
        /// Host and port.
        who: String,
    },
    /// The ID token does not hold.
    #[error("the ID token of {who} is refused: {what}")]
    IdToken {
        /// Host and port.
        who: String,
        /// Which check failed.
        what: String,
    },
    /// There is no ID token to say who signed in.
    #[error("{who} gave no ID token")]
    NoIdToken {
        /// Host and port.
        who: String,
    },
    /// The token cannot be used as a proof.
    #[error("the token {0}")]
    Token(#[from] SubjectTokenError),
    /// The issuer has no revocation endpoint.
    #[error("{who} has no revocation endpoint: its tokens end by themselves")]
    CannotRevoke {
        /// Host and port.
        who: String,
    },
}

/// Says why there are no new tokens.
#[derive(Debug, thiserror::Error)]
pub enum RefreshError {
    /// The session is over, for good: only a new sign-in helps. Why, for people.
    #[error("{0}")]
    Over(String),
    /// Not now; the tokens that there are may still serve.
    #[error(transparent)]
    NotNow(#[from] SignInError),
}

impl SignInError {
    /// Says whose turn it is.
    #[must_use]
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Endpoint(error) => error.kind(),
            Self::Missing { .. } | Self::Issuer { .. } => FailureKind::Settings,
            _ => FailureKind::Refused,
        }
    }

    /// Says what to do next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let own = match self {
            Self::Endpoint(error) => return endpoint_hint(error),
            Self::Refused { class, .. } => return Some(refused_hint(*class).to_owned()),
            Self::Missing { what, .. } if what.starts_with("device") => "sign in without --device, or with --paste",
            Self::Missing { .. } => "check issuer in the settings: it must be an OpenID Provider",
            Self::Issuer { .. } => "set issuer in the settings to what the document says, if that is the one you mean",
            Self::Foreign => "sign in again, and paste the address of the last page that the browser showed",
            Self::Expired { .. } => "sign in again, and approve the code before it ends",
            Self::IdToken { what, .. } if what.contains("expired") => "check this machine's clock, then sign in again",
            Self::IdToken { .. } => {
                "check issuer and client_id in the settings; if they are right, tell the issuer's people"
            }
            Self::NoIdToken { .. } => {
                "register the client for OpenID Connect, or set token = \"access\" in the settings"
            }
            Self::Token(_) | Self::CannotRevoke { .. } => return None,
        };
        Some(own.to_owned())
    }
}

/// Gives the hint of an error at an endpoint; some mean something else for a person than for a machine.
fn endpoint_hint(error: &TokenEndpointError) -> Option<String> {
    match error {
        TokenEndpointError::Refused { class: OauthRefusal::Grant, .. } => Some("sign in again".to_owned()),
        TokenEndpointError::Refused { class: OauthRefusal::Target, .. } => {
            Some("check resource in the settings".to_owned())
        }
        TokenEndpointError::Discovery { .. } => {
            Some("check issuer in the settings: it is the URL before /.well-known/openid-configuration".to_owned())
        }
        TokenEndpointError::Client(ClientProofError::Absent { source_name, .. }) => Some(format!("set {source_name}")),
        _ => error.hint(),
    }
}

/// Says what the issuer did not like about the request in the browser.
fn words(class: OauthRefusal) -> &'static str {
    match class {
        OauthRefusal::Denied => "the request was declined there",
        other => other.words(),
    }
}

fn refused_hint(class: OauthRefusal) -> &'static str {
    match class {
        OauthRefusal::Denied => "sign in again and agree, or ask the issuer's people for access",
        OauthRefusal::Scope => "set scopes in the settings to those that the client may have",
        OauthRefusal::Target => "check resource in the settings",
        OauthRefusal::UnauthorizedClient => "register the client for the authorization code flow with PKCE",
        OauthRefusal::Request => "check redirect_ports, redirect_host and authorization_parameters in the settings",
        OauthRefusal::Expired | OauthRefusal::Other => "sign in again; if it stays like that, tell the issuer's people",
        _ => "check client_id and issuer in the settings",
    }
}
