//! A private key: made here, kept as PKCS #8 in memory that is wiped.
//! An algorithm or PEM text comes in; DER, PEM and the public half go out.
//! Touches nothing but the random number generator. RFC 5958; version 1 throughout, because OpenSSL refuses version 2.

use std::fmt;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{self, KeySize};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair,
};
use credmint_vocabulary::Secret;
use rcgen::PublicKeyData;
use rustls_pki_types::PrivatePkcs8KeyDer;
use zeroize::Zeroizing;

use crate::algorithm::KeyAlgorithm;
use crate::pem;

/// Holds a private key, wiped on drop; it cannot be copied or printed.
pub struct PrivateKey {
    pkcs8: Secret<Vec<u8>>,
    public: Vec<u8>,
}

/// Says why there is no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The generator gave none.
    #[error("the cryptographic library made no {} key", algorithm.word())]
    Generation {
        /// What was asked for.
        algorithm: KeyAlgorithm,
    },
    /// Not PEM at all.
    #[error("the private key is not PEM")]
    NotPem,
    /// PEM of something else.
    #[error("PEM of `PRIVATE KEY` (PKCS #8, unencrypted) was expected, `{0}` stands there")]
    Label(String),
    /// PKCS #8 of an unknown algorithm, or broken.
    #[error("the private key is of no kind that can be used here (ECDSA P-256, P-384, P-521, Ed25519, RSA)")]
    Unusable,
    /// Not one that signs over SHA-256.
    #[error("the key makes no signature over SHA-256: only RSA and ECDSA keys do")]
    NoSignature,
}

impl PrivateKey {
    /// Makes a key.
    ///
    /// # Errors
    /// [`KeyError::Generation`] when the cryptographic library has none to give.
    pub fn generate(algorithm: KeyAlgorithm) -> Result<Self, KeyError> {
        let pkcs8 = match algorithm {
            KeyAlgorithm::EcdsaP256 => ecdsa(&ECDSA_P256_SHA256_ASN1_SIGNING),
            KeyAlgorithm::EcdsaP384 => ecdsa(&ECDSA_P384_SHA384_ASN1_SIGNING),
            KeyAlgorithm::Ed25519 => ed25519(),
            KeyAlgorithm::Rsa2048 => rsa(KeySize::Rsa2048),
            KeyAlgorithm::Rsa3072 => rsa(KeySize::Rsa3072),
            KeyAlgorithm::Rsa4096 => rsa(KeySize::Rsa4096),
        };
        Self::from_pkcs8(pkcs8.map_err(|_| KeyError::Generation { algorithm })?)
    }

    /// Takes the DER of PKCS #8, unencrypted.
    ///
    /// # Errors
    /// It is none, or of a key that nothing here signs with.
    pub fn from_pkcs8_der(der: Secret<Vec<u8>>) -> Result<Self, KeyError> {
        Self::from_pkcs8(der)
    }

    /// Reads PEM of PKCS #8, unencrypted.
    ///
    /// # Errors
    /// What stands there instead.
    pub fn from_pkcs8_pem(text: &Secret<String>) -> Result<Self, KeyError> {
        let named = |label: Option<String>| label.map_or(KeyError::NotPem, KeyError::Label);
        Self::from_pkcs8(pem::private_key(text.expose()).map_err(named)?)
    }

    /// Reads PEM of PKCS #8, or of an RSA key in the older form of RFC 8017 §A.1.2, unencrypted.
    ///
    /// # Errors
    /// What stands there instead.
    pub fn from_pem(text: &Secret<String>) -> Result<Self, KeyError> {
        let Some(der) = pem::rsa_private_key(text.expose()) else { return Self::from_pkcs8_pem(text) };
        let pair = rsa::KeyPair::from_der(der.expose()).map_err(|_| KeyError::Unusable)?;
        let document: Pkcs8V1Der<'_> = pair.as_der().map_err(|_| KeyError::Unusable)?;
        Self::from_pkcs8(Secret::new(document.as_ref().to_vec()))
    }

    /// Copies it, for a request that may be answered more than once; the copy is wiped on drop, too.
    #[must_use]
    pub fn copied(&self) -> Self {
        Self { pkcs8: Secret::new(self.pkcs8.expose().clone()), public: self.public.clone() }
    }

    /// Lends the PKCS #8 DER.
    #[must_use]
    pub fn pkcs8_der(&self) -> &Secret<Vec<u8>> {
        &self.pkcs8
    }

    /// Writes PEM of PKCS #8.
    #[must_use]
    pub fn pkcs8_pem(&self) -> Secret<String> {
        pem::write_private_key(self.pkcs8.expose())
    }

