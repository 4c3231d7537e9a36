//! How client-go and the clients beside it ask an exec plugin: ExecCredential.
//! `KUBERNETES_EXEC_INFO` comes in, the version of the answer goes out; a credential comes in, one JSON object goes out.
//! Pure. <https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins>

use credmint_vocabulary::{Secret, Timestamp};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::answer::{AnswerError, Credential, line, written_if_any};
use crate::program::CallError;

/// Which version of ExecCredential the client wants back: it takes no other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// `client.authentication.k8s.io/v1`.
    #[default]
    V1,
    /// `client.authentication.k8s.io/v1beta1`.
    V1Beta1,
}

impl Version {
    const fn word(self) -> &'static str {
        match self {
            Self::V1 => "client.authentication.k8s.io/v1",
            Self::V1Beta1 => "client.authentication.k8s.io/v1beta1",
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Info {
    api_version: String,
    kind: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExecCredential<'a> {
    api_version: &'a str,
    kind: &'a str,
    status: Status<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Status<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    expiration_timestamp: Option<String>,
    #[serde(serialize_with = "written_if_any", skip_serializing_if = "Option::is_none")]
    token: Option<&'a Secret<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_certificate_data: Option<&'a str>,
    #[serde(serialize_with = "written_if_any", skip_serializing_if = "Option::is_none")]
    client_key_data: Option<&'a Secret<String>>,
}

/// Reads `KUBERNETES_EXEC_INFO`; without it the newest version is answered.
///
/// # Errors
/// [`CallError::Malformed`], when it is there and names no version that we speak.
pub fn version(info: Option<&str>) -> Result<Version, CallError> {
    let Some(info) = info.filter(|info| !info.is_empty()) else { return Ok(Version::default()) };
    let malformed = CallError::Malformed("KUBERNETES_EXEC_INFO is no ExecCredential");
    let info: Info = serde_json::from_str(info).map_err(|_| malformed.clone())?;
    if info.kind != KIND {
        return Err(malformed);
    }
    [Version::V1, Version::V1Beta1]
        .into_iter()
        .find(|version| version.word() == info.api_version)
        .ok_or(CallError::Malformed("KUBERNETES_EXEC_INFO asks for an apiVersion other than v1 and v1beta1"))
}

/// Writes the answer: token, or certificate with its key, or both.
///
/// # Errors
/// [`AnswerError`], when a client could not use the credential.
pub fn answer(
    credential: &Credential<'_>,
    version: Version,
    now: Timestamp,
) -> Result<Zeroizing<Vec<u8>>, AnswerError> {
    let token = credential.token.map(|_| credential.bearer()).transpose()?;
    let (certificate, key) = (credential.certificate_pem, credential.private_key_pem);
    if certificate.is_some() != key.is_some() || (token.is_none() && key.is_none()) {
        return Err(AnswerError::Kind("token, and no certificate with its key"));
    }
    let status = Status {
        expiration_timestamp: credential.announced_end(now)?.map(|end| end.to_string()),
        token,
        client_certificate_data: certificate,
        client_key_data: key,
    };
    line(&ExecCredential { api_version: version.word(), kind: KIND, status })
}

const KIND: &str = "ExecCredential";
