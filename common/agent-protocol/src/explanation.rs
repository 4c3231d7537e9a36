//! The route of a host, explained, as serde sees it.
//! JSON comes in, plain structs go out, and back; unknown properties are skipped.
//! Carries names, states and claims that may be shown; never a token.

use serde::{Deserialize, Serialize};

use crate::status::EntryStatus;

/// Which route, which identity, which issuer, and why.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Explanation {
    /// Whether a route names the host.
    pub responsible: bool,
    /// Identities in order, with what each had to say.
    #[serde(default)]
    pub identities: Vec<IdentityClaims>,
    /// Name of the issuer.
    #[serde(default)]
    pub issuer: String,
    /// Kind of the issuer and where it is, in words.
    #[serde(default)]
    pub issuer_words: String,
    /// Name of the issuer of the token that goes with the certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_issuer: Option<String>,
    /// Its kind and where it is, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_issuer_words: Option<String>,
    /// Name of the issuer that grants unless the run is known to be an apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_issuer: Option<String>,
    /// Its kind and where it is, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_issuer_words: Option<String>,
    /// What the run that asks is about; only for a provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<PhaseSeen>,
    /// What making a credential of this route failed with last, unless one was made since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<FailureSeen>,
    /// Who may ask, in words; empty: whoever is of the same user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// What a job gets that has no user, in words; left out: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when_absent: Option<String>,
    /// When a placeholder was given last, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
    /// `token`, `keys` or `certificate`; empty: the agent does not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub grants: String,
    /// `bridge`, `token` or `inline`.
    #[serde(default)]
    pub deliver: String,
    /// Where the bridge goes.
    #[serde(default)]
    pub upstream: Option<String>,
    /// Whether a person is asked before each use.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confirm: bool,
    /// By which way a program of `credmint exec` gets a provider's, and whether that is renewed, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec: Option<String>,
    /// Whether a fresh entry is kept, and until when.
    #[serde(default)]
    pub entry: Option<EntryStatus>,
    /// The same of the token that goes with the certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_entry: Option<Box<EntryStatus>>,
    /// The same of what is granted unless the run is known to be an apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_entry: Option<Box<EntryStatus>>,
}

/// What failed, and when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureSeen {
    /// When, RFC 3339.
    pub at: String,
    /// What the other side said, or why it could not be asked, with its status and code as far as it has them.
    pub what: String,
}

/// What a run is about, as far as it is known.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PhaseSeen {
    /// `plan` or `apply`; none: it is not known.
    #[serde(default)]
    pub phase: Option<String>,
    /// How that is known, or why not, in words.
    pub why: String,
}

/// What an identity says when asked, without the token.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct IdentityClaims {
    /// Name in the settings.
    pub name: String,
    /// Kind in the settings.
    pub kind: String,
    /// `chosen`, `absent`, `failed`, `not asked`.
    pub state: String,
    /// Why, in words.
    #[serde(default)]
    pub why: Option<String>,
    /// `iss` claim.
    #[serde(default)]
    pub iss: Option<String>,
    /// `sub` claim.
    #[serde(default)]
    pub sub: Option<String>,
    /// `aud` claim.
    #[serde(default)]
    pub aud: Vec<String>,
    /// `groups` claim.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// `exp` claim, RFC 3339.
    #[serde(default)]
    pub exp: Option<String>,
}
