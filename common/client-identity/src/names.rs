//! The names that a certificate is asked for, and those that it has.
//! Plain text comes in and goes out; rcgen's and x509-parser's forms stay in here.
//! Touches nothing. RFC 5280 §4.1.2.6 (subject), §4.2.1.6 (subject alternative name).

use std::net::IpAddr;

use credmint_vocabulary::printable;
use rcgen::{CertificateParams, DistinguishedName, DnType, SanType};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::X509Certificate;

/// Lists the names of a certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Common name of the subject.
    pub common_name: Option<String>,
    /// `dNSName` values.
    pub dns_names: Vec<String>,
    /// `rfc822Name` values.
    pub email_addresses: Vec<String>,
    /// `iPAddress` values.
    pub ip_addresses: Vec<IpAddr>,
    /// `uniformResourceIdentifier` values.
    pub uris: Vec<String>,
}

impl Names {
    /// Fills rcgen's parameters; `Err` is the name that no certificate can have (not ASCII, in a subject alternative name).
    pub(crate) fn params(&self) -> Result<CertificateParams, String> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        if let Some(name) = &self.common_name {
            params.distinguished_name.push(DnType::CommonName, name.as_str());
        }
        for name in &self.dns_names {
            params.subject_alt_names.push(SanType::DnsName(ia5(name)?));
        }
        for name in &self.email_addresses {
            params.subject_alt_names.push(SanType::Rfc822Name(ia5(name)?));
        }
        params.subject_alt_names.extend(self.ip_addresses.iter().map(|ip| SanType::IpAddress(*ip)));
        for name in &self.uris {
            params.subject_alt_names.push(SanType::URI(ia5(name)?));
        }
        Ok(params)
    }

    /// Reads the names of a certificate, made printable.
    pub(crate) fn of(certificate: &X509Certificate<'_>) -> Self {
        let mut names = Self { common_name: common_name(certificate), ..Self::default() };
        let extension = certificate.subject_alternative_name().ok().flatten();
        for name in extension.iter().flat_map(|san| &san.value.general_names) {
            names.add(name);
        }
        names
    }

    fn add(&mut self, name: &GeneralName<'_>) {
        match name {
            GeneralName::DNSName(text) => self.dns_names.push(printable(text, 255)),
            GeneralName::RFC822Name(text) => self.email_addresses.push(printable(text, 255)),
            GeneralName::URI(text) => self.uris.push(printable(text, 2_048)),
            GeneralName::IPAddress(octets) => self.ip_addresses.extend(address(octets)),
            _ => {}
        }
    }
}

fn ia5(name: &str) -> Result<rcgen::string::Ia5String, String> {
    name.try_into().map_err(|_| printable(name, 255))
}

fn common_name(certificate: &X509Certificate<'_>) -> Option<String> {
    let name = certificate.subject().iter_common_name().next()?;
    Some(printable(name.as_str().ok()?, 255))
}

fn address(octets: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(octets).ok().map(IpAddr::from);
    v4.or_else(|| <[u8; 16]>::try_from(octets).ok().map(IpAddr::from))
}
