//! Signs with a client identity's key as services want it that read the certificate beside the request: over SHA-256, whatever the key.
//! A message comes in, a signature goes out: RSA with PKCS #1 v1.5, or ECDSA as DER.
//! The key stays where it is. RFC 8017 §8.2, RFC 3279 §2.2.3, FIPS 186-5 §6.4.

use aws_lc_rs::digest::{Digest, SHA256, SHA384, digest};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, EcdsaKeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};

use crate::certificate;
use crate::identity::ClientIdentity;
use crate::private_key::KeyError;

/// Holds a signature over SHA-256.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signature {
    /// RSA with PKCS #1 v1.5.
    Rsa(Vec<u8>),
    /// ECDSA, as DER.
    Ecdsa(Vec<u8>),
}

impl ClientIdentity {
    /// Signs a message.
    ///
    /// # Errors
    /// [`KeyError::NoSignature`] for a key that signs in neither way, as Ed25519.
    pub fn sign(&self, message: &[u8]) -> Result<Signature, KeyError> {
        let pkcs8 = self.key_der().expose();
        let hash = digest(&SHA256, message);
        let signed = if let Ok(pair) = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8) {
            pair.sign_digest(&hash)
        } else if let Ok(pair) = EcdsaKeyPair::from_pkcs8(&ECDSA_P384_SHA384_ASN1_SIGNING, pkcs8) {
            widened(&hash).and_then(|hash| pair.sign_digest(&hash))
        } else {
            return rsa(pkcs8, message);
        };
        signed.map(|signature| Signature::Ecdsa(signature.as_ref().to_vec())).map_err(|_| KeyError::NoSignature)
    }

    /// Gives the serial number in decimal.
    #[must_use]
    pub fn serial_decimal(&self) -> String {
        let own = self.certificates_der().first().and_then(|der| certificate::read(der));
        own.map(|certificate| certificate.tbs_certificate.serial.to_string()).unwrap_or_default()
    }
}

/// Puts a hash into the length that the curve has: the library signs on P-384 what is as long as SHA-384 alone, and to ECDSA a hash is a
/// number, the same with zeros in front (FIPS 186-5 §6.4.1, step 2).
fn widened(hash: &Digest) -> Result<Digest, aws_lc_rs::error::Unspecified> {
    let zeros = SHA384.output_len().saturating_sub(hash.as_ref().len());
    Digest::import_less_safe(&[vec![0; zeros].as_slice(), hash.as_ref()].concat(), &SHA384)
}

fn rsa(pkcs8: &[u8], message: &[u8]) -> Result<Signature, KeyError> {
    let pair = RsaKeyPair::from_pkcs8(pkcs8).map_err(|_| KeyError::NoSignature)?;
    let mut signature = vec![0; pair.public_modulus_len()];
    let signed = pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature);
    signed.map(|()| Signature::Rsa(signature)).map_err(|_| KeyError::NoSignature)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use aws_lc_rs::signature::{
        ECDSA_P256_SHA256_ASN1, ECDSA_P384_SHA256_ASN1, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256,
        VerificationAlgorithm,
    };
    use credmint_vocabulary::Timestamp;

    use crate::{Asked, Authority, KeyAlgorithm, Names, PrivateKey, SigningRequest};

    fn identity(algorithm: KeyAlgorithm) -> (ClientIdentity, Vec<u8>) {
        let now = Timestamp::from_unix(1_800_000_000);
        let authority = Authority::new("test", Duration::from_secs(7200), now).unwrap();
        let names = Names { common_name: Some("ada".to_owned()), ..Names::default() };
        let key = PrivateKey::generate(algorithm).unwrap();
        let public = key.subject_public_key_info();
        let request = SigningRequest::new(&key, &names).unwrap();
        let signed = authority.sign(&request, Duration::from_secs(3600), now).unwrap();
        let asked = Asked { names, ttl: None };
        (ClientIdentity::assemble(key, &signed, &[], &asked, now).unwrap().0, public)
    }

    #[test]
    fn what_is_signed_over_sha_256_is_verified_by_the_public_half_alone() {
        let ways: [(KeyAlgorithm, &'static dyn VerificationAlgorithm); 3] = [
            (KeyAlgorithm::Rsa2048, &RSA_PKCS1_2048_8192_SHA256),
            (KeyAlgorithm::EcdsaP256, &ECDSA_P256_SHA256_ASN1),
            (KeyAlgorithm::EcdsaP384, &ECDSA_P384_SHA256_ASN1),
        ];
        for (algorithm, way) in ways {
            let (identity, public) = identity(algorithm);
            let signature = match identity.sign(b"a request").unwrap() {
                Signature::Rsa(signature) if algorithm == KeyAlgorithm::Rsa2048 => signature,
                Signature::Ecdsa(signature) if algorithm != KeyAlgorithm::Rsa2048 => signature,
                other => panic!("{other:?}"),
            };
            let key = ParsedPublicKey::new(way, public).unwrap();
            assert!(key.verify_sig(b"a request", &signature).is_ok(), "{}", algorithm.word());
            assert!(key.verify_sig(b"another", &signature).is_err(), "{}", algorithm.word());
        }
    }

    #[test]
    fn a_key_that_signs_in_neither_way_is_told() {
        assert_eq!(identity(KeyAlgorithm::Ed25519).0.sign(b"").unwrap_err(), KeyError::NoSignature);
    }

    #[test]
    fn the_serial_number_in_decimal_is_the_same_number() {
        let (identity, _) = identity(KeyAlgorithm::EcdsaP256);
        let octets = identity.serial().split(':').map(|octet| u8::from_str_radix(octet, 16).unwrap());
        // Schoolbook: times 256, plus the octet, digit by digit.
        let decimal = octets.fold(vec![0_u32], |digits, octet| {
            let mut carry = u32::from(octet);
            let mut next: Vec<u32> = digits
                .iter()
                .map(|digit| {
                    carry += digit * 256;
                    let d = carry % 10;
                    carry /= 10;
                    d
                })
                .collect();
            while carry > 0 {
                next.push(carry % 10);
                carry /= 10;
            }
            next
        });
        let text: String = decimal.iter().rev().map(ToString::to_string).collect();
        assert_eq!(identity.serial_decimal(), text.trim_start_matches('0'));
    }
}
