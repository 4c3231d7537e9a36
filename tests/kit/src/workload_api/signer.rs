//! The key that signs a trust domain's JWT-SVIDs (SPIFFE JWT-SVID §3): a token at a time, none like another.
//!
//! An ID and an audience come in, a token goes out; its public half, for whoever believes the trust domain, in PEM.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::random;

/// The key of a trust domain.
pub struct JwtSigner(EcdsaKeyPair);

impl Default for JwtSigner {
    fn default() -> Self {
        Self(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key"))
    }
}

impl JwtSigner {
    /// Gives the public half.
    pub fn public_pem(&self) -> String {
        let der: PublicKeyX509Der<'_> = self.0.public_key().as_der().expect("a public key");
        format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", STANDARD.encode(der.as_ref()))
    }

    /// Signs a token for five minutes.
    pub fn sign(&self, id: &str, audience: &str) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
        let end = now + Duration::from_secs(300).as_secs();
        let header = json!({ "alg": "ES256", "kid": "one", "typ": "JWT" });
        let claims = json!({ "sub": id, "aud": [audience], "iat": now, "exp": end, "jti": random::secret("jti") });
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&header), part(&claims));
        let signature = self.0.sign(&SystemRandom::new(), signed.as_bytes()).expect("a signature");
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}
