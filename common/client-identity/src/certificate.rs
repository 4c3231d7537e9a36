//! One certificate, read as far as we need it.
//! DER comes in, validity, usage, names and serial go out.
//! Touches nothing; trusts nothing that it reads. RFC 5280 §4.

use credmint_vocabulary::{Timestamp, printable};
use x509_parser::prelude::{FromDer, SubjectPublicKeyInfo, X509Certificate, X509Name};

/// Says what the extended key usage allows (RFC 5280 §4.2.1.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Usage {
    ClientAuth,
    Any,
    Unnamed,
    Others,
}

/// Reads a certificate; nothing may follow it.
pub(crate) fn read(der: &[u8]) -> Option<X509Certificate<'_>> {
    X509Certificate::from_der(der).ok().filter(|(rest, _)| rest.is_empty()).map(|(_, certificate)| certificate)
}

/// Tells whether the certificate is for this public key: same algorithm, same bits.
pub(crate) fn is_for(certificate: &X509Certificate<'_>, public: &[u8]) -> bool {
    let Ok((_, ours)) = SubjectPublicKeyInfo::from_der(public) else { return false };
    let theirs = certificate.public_key();
    ours.algorithm.algorithm == theirs.algorithm.algorithm
        && ours.subject_public_key.data == theirs.subject_public_key.data
}

/// Tells whether `issuer` issued `certificate`: by name, by right, and by signature.
pub(crate) fn issued_by(certificate: &X509Certificate<'_>, issuer: &X509Certificate<'_>) -> bool {
    certificate.issuer().as_raw() == issuer.subject().as_raw()
        && (issuer.is_ca() || issuer.version() == x509_parser::x509::X509Version::V1)
        && certificate.verify_signature(Some(issuer.public_key())).is_ok()
}

/// Tells whether the certificate issued itself: a trust anchor.
pub(crate) fn is_self_issued(certificate: &X509Certificate<'_>) -> bool {
    certificate.issuer().as_raw() == certificate.subject().as_raw() && certificate.verify_signature(None).is_ok()
}

/// Reads the extended key usage; one that cannot be read, or stands there twice, counts as for others.
pub(crate) fn usage(certificate: &X509Certificate<'_>) -> Usage {
    match certificate.extended_key_usage() {
        Ok(None) => Usage::Unnamed,
        Ok(Some(extension)) if extension.value.client_auth => Usage::ClientAuth,
        Ok(Some(extension)) if extension.value.any => Usage::Any,
        _ => Usage::Others,
    }
}

/// Gives `notBefore` and `notAfter`.
pub(crate) fn validity(certificate: &X509Certificate<'_>) -> (Timestamp, Timestamp) {
    let validity = certificate.validity();
    (Timestamp::from_unix(validity.not_before.timestamp()), Timestamp::from_unix(validity.not_after.timestamp()))
}

/// Gives a distinguished name for people (`CN=…, O=…`).
pub(crate) fn name(name: &X509Name<'_>) -> String {
    let text = printable(&name.to_string(), 512);
    if text.is_empty() { "no subject".to_owned() } else { text }
}

/// Gives the serial number as colon-separated lower-case hex, as Vault and OpenSSL write it.
pub(crate) fn serial(certificate: &X509Certificate<'_>) -> String {
    certificate.raw_serial().iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
}
