//! The messages about certificates that people sign, as serde sees them.
//! JSON comes in, plain structs go out, and back; unknown properties are skipped.
//! Carries public data alone: requests, certificates, names and times. The key never travels.

use serde::{Deserialize, Serialize};

use crate::message::Got;

/// Asks for the certification request of a host, or brings what people signed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Enrol {
    /// Which host, which settings.
    #[serde(flatten)]
    pub got: Got,
    /// Whether another key and request are wanted in place of those that wait.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new: bool,
    /// Certificates in PEM, or PKCS #7 in Base64; none asks for the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
}

/// A certification request that waits for its certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestStatus {
    /// Host of the route.
    pub hostname: String,
    /// Name of the issuer.
    #[serde(default)]
    pub issuer: String,
    /// When it was made, RFC 3339.
    #[serde(default)]
    pub since: String,
    /// The request in PEM; left out in a status.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub request_pem: String,
    /// Whether it was there before it was asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// Whether an authority has it, and is asked again by the agent; else people carry it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sent: bool,
}
