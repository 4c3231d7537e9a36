//! What must not be found anywhere: the forms that a private key has, and the tokens of this run.
//! A certificate and two tokens come in, a list of byte strings with names goes out.
//! A file with a private key almost always holds the public key too, so that is looked for as well.

use base64::Engine;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use credmint_vocabulary::Secret;

/// Something to look for.
pub(crate) struct Needle {
    /// What it is.
    pub(crate) name: &'static str,
    bytes: Secret<Vec<u8>>,
}

impl Needle {
    fn new(name: &'static str, bytes: &[u8]) -> Self {
        Self { name, bytes: Secret::new(bytes.to_vec()) }
    }

    /// Tells whether it is in there.
    pub(crate) fn is_in(&self, hay: &[u8]) -> bool {
        let needle = self.bytes.expose();
        let mut starts = hay.iter().enumerate().filter(|(_, byte)| Some(*byte) == needle.first());
        starts.any(|(at, _)| hay.get(at..).is_some_and(|rest| rest.starts_with(needle)))
    }
}

/// PKCS #8 of a P-256 key up to the secret number (RFC 5958, RFC 5915).
const PKCS8: &[u8] = b"\x30\x81\x87\x02\x01\x00\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x04\x6d\x30\x6b\x02\x01\x01\x04\x20";
/// SEC 1 form of a P-256 key up to the secret number (RFC 5915).
const SEC1: &[u8] = b"\x30\x77\x02\x01\x01\x04\x20";

/// Lists the forms of a private key, by their unmistakable beginnings.
pub(crate) fn of_any_key() -> Vec<Needle> {
    let mut needles = vec![Needle::new("PEM marker of a private key", b"PRIVATE KEY-----")];
    needles.extend(with_base64("PKCS #8 key", PKCS8));
    needles.extend(with_base64("SEC 1 key", SEC1));
    needles
}

/// Lists what belongs to one public key.
pub(crate) fn of_public_key(bits: &[u8]) -> Vec<Needle> {
    with_base64("public key of the minted certificate", bits)
}

/// Names a token of this run.
pub(crate) fn of_token(name: &'static str, token: &Secret<String>) -> Needle {
    Needle::new(name, token.expose().as_bytes())
}

/// Adds the three ways in which bytes look in base64, depending on what stands before them.
fn with_base64(name: &'static str, bytes: &[u8]) -> Vec<Needle> {
    let shifted = |shift: usize| {
        let text = BASE64_STANDARD_NO_PAD.encode([&vec![0; shift], bytes].concat());
        let sure = text.get((shift * 4).div_ceil(3)..(shift + bytes.len()) * 4 / 3).unwrap_or_default().to_owned();
        Needle::new(name, sure.as_bytes())
    };
    std::iter::once(Needle::new(name, bytes)).chain((0..3).map(shifted)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_found_raw_and_in_base64_wherever_they_begin() {
        let needles = with_base64("x", PKCS8);
        for before in 0..7 {
            let hay = [vec![b'a'; before], PKCS8.to_vec(), b"zz".to_vec()].concat();
            let base64 = BASE64_STANDARD_NO_PAD.encode(&hay);
            assert!(needles.iter().any(|needle| needle.is_in(&hay)));
            assert!(needles.iter().any(|needle| needle.is_in(base64.as_bytes())), "{before}");
        }
        assert!(!needles.iter().any(|needle| needle.is_in(b"nothing of the kind")));
    }

    #[test]
    fn a_real_key_is_found_in_each_form() {
        let key = credmint_client_identity::PrivateKey::generate(credmint_client_identity::KeyAlgorithm::EcdsaP256);
        let key = key.expect("a key");
        let pem = key.pkcs8_pem();
        let body: String = pem.expose().lines().filter(|line| !line.starts_with('-')).collect();
        let found = |hay: &[u8]| of_any_key().iter().any(|needle| needle.is_in(hay));
        assert!(found(pem.expose().as_bytes()) && found(key.pkcs8_der().expose()) && found(body.as_bytes()));
    }
}
