//! What a certification authority hands over: certificates in one of the forms that are in use.
//! PEM, PKCS #7 or a bare certificate, as DER or Base64, comes in; the certificates go out.
//! Touches nothing; believes nothing of it: [`ClientIdentity`](crate::ClientIdentity) checks what they are. RFC 7468, RFC 5652.

use base64::Engine as _;
use base64::engine::general_purpose::GeneralPurpose;
use base64::engine::{DecodePaddingMode, GeneralPurposeConfig};
use x509_parser::pem::Pem;

use crate::identity::AssembleError;
use crate::{certificate, pkcs7};

/// Bounds the whole text.
const LARGEST: usize = 256 * 1024;
/// Bounds the number of certificates.
const MOST: usize = 32;
/// The first octet of every certificate and every message.
const SEQUENCE: u8 = 0x30;

/// Holds certificates in no particular order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bundle(Vec<Vec<u8>>);

impl Bundle {
    /// Reads certificates in whatever form they come.
    ///
    /// # Errors
    /// Nothing that is one, something broken, or more than anybody needs.
    pub fn read(bytes: &[u8]) -> Result<Self, AssembleError> {
        if bytes.len() > LARGEST {
            return Err(AssembleError::TooLarge);
        }
        let found = match bytes.first() {
            None => Vec::new(),
            Some(&SEQUENCE) => of_der(bytes)?,
            Some(_) if has_pem(bytes) => of_pem(bytes)?,
            Some(_) => of_der(&of_base64(bytes)?)?,
        };
        Self::of(found)
    }

    /// Puts two together.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Tells whether it is one certificate, without any that could have issued it.
    #[must_use]
    pub fn is_single(&self) -> bool {
        self.0.len() == 1
    }

    pub(crate) fn of(certificates: Vec<Vec<u8>>) -> Result<Self, AssembleError> {
        match certificates.len() {
            0 => Err(AssembleError::Missing),
            1..=MOST => Ok(Self(certificates)),
            _ => Err(AssembleError::TooLarge),
        }
    }

    pub(crate) fn into_der(self) -> Vec<Vec<u8>> {
        self.0
    }
}

fn has_pem(bytes: &[u8]) -> bool {
    bytes.windows(11).any(|window| window == b"-----BEGIN ")
}

/// Takes the blocks that are certificates or hold some; text around them and other blocks are passed over.
fn of_pem(bytes: &[u8]) -> Result<Vec<Vec<u8>>, AssembleError> {
    let mut found = Vec::new();
    for block in Pem::iter_from_buffer(bytes) {
        let block = block.map_err(|_| AssembleError::Unreadable)?;
        match block.label.as_str() {
            "CERTIFICATE" | "X509 CERTIFICATE" | "TRUSTED CERTIFICATE" => found.push(block.contents),
            "PKCS7" | "CMS" => found.extend(pkcs7::certificates(&block.contents).ok_or(AssembleError::Unreadable)?),
            _ => {}
        }
    }
    Ok(found)
}

fn of_der(der: &[u8]) -> Result<Vec<Vec<u8>>, AssembleError> {
    if certificate::read(der).is_some() {
        return Ok(vec![der.to_vec()]);
    }
    pkcs7::certificates(der).ok_or(AssembleError::Unreadable)
}

