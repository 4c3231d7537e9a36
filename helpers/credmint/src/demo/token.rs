//! The subject token of the demo: a JSON Web Token that nobody signed, as a stand-in for a workload's.
//! A time comes in, a [`Secret`] goes out; its random `jti` makes it recognisable when it is searched for.
//! Proves nothing to anybody: `local-ca` asks for no proof. RFC 7519 §6.1 (unsecured JWTs).

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use credmint_vocabulary::{Failure, FailureKind, Secret, Timestamp};
use serde_json::json;

/// Makes the token.
pub(crate) fn make(now: Timestamp) -> Result<Secret<String>, Failure> {
    let mut random = [0; 24];
    aws_lc_rs::rand::fill(&mut random)
        .map_err(|_| Failure::new(FailureKind::Internal, "the system has no random numbers"))?;
    let header = json!({ "alg": "none", "typ": "JWT" });
    let claims = json!({
        "iss": "https://id.corp.example",
        "sub": "repo:corp/infra:ref:refs/heads/main",
        "aud": "registry.corp.example",
        "email": "dev@corp.example",
        "iat": now.unix(),
        "exp": now.unix() + 1_800,
        "jti": BASE64_URL_SAFE_NO_PAD.encode(random),
    });
    let part = |value: &serde_json::Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    Ok(Secret::new(format!("{}.{}.", part(&header), part(&claims))))
}
