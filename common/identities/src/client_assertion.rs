//! A client's proof of being itself by a private key: `private_key_jwt`.
//! Key, client identifier and audience come in, a signed assertion that lives for a minute goes out.
//! Keeps nothing. RFC 7523 §2.2 and §3, OpenID Connect Core §9, RFC 7515 (JWS), RFC 7518 §3.3 and §3.4.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair as RsaKeyPair;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, RSA_PKCS1_SHA256,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use credmint_client_identity::{KeyError, PrivateKey};
use credmint_vocabulary::{Secret, Timestamp};
use serde_json::{Value, json};

/// Says why no assertion could be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AssertionError {
    /// The key cannot be read.
    #[error("the client's private key: {0}")]
    Key(#[from] KeyError),
    /// A key of a kind that these assertions are not signed with.
    #[error("the client's private key is neither P-256, nor P-384, nor RSA")]
    Algorithm,
    /// The cryptographic library refused.
    #[error("the client assertion could not be signed")]
    Signing,
}

/// How long an assertion is accepted: it is sent at once.
const LIFE_SECONDS: i64 = 60;

/// Makes an assertion by which `client_id` authenticates at the server that `audience` names.
///
/// # Errors
/// [`AssertionError`] when the key cannot be read or does not sign.
pub fn client_assertion(
    key: &Secret<String>,
    client_id: &str,
    audience: &str,
    key_id: Option<&str>,
    now: Timestamp,
) -> Result<Secret<String>, AssertionError> {
    let (issued, ends) = (now.unix(), now.unix().saturating_add(LIFE_SECONDS));
    let claims =
        json!({"iss": client_id, "sub": client_id, "aud": audience, "jti": unique()?, "iat": issued, "exp": ends});
    signed_jwt(&PrivateKey::from_pkcs8_pem(key)?, key_id, &claims)
}

/// Signs these claims with the algorithm that the key is for.
///
/// # Errors
/// [`AssertionError`] when the key does not sign.
pub fn signed_jwt(key: &PrivateKey, key_id: Option<&str>, claims: &Value) -> Result<Secret<String>, AssertionError> {
    let signer = Signer::of(key)?;
    let mut header = json!({"alg": signer.algorithm(), "typ": "JWT"});
    if let (Some(key_id), Some(header)) = (key_id, header.as_object_mut()) {
        header.insert("kid".to_owned(), json!(key_id));
    }
    let signed = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
    let signature = encode(signer.sign(signed.as_bytes())?);
    Ok(Secret::new(format!("{signed}.{signature}")))
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Makes a `jti` that no other assertion has.
fn unique() -> Result<String, AssertionError> {
    let mut bytes = [0; 16];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| AssertionError::Signing)?;
    Ok(encode(bytes))
}

/// The key, and with it the algorithm.
enum Signer {
    Es256(EcdsaKeyPair),
    Es384(EcdsaKeyPair),
    Rs256(RsaKeyPair),
}

impl Signer {
    fn of(key: &PrivateKey) -> Result<Self, AssertionError> {
        let der = key.pkcs8_der().expose();
        if let Ok(key) = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der) {
            return Ok(Self::Es256(key));
        }
        if let Ok(key) = EcdsaKeyPair::from_pkcs8(&ECDSA_P384_SHA384_FIXED_SIGNING, der) {
            return Ok(Self::Es384(key));
        }
        RsaKeyPair::from_pkcs8(der).map(Self::Rs256).map_err(|_| AssertionError::Algorithm)
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Self::Es256(_) => "ES256",
            Self::Es384(_) => "ES384",
            Self::Rs256(_) => "RS256",
        }
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, AssertionError> {
        let random = SystemRandom::new();
        match self {
            Self::Es256(key) | Self::Es384(key) => key.sign(&random, message).map(|s| s.as_ref().to_vec()),
            Self::Rs256(key) => {
                let mut signature = vec![0; key.public_modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).map(|()| signature)
            }
        }
        .map_err(|_| AssertionError::Signing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Claims;
    use aws_lc_rs::signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256,
        VerificationAlgorithm,
    };
    use credmint_client_identity::KeyAlgorithm;

    fn assertion(algorithm: KeyAlgorithm) -> (PrivateKey, Secret<String>) {
        let key = PrivateKey::generate(algorithm).unwrap();
        let now = Timestamp::from_unix(1_700_000_000);
        let jwt = client_assertion(&key.pkcs8_pem(), "ci", "https://id.example", Some("k1"), now).unwrap();
        (key, jwt)
    }

    #[test]
    fn the_signature_is_of_the_key_and_the_algorithm_is_told() {
        let cases: [(_, _, &'static dyn VerificationAlgorithm); 3] = [
            (KeyAlgorithm::EcdsaP256, "ES256", &ECDSA_P256_SHA256_FIXED),
            (KeyAlgorithm::EcdsaP384, "ES384", &ECDSA_P384_SHA384_FIXED),
            (KeyAlgorithm::Rsa2048, "RS256", &RSA_PKCS1_2048_8192_SHA256),
        ];
        for (algorithm, word, verify) in cases {
            let (key, jwt) = assertion(algorithm);
            let (signed, signature) = jwt.expose().rsplit_once('.').unwrap();
            let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
            let public = ParsedPublicKey::new(verify, key.subject_public_key_info()).unwrap();
            assert!(public.verify_sig(signed.as_bytes(), &signature).is_ok(), "{word}");
            let header = URL_SAFE_NO_PAD.decode(signed.split('.').next().unwrap()).unwrap();
            let header: serde_json::Value = serde_json::from_slice(&header).unwrap();
            assert_eq!(header, json!({"alg": word, "typ": "JWT", "kid": "k1"}));
        }
    }

    #[test]
    fn the_claims_are_those_of_rfc_7523() {
        let claims = Claims::of(&assertion(KeyAlgorithm::EcdsaP256).1).unwrap();
        assert_eq!((claims.iss().as_deref(), claims.sub().as_deref()), (Some("ci"), Some("ci")));
        assert_eq!(claims.aud(), ["https://id.example"]);
        assert_eq!(claims.exp(), Some(Timestamp::from_unix(1_700_000_060)));
        assert!(claims.text("jti").is_some_and(|jti| jti.len() == 22));
        let again = Claims::of(&assertion(KeyAlgorithm::EcdsaP256).1).unwrap();
        assert_ne!(claims.text("jti"), again.text("jti"));
    }

    #[test]
    fn other_keys_are_refused() {
        let key = PrivateKey::generate(KeyAlgorithm::Ed25519).unwrap();
        let error = client_assertion(&key.pkcs8_pem(), "ci", "a", None, Timestamp::from_unix(0)).unwrap_err();
        assert!(matches!(error, AssertionError::Algorithm));
        let error = client_assertion(&Secret::from("no key"), "ci", "a", None, Timestamp::from_unix(0)).unwrap_err();
        assert!(matches!(error, AssertionError::Key(_)));
    }
}