/// Decodes Base64 with line ends anywhere, with padding or without (RFC 8951 §3.1).
fn of_base64(text: &[u8]) -> Result<Vec<u8>, AssembleError> {
    let bare: Vec<u8> = text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let lenient = GeneralPurpose::new(&base64::alphabet::STANDARD, config);
    lenient.decode(bare).map_err(|_| AssembleError::Unreadable)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use base64::engine::general_purpose::STANDARD;
    use credmint_vocabulary::Timestamp;

    use super::*;
    use crate::pem;
    use crate::pkcs7::tests::message;
    use crate::{Asked, Authority, ClientIdentity, KeyAlgorithm, Names, PrivateKey, SigningRequest};

    const NOW: Timestamp = Timestamp::from_unix(1_800_000_000);
    const HOUR: Duration = Duration::from_secs(3_600);

    /// A key with its certificate and the authority's, as DER.
    fn signed() -> (PrivateKey, Vec<u8>, Vec<u8>) {
        let authority = Authority::new("CA", HOUR * 2, NOW).unwrap();
        let key = PrivateKey::generate(KeyAlgorithm::EcdsaP256).unwrap();
        let names = Names { common_name: Some("me".to_owned()), ..Names::default() };
        let leaf = authority.sign(&SigningRequest::new(&key, &names).unwrap(), HOUR, NOW).unwrap();
        let der = |text: &str| pem::certificates(text).unwrap().remove(0);
        (key, der(&leaf), der(authority.certificate_pem()))
    }

    fn assembled(key: &PrivateKey, bytes: &[u8]) -> Result<ClientIdentity, AssembleError> {
        ClientIdentity::assemble_bundle(key.copied(), Bundle::read(bytes)?, &Asked::default(), NOW)
            .map(|(done, _)| done)
    }

    #[test]
    fn every_form_in_use_gives_the_same_identity() {
        let (key, leaf, anchor) = signed();
        let both = [anchor.clone(), leaf.clone()];
        let message = message(&both);
        let base64 = STANDARD.encode(&message);
        let lines: String =
            base64.as_bytes().chunks(60).map(|line| format!("{}\r\n", String::from_utf8_lossy(line))).collect();
        let pem = format!("some text before\n{}", pem::write_certificates(&both));
        let pkcs7_pem = pem_rfc7468::encode_string("PKCS7", pem_rfc7468::LineEnding::LF, &message).unwrap();
        let bare = base64.trim_end_matches('=').to_owned();
        for form in [
            message,
            base64.into_bytes(),
            bare.into_bytes(),
            lines.into_bytes(),
            pem.into_bytes(),
            pkcs7_pem.into_bytes(),
        ] {
            let identity = assembled(&key, &form).unwrap();
            assert_eq!(identity.certificates_der(), std::slice::from_ref(&leaf));
            assert!(identity.anchor_pem().is_some());
        }
        assert!(Bundle::read(&leaf).unwrap().is_single());
    }

    #[test]
    fn what_is_no_certificate_is_told() {
        let (key, leaf, _) = signed();
        assert_eq!(Bundle::read(b""), Err(AssembleError::Missing));
        assert_eq!(Bundle::read(b"<html>login</html>"), Err(AssembleError::Unreadable));
        assert_eq!(Bundle::read(&vec![b'M'; 300 * 1024]), Err(AssembleError::TooLarge));
        assert_eq!(Bundle::read(&message(&vec![leaf.clone(); 40])), Err(AssembleError::TooLarge));
        assert_eq!(Bundle::read(&message(&[])), Err(AssembleError::Missing));
        assert_eq!(Bundle::read(key.pkcs8_pem().expose().as_bytes()), Err(AssembleError::Missing), "a key is none");
        let (other, ..) = signed();
        assert_eq!(assembled(&other, &message(&[leaf])).unwrap_err(), AssembleError::KeyMismatch);
    }

    #[test]
    fn a_form_cut_off_anywhere_gives_no_identity() {
        let (key, leaf, _) = signed();
        let message = message(&[leaf]);
        for length in 0..message.len() {
            assert!(assembled(&key, &message[..length]).is_err(), "{length}");
        }
        let text = STANDARD.encode(&message);
        for length in 0..text.len() - 4 {
            assert!(assembled(&key, &text.as_bytes()[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn an_expired_certificate_and_one_of_a_stranger_are_told() {
        let (key, leaf, _) = signed();
        let late = ClientIdentity::assemble_bundle(
            key.copied(),
            Bundle::read(&leaf).unwrap(),
            &Asked::default(),
            NOW.plus(HOUR * 3),
        );
        assert!(matches!(late, Err(AssembleError::Expired { .. })));
        // The authority of another: by name it is ours, by signature it is not.
        let (_, _, stranger) = signed();
        assert!(matches!(assembled(&key, &message(&[leaf, stranger])), Err(AssembleError::BadLink { .. })));
    }

    #[test]
    fn a_renewal_asks_for_the_same_names_and_another_key() {
        let authority = Authority::new("CA", HOUR * 2, NOW).unwrap();
        let key = PrivateKey::generate(KeyAlgorithm::EcdsaP256).unwrap();
        let names = Names {
            common_name: Some("Änn".to_owned()),
            dns_names: vec!["a.example".to_owned()],
            uris: vec!["spiffe://a/b".to_owned()],
            email_addresses: vec!["a@a.example".to_owned()],
            ..Names::default()
        };
        let leaf = authority.sign(&SigningRequest::new(&key, &names).unwrap(), HOUR, NOW).unwrap();
        let present = assembled(&key, leaf.as_bytes()).unwrap();
        let next = PrivateKey::generate(KeyAlgorithm::EcdsaP256).unwrap();
        let request = SigningRequest::again(&next, &present).unwrap().unwrap();
        let renewed = authority.sign(&request, HOUR, NOW).unwrap();
        let renewed = assembled(&next, renewed.as_bytes()).unwrap();
        assert_eq!((renewed.names(), renewed.subject()), (names, present.subject()));
        assert!(assembled(&key, renewed.certificate_pem().as_bytes()).is_err(), "it is for the new key");
    }
}
