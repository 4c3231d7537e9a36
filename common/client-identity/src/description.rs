//! What a certificate says, for people.
//! DER comes in, subject, issuer, serial number, key, validity, names and uses go out, made printable.
//! Touches nothing; trusts nothing that it reads. RFC 5280 §4.1 and §4.2.1.12, RFC 5480, RFC 8410.

use credmint_vocabulary::Timestamp;
use x509_parser::extensions::ExtendedKeyUsage;
use x509_parser::prelude::X509Certificate;
use x509_parser::public_key::PublicKey;

use crate::certificate;
use crate::names::Names;
use crate::pem;

/// Holds what a certificate says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Subject.
    pub subject: String,
    /// Issuer.
    pub issuer: String,
    /// Serial number, colon-separated hex.
    pub serial: String,
    /// Algorithm and size of the key, in words.
    pub key: String,
    /// Beginning of the validity.
    pub not_before: Timestamp,
    /// End of the validity.
    pub not_after: Timestamp,
    /// Common name and subject alternative names.
    pub names: Names,
    /// Extended key usages by their names in RFC 5280, or as OIDs; empty means that the certificate names none.
    pub usages: Vec<String>,
}

impl Description {
    /// Reads the first certificate of a PEM text; `None` if there is none.
    #[must_use]
    pub fn of_pem(text: &str) -> Option<Self> {
        Self::of(pem::certificates(text).ok()?.first()?)
    }

    /// Reads a certificate; `None` if it is none.
    #[must_use]
    pub fn of(der: &[u8]) -> Option<Self> {
        let read = certificate::read(der)?;
        let (not_before, not_after) = certificate::validity(&read);
        Some(Self {
            subject: certificate::name(read.subject()),
            issuer: certificate::name(read.issuer()),
            serial: certificate::serial(&read),
            key: key(&read),
            not_before,
            not_after,
            names: Names::of(&read),
            usages: read.extended_key_usage().ok().flatten().map(|usage| usages(usage.value)).unwrap_or_default(),
        })
    }
}

fn key(certificate: &X509Certificate<'_>) -> String {
    let info = certificate.public_key();
    let parameter = info.algorithm.parameters.as_ref().and_then(|any| any.as_oid().ok()).map(|oid| oid.to_id_string());
    match (info.algorithm.algorithm.to_id_string().as_str(), parameter.as_deref()) {
        ("1.2.840.10045.2.1", Some("1.2.840.10045.3.1.7")) => "ECDSA on P-256".to_owned(),
        ("1.2.840.10045.2.1", Some("1.3.132.0.34")) => "ECDSA on P-384".to_owned(),
        ("1.2.840.10045.2.1", Some("1.3.132.0.35")) => "ECDSA on P-521".to_owned(),
        ("1.3.101.112", _) => "Ed25519".to_owned(),
        ("1.2.840.113549.1.1.1", _) => match info.parsed() {
            Ok(PublicKey::RSA(key)) => format!("RSA, {} bits", key.key_size()),
            _ => "RSA".to_owned(),
        },
        (other, _) => format!("of the algorithm {other}"),
    }
}

fn usages(usage: &ExtendedKeyUsage<'_>) -> Vec<String> {
    let named = [
        (usage.any, "anyExtendedKeyUsage"),
        (usage.client_auth, "clientAuth"),
        (usage.server_auth, "serverAuth"),
        (usage.code_signing, "codeSigning"),
        (usage.email_protection, "emailProtection"),
        (usage.time_stamping, "timeStamping"),
        (usage.ocsp_signing, "OCSPSigning"),
    ];
    let named = named.into_iter().filter(|(there, _)| *there).map(|(_, name)| name.to_owned());
    named.chain(usage.other.iter().map(|oid| oid.to_id_string())).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Authority, KeyAlgorithm, PrivateKey, SigningRequest};

    const NOW: Timestamp = Timestamp::from_unix(1_800_000_000);

    #[test]
    fn every_kind_of_key_is_told_by_name_and_size() {
        let authority = Authority::new("CA", Duration::from_secs(3600), NOW).unwrap();
        for (algorithm, words) in [
            (KeyAlgorithm::EcdsaP256, "ECDSA on P-256"),
            (KeyAlgorithm::EcdsaP384, "ECDSA on P-384"),
            (KeyAlgorithm::Ed25519, "Ed25519"),
            (KeyAlgorithm::Rsa2048, "RSA, 2048 bits"),
        ] {
            let key = PrivateKey::generate(algorithm).unwrap();
            let names = Names { common_name: Some("a".into()), ..Names::default() };
            let request = SigningRequest::new(&key, &names).unwrap();
            let text = authority.sign(&request, Duration::from_secs(60), NOW).unwrap();
            let told = Description::of(&pem::certificates(&text).unwrap().remove(0)).unwrap();
            assert_eq!((told.key.as_str(), told.usages), (words, vec!["clientAuth".to_owned()]));
            assert_eq!((told.subject.as_str(), told.issuer.as_str()), ("CN=a", "CN=CA"));
            assert_eq!(told.not_after, NOW.plus(Duration::from_secs(60)));
        }
    }

    #[test]
    fn what_is_no_certificate_has_no_description() {
        assert_eq!(Description::of(b"nothing"), None);
    }
}