    /// Gives the public half as a certificate has it (`SubjectPublicKeyInfo`, RFC 5280 §4.1.2.7).
    #[must_use]
    pub fn subject_public_key_info(&self) -> Vec<u8> {
        self.public.clone()
    }

    /// Makes what rcgen signs with; it is wiped when dropped.
    pub(crate) fn signer(&self) -> Result<Zeroizing<rcgen::KeyPair>, KeyError> {
        signer(self.pkcs8.expose())
    }

    fn from_pkcs8(pkcs8: Secret<Vec<u8>>) -> Result<Self, KeyError> {
        let public = signer(pkcs8.expose())?.subject_public_key_info();
        Ok(Self { pkcs8, public })
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrivateKey")
    }
}

fn signer(pkcs8: &[u8]) -> Result<Zeroizing<rcgen::KeyPair>, KeyError> {
    let pair = rcgen::KeyPair::try_from(&PrivatePkcs8KeyDer::from(pkcs8));
    pair.map(Zeroizing::new).map_err(|_| KeyError::Unusable)
}

fn ecdsa(algorithm: &'static EcdsaSigningAlgorithm) -> Result<Secret<Vec<u8>>, Unspecified> {
    let document = EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new())?;
    Ok(Secret::new(document.as_ref().to_vec()))
}

fn ed25519() -> Result<Secret<Vec<u8>>, Unspecified> {
    let document = Ed25519KeyPair::generate_pkcs8v1(&SystemRandom::new())?;
    Ok(Secret::new(document.as_ref().to_vec()))
}

fn rsa(size: KeySize) -> Result<Secret<Vec<u8>>, Unspecified> {
    let document: Pkcs8V1Der<'_> = rsa::KeyPair::generate(size)?.as_der()?;
    Ok(Secret::new(document.as_ref().to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_survives_a_round_trip_and_is_version_1() {
        for algorithm in KeyAlgorithm::ALL {
            let key = PrivateKey::generate(algorithm).unwrap();
            let again = PrivateKey::from_pkcs8_pem(&key.pkcs8_pem()).unwrap();
            assert!(again.pkcs8_der().same_as(key.pkcs8_der().expose()), "{}", algorithm.word());
            assert_eq!(again.subject_public_key_info(), key.subject_public_key_info());
            // SEQUENCE, length in one, two or three octets, then INTEGER 0.
            let version = key.pkcs8_der().expose().windows(3).take(5).find(|octets| octets.starts_with(&[2, 1]));
            assert_eq!(version, Some(&[2, 1, 0][..]), "{}", algorithm.word());
        }
    }

    #[test]
    fn what_is_no_pkcs8_is_told_by_its_label() {
        let refused = |text: &str| PrivateKey::from_pkcs8_pem(&Secret::from(text)).unwrap_err();
        let pkcs1 = "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n";
        assert_eq!(refused(pkcs1), KeyError::Label("RSA PRIVATE KEY".to_owned()));
        assert_eq!(refused(""), KeyError::NotPem);
        assert_eq!(refused("-----BEGIN PRIVATE KEY-----"), KeyError::NotPem);
        assert_eq!(refused("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"), KeyError::Unusable);
        assert_eq!(refused(&"x".repeat(1 << 20)), KeyError::NotPem);
    }

    #[test]
    fn an_rsa_key_in_the_older_form_is_the_same_key() {
        let key = PrivateKey::generate(KeyAlgorithm::Rsa2048).unwrap();
        // PKCS #8 of an RSA key is 26 octets and the older form.
        let pkcs1 = &key.pkcs8_der().expose()[26..];
        let pem = pem_rfc7468::encode_string("RSA PRIVATE KEY", pem_rfc7468::LineEnding::LF, pkcs1).unwrap();
        let again = PrivateKey::from_pem(&Secret::new(pem)).unwrap();
        assert!(again.pkcs8_der().same_as(key.pkcs8_der().expose()));
        let again = PrivateKey::from_pem(&key.pkcs8_pem()).unwrap();
        assert!(again.pkcs8_der().same_as(key.pkcs8_der().expose()));
        let broken = "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n";
        assert_eq!(PrivateKey::from_pem(&Secret::from(broken)).unwrap_err(), KeyError::Unusable);
        let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
        let label = KeyError::Label("ENCRYPTED PRIVATE KEY".to_owned());
        assert_eq!(PrivateKey::from_pem(&Secret::from(encrypted)).unwrap_err(), label);
    }

    #[test]
    fn errors_are_sentences() {
        let error = KeyError::Generation { algorithm: KeyAlgorithm::Rsa2048 };
        assert_eq!(error.to_string(), "the cryptographic library made no rsa-2048 key");
    }
}
