//! What an OAuth server refused, in one word of its answer.
//! The `error` word comes in; a class, a sentence for people and the next step go out.
//! Touches nothing. RFC 6749 §5.2, RFC 7009 §2.2.1, RFC 8628 §3.5, RFC 8693 §2.2.2, RFC 8707 §2.

/// Says what an OAuth server refused (RFC 6749 §5.2, RFC 8693 §2.2.2, RFC 8707 §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OauthRefusal {
    /// `invalid_request`.
    Request,
    /// `invalid_client`.
    Client,
    /// `invalid_grant`.
    Grant,
    /// `unauthorized_client`.
    UnauthorizedClient,
    /// `unsupported_grant_type`.
    GrantType,
    /// `invalid_scope`.
    Scope,
    /// `invalid_target`.
    Target,
    /// `access_denied`.
    Denied,
    /// `authorization_pending` (RFC 8628 §3.5).
    Pending,
    /// `slow_down`.
    SlowDown,
    /// `expired_token`.
    Expired,
    /// `unsupported_token_type` (RFC 7009 §2.2.1).
    TokenType,
    /// A word that we do not know, or none.
    Other,
}

impl OauthRefusal {
    /// Reads the `error` word.
    #[must_use]
    pub fn of(word: &str) -> Self {
        match word {
            "invalid_request" => Self::Request,
            "invalid_client" => Self::Client,
            "invalid_grant" => Self::Grant,
            "unauthorized_client" => Self::UnauthorizedClient,
            "unsupported_grant_type" => Self::GrantType,
            "invalid_scope" => Self::Scope,
            "invalid_target" => Self::Target,
            "access_denied" => Self::Denied,
            "authorization_pending" => Self::Pending,
            "slow_down" => Self::SlowDown,
            "expired_token" => Self::Expired,
            "unsupported_token_type" => Self::TokenType,
            _ => Self::Other,
        }
    }

    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Request => "it does not accept the request",
            Self::Client => "the client did not prove to be itself",
            Self::Grant => "it does not accept the token that was presented",
            Self::UnauthorizedClient => "the client may not ask in this way",
            Self::GrantType => "it does not grant tokens in this way",
            Self::Scope => "the scope is not to be had",
            Self::Target => "the audience or resource is not to be had",
            Self::Denied => "access is denied",
            Self::Pending => "nobody has approved it yet",
            Self::SlowDown => "it wants to be asked less often",
            Self::Expired => "it was not approved in time",
            Self::TokenType => "it does not revoke tokens of this type",
            Self::Other => "it gave no reason that we know",
        }
    }

    pub(crate) fn hint(self) -> Option<&'static str> {
        match self {
            Self::Client => Some("check client_id, client_auth and the client's secret or key"),
            Self::Scope => Some("check scopes in the settings"),
            Self::Target => Some("check audience and resources in the settings"),
            Self::GrantType | Self::UnauthorizedClient => {
                Some("the client must be registered for this grant at the server")
            }
            Self::Grant => Some("get a new token and try again: it may be expired or for another audience"),
            _ => None,
        }
    }
}
