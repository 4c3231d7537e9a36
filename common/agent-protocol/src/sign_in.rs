//! The messages of signing in and out, as serde sees them.
//! JSON comes in, plain structs go out, and back; unknown properties are skipped.
//! Carries a secret in one place: the address that a person pastes, which holds the authorization code.

use serde::{Deserialize, Serialize};

use crate::wire_secret::WireSecret;

/// Begins a sign-in; the connection stays open until the last reply, and closing it ends the sign-in.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Login {
    /// Name of the identity; empty means the only one of a person.
    #[serde(default)]
    pub identity: String,
    /// Settings file that the caller's environment names; none means the usual place.
    #[serde(default)]
    pub settings: Option<String>,
    /// The usual place, as the caller has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usual_settings: Option<String>,
    /// `browser`, `device` or `paste`; empty means `browser`.
    #[serde(default)]
    pub flow: String,
    /// How long the whole sign-in may take, in milliseconds; 0 means what the settings say.
    #[serde(default)]
    pub deadline_ms: u64,
    /// How long the session may live, in milliseconds; 0 means what the settings say.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lifetime_ms: u64,
    /// The caller's build; empty: it does not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub build: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Ends sessions, here and at the issuer.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Logout {
    /// Name of the identity; none means every session of the agent.
    #[serde(default)]
    pub identity: Option<String>,
    /// Settings file that the caller's environment names; none means the usual place.
    #[serde(default)]
    pub settings: Option<String>,
    /// The usual place, as the caller has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usual_settings: Option<String>,
}

/// Where the person goes with a browser.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Visit {
    /// The issuer's page, with all that identifies this sign-in.
    pub url: String,
    /// The issuer, in words.
    #[serde(default)]
    pub who: String,
    /// What remains of the sign-in's deadline.
    #[serde(default)]
    pub expires_in_seconds: u64,
    /// Whether the client is to send the address that the browser ends at, as [`Pasted`].
    #[serde(default)]
    pub paste: bool,
}

/// What the person approves on another device (RFC 8628).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Approve {
    /// The code that the issuer shows or asks for; empty where it has none.
    pub user_code: String,
    /// Where.
    pub verification_uri: String,
    /// The same with the code in it: for a QR code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification_uri_complete: Option<String>,
    /// The issuer, in words.
    #[serde(default)]
    pub who: String,
    /// What remains until the code or the sign-in ends.
    #[serde(default)]
    pub expires_in_seconds: u64,
}

/// The address that the person's browser ended at; the frame that the client sends when `visit` or `again` asks for it.
#[derive(Serialize, Deserialize)]
pub struct Pasted {
    /// The whole address, or its query.
    pub url: WireSecret,
}

/// One session, without its tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionStatus {
    /// Name of the identity.
    pub identity: String,
    /// The issuer's URL.
    #[serde(default)]
    pub issuer: String,
    /// Who signed in: the most readable claim.
    #[serde(default)]
    pub subject: Option<String>,
    /// When, RFC 3339.
    #[serde(default)]
    pub since: String,
    /// End of the present token, RFC 3339.
    #[serde(default)]
    pub until: Option<String>,
    /// When the token is renewed next, RFC 3339; none means that it cannot be.
    #[serde(default)]
    pub renews: Option<String>,
    /// How the session ends, or how it ended, in words.
    #[serde(default)]
    pub how_it_ends: String,
    /// Scopes that were asked for and that the issuer did not grant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_granted: Vec<String>,
    /// The store that keeps its refresh token beyond the agent, for people; none means the agent's memory alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remembered: Option<String>,
    /// Why no store keeps it, though the settings want one to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_remembered: Option<String>,
    /// Whether it is over: only a new sign-in helps.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub over: bool,
}
