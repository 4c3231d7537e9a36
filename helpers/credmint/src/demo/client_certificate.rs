//! What the registry sees of a client: its certificate.
//! DER comes in, subject, serial number, validity and public key go out.
//! Touches nothing. RFC 5280 §4.1.

use credmint_vocabulary::Timestamp;
use x509_parser::prelude::{FromDer, X509Certificate};

/// Holds what is told of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientCertificate {
    /// Subject.
    pub(crate) subject: String,
    /// Serial number, hexadecimal with colons.
    pub(crate) serial: String,
    /// Beginning of its validity.
    pub(crate) not_before: Timestamp,
    /// End of its validity.
    pub(crate) not_after: Timestamp,
    /// Public key, as its bits stand in the certificate.
    pub(crate) public_key: Vec<u8>,
}

/// Reads a certificate.
pub(crate) fn read(der: &[u8]) -> Option<ClientCertificate> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    Some(ClientCertificate {
        subject: certificate.subject().to_string(),
        serial: certificate.raw_serial_as_string(),
        not_before: Timestamp::from_unix(certificate.validity().not_before.timestamp()),
        not_after: Timestamp::from_unix(certificate.validity().not_after.timestamp()),
        public_key: certificate.public_key().subject_public_key.data.to_vec(),
    })
}
