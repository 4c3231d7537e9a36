//! A certification request, signed with the key that it is for.
//! Key and names come in, PEM goes out; the key itself is not in it.
//! Touches nothing. RFC 2986; the common name stands in the subject, all other names in the extension request.

use rcgen::ExtendedKeyUsagePurpose;

use crate::names::Names;
use crate::private_key::{KeyError, PrivateKey};

/// Holds a certification request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SigningRequest {
    pem: String,
}

/// Says why there is no request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// A subject alternative name that is not ASCII: a domain wants Punycode, a URI percent-encoding.
    #[error("the name `{0}` has characters that a certificate cannot carry")]
    Name(String),
    /// The key cannot sign.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The cryptographic library refused to sign.
    #[error("the certification request could not be signed")]
    Signing,
}

impl SigningRequest {
    /// Asks for a certificate with these names, for client authentication.
    ///
    /// # Errors
    /// A name that no certificate can carry, or a key that does not sign.
    pub fn new(key: &PrivateKey, names: &Names) -> Result<Self, RequestError> {
        let mut params = names.params().map_err(RequestError::Name)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let signed = params.serialize_request(&*key.signer()?).map_err(|_| RequestError::Signing)?;
        Ok(Self { pem: signed.pem().map_err(|_| RequestError::Signing)? })
    }

    pub(crate) fn of_pem(pem: String) -> Self {
        Self { pem }
    }

    /// Lends the PEM text.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Writes it in Base64 without the lines around it, as EST wants it (RFC 7030 §4.2.1).
    #[must_use]
    pub fn base64(&self) -> String {
        self.pem.lines().filter(|line| !line.starts_with("-----")).flat_map(|line| [line, "\n"]).collect()
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateSigningRequestParams, DnType, SanType};

    use super::*;
    use crate::algorithm::KeyAlgorithm;

    #[test]
    fn names_stand_where_vault_looks_for_them() {
        let key = PrivateKey::generate(KeyAlgorithm::EcdsaP256).unwrap();
        let names = Names {
            common_name: Some("Änn".to_owned()),
            dns_names: vec!["a.example".to_owned()],
            email_addresses: vec!["a@a.example".to_owned()],
            ip_addresses: vec!["::1".parse().unwrap()],
            uris: vec!["spiffe://a/b".to_owned()],
        };
        let request = SigningRequest::new(&key, &names).unwrap();
        let read = CertificateSigningRequestParams::from_pem(request.pem()).unwrap().params;
        assert_eq!(read.distinguished_name.get(&DnType::CommonName), Some(&"Änn".into()));
        assert_eq!(read.subject_alt_names.len(), 4);
        assert!(read.subject_alt_names.contains(&SanType::IpAddress("::1".parse().unwrap())));
        assert_eq!(read.extended_key_usages, [ExtendedKeyUsagePurpose::ClientAuth]);
    }

    #[test]
    fn a_name_that_no_certificate_carries_is_told() {
        let key = PrivateKey::generate(KeyAlgorithm::Ed25519).unwrap();
        let names = Names { dns_names: vec!["café.example".to_owned()], ..Names::default() };
        assert_eq!(SigningRequest::new(&key, &names), Err(RequestError::Name("café.example".to_owned())));
    }

    #[test]
    fn a_request_without_names_is_a_request() {
        let key = PrivateKey::generate(KeyAlgorithm::EcdsaP384).unwrap();
        let request = SigningRequest::new(&key, &Names::default()).unwrap();
        assert!(request.pem().starts_with("-----BEGIN CERTIFICATE REQUEST-----"));
    }
}
