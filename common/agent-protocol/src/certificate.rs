//! The messages about the certificate that a host would get, as serde sees them.
//! JSON comes in, plain structs go out, and back; unknown properties are skipped.
//! Carries public data alone: certificates, names, times, and what a server said of them.

use serde::{Deserialize, Serialize};

use crate::message::Got;

/// Asks for the certificate that a host would get; it is made if none is kept.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CertificateWanted {
    /// Which host, which settings.
    #[serde(flatten)]
    pub got: Got,
    /// Whether the upstream is to be asked if it accepts the certificate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub self_check: bool,
}

/// The certificate that a host gets, and what is to be said about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CertificateReport {
    /// Name of the identity that had an answer; empty if the issuer asks for nobody.
    #[serde(default)]
    pub identity: String,
    /// Name of the issuer.
    #[serde(default)]
    pub issuer: String,
    /// Kind of the issuer and where it is, in words.
    #[serde(default)]
    pub issuer_words: String,
    /// What is presented, ours first.
    pub path: Vec<CertificateDetails>,
    /// The trust anchor, if the issuer sent it; it is not presented.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<CertificateDetails>,
    /// What is presented, in PEM.
    #[serde(default)]
    pub certificate_pem: String,
    /// What was granted differently from what was asked, and what the issuer said besides.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What the issuer's rules do to the request, as far as they may be read.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// What the upstream made of the certificate, if it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_check: Option<SelfCheck>,
}

/// One certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CertificateDetails {
    /// Subject.
    pub subject: String,
    /// Issuer.
    #[serde(default)]
    pub issuer: String,
    /// Serial number, colon-separated hex.
    #[serde(default)]
    pub serial: String,
    /// Algorithm and size of the key, in words.
    #[serde(default)]
    pub key: String,
    /// Beginning of the validity, RFC 3339.
    #[serde(default)]
    pub not_before: String,
    /// End of the validity, RFC 3339.
    #[serde(default)]
    pub not_after: String,
    /// Subject alternative names, each with its kind: `DNS:`, `email:`, `IP:`, `URI:`.
    #[serde(default)]
    pub names: Vec<String>,
    /// Extended key usages; empty means that the certificate names none.
    #[serde(default)]
    pub usages: Vec<String>,
}

/// What one rule of the issuer does to the request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// `refuses`, `changes`, `warns`, or `unknown`: it cannot be judged from here.
    pub effect: String,
    /// Which rule, and what it does.
    pub what: String,
    /// What to change, or to ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// What the upstream made of the certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelfCheck {
    /// `accepted`, `not-asked`, `refused`, or `failed`: it was not reached, or cannot be trusted.
    pub outcome: String,
    /// The same in a sentence.
    pub what: String,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Status of the upstream's answer, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Seconds by which this machine's clock is ahead of the upstream's; negative when it is behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_ahead_seconds: Option<i64>,
    /// Kind of the failure, where it is one: as in `failure`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}
