//! A certification request for what a certificate has already: for its renewal with another key.
//! A key and the present identity come in, a request with the same subject and the same alternative names goes out.
//! Touches nothing. RFC 7030 §4.2.2 wants both to be identical; what cannot be said again exactly is not said at all.

use rcgen::string::{BmpString, Ia5String, PrintableString, TeletexString};
use rcgen::{CertificateParams, CustomExtension, DistinguishedName, DnType, DnValue, ExtendedKeyUsagePurpose};
use x509_parser::asn1_rs::Tag;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::oid_registry::OID_X509_EXT_SUBJECT_ALT_NAME;
use x509_parser::prelude::{AttributeTypeAndValue, FromDer, X509Certificate, X509Name};

use crate::certificate;
use crate::identity::ClientIdentity;
use crate::private_key::PrivateKey;
use crate::request::{RequestError, SigningRequest};

/// `subjectAltName` (RFC 5280 §4.2.1.6).
const SUBJECT_ALTERNATIVE_NAME: &[u64] = &[2, 5, 29, 17];

impl SigningRequest {
    /// Asks for the names of the present certificate again; `None` when they cannot be written down exactly as they are.
    ///
    /// # Errors
    /// A key that does not sign.
    pub fn again(key: &PrivateKey, present: &ClientIdentity) -> Result<Option<Self>, RequestError> {
        let Some(leaf) = present.certificates_der().first().and_then(|der| certificate::read(der)) else {
            return Ok(None);
        };
        let Some(params) = params(&leaf) else { return Ok(None) };
        let signed = params.serialize_request(&*key.signer()?).map_err(|_| RequestError::Signing)?;
        if !has_the_subject(signed.der(), leaf.subject()) {
            return Ok(None);
        }
        Ok(Some(Self::of_pem(signed.pem().map_err(|_| RequestError::Signing)?)))
    }
}

fn params(leaf: &X509Certificate<'_>) -> Option<CertificateParams> {
    let mut params = CertificateParams::default();
    params.distinguished_name = subject(leaf.subject())?;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let names = leaf.extensions().iter().filter(|extension| extension.oid == OID_X509_EXT_SUBJECT_ALT_NAME);
    params.custom_extensions = names
        .map(|extension| CustomExtension::from_oid_content(SUBJECT_ALTERNATIVE_NAME, extension.value.to_vec()))
        .collect();
    Some(params)
}

fn subject(name: &X509Name<'_>) -> Option<DistinguishedName> {
    let mut subject = DistinguishedName::new();
    for attribute in name.iter_attributes() {
        let oid: Vec<u64> = attribute.attr_type().iter()?.collect();
        subject.push(DnType::from_oid(&oid), value(attribute)?);
    }
    Some(subject)
}

fn value(attribute: &AttributeTypeAndValue<'_>) -> Option<DnValue> {
    let bytes = attribute.attr_value().data;
    let text = || std::str::from_utf8(bytes).ok();
    Some(match attribute.attr_value().tag() {
        Tag::Utf8String => DnValue::Utf8String(text()?.to_owned()),
        Tag::PrintableString => DnValue::PrintableString(PrintableString::try_from(text()?).ok()?),
        Tag::Ia5String => DnValue::Ia5String(Ia5String::try_from(text()?).ok()?),
        Tag::T61String => DnValue::TeletexString(TeletexString::try_from(text()?).ok()?),
        Tag::BmpString => DnValue::BmpString(BmpString::from_utf16be(bytes.to_vec()).ok()?),
        _ => return None,
    })
}

/// Compares octet by octet: a subject with the same attribute twice, or several in one set, comes out otherwise.
fn has_the_subject(request: &[u8], subject: &X509Name<'_>) -> bool {
    let read = X509CertificationRequest::from_der(request);
    read.is_ok_and(|(_, request)| request.certification_request_info.subject.as_raw() == subject.as_raw())
}
