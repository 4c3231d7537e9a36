//! Certificates for servers and for strangers: an authority of the kit's own, by `rcgen`.
//!
//! Names come in, PEM text goes out. Touches no file; its keys live as long as the test.

use std::time::{Duration, SystemTime};

use rcgen::string::Ia5String;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, SanType, date_time_ymd,
};

/// An authority that a test made.
pub struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate with its private key, both in PEM form.
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

impl Authority {
    /// Makes a self-signed authority.
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a self-signed certificate").pem();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// Makes an authority that this one signs: an intermediate one.
    pub fn subordinate(&self, name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate").pem();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// Gives its certificate in PEM form.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Makes a server certificate for host names and addresses.
    pub fn server(&self, names: &[&str]) -> Identity {
        self.sign(params(names, ExtendedKeyUsagePurpose::ServerAuth))
    }

    /// Makes a server certificate that has expired long ago.
    pub fn expired_server(&self, names: &[&str]) -> Identity {
        let mut params = params(names, ExtendedKeyUsagePurpose::ServerAuth);
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2020, 1, 2);
        self.sign(params)
    }

    /// Makes a client certificate.
    pub fn client(&self, common_name: &str) -> Identity {
        self.sign(params(&[common_name], ExtendedKeyUsagePurpose::ClientAuth))
    }

    /// Signs a certification request for so many seconds, from so many seconds in the future on; negative is the past.
    pub fn sign_request(&self, request: &str, begins_in: i64, life: u64) -> String {
        let mut request = CertificateSigningRequestParams::from_pem(request).expect("a certification request");
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a clock after 1970").as_secs();
        let begin = date_time_ymd(1970, 1, 1) + Duration::from_secs(now.saturating_add_signed(begins_in));
        request.params.not_before = begin;
        request.params.not_after = begin + Duration::from_secs(life);
        request.params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        request.signed_by(&self.issuer).expect("a certificate").pem()
    }

    fn sign(&self, params: CertificateParams) -> Identity {
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        Identity { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

fn params(names: &[&str], purpose: ExtendedKeyUsagePurpose) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, *names.first().expect("a name"));
    params.subject_alt_names = names.iter().map(|name| alternative(name)).collect();
    params.extended_key_usages = vec![purpose];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params
}

fn alternative(name: &str) -> SanType {
    match name.parse() {
        Ok(address) => SanType::IpAddress(address),
        Err(_) => SanType::DnsName(Ia5String::try_from(name).expect("an ASCII name")),
    }
}

/// Makes a key and a certification request (RFC 2986) for a common name; gives request and key in PEM form.
pub fn request(common_name: &str) -> (String, String) {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, common_name);
    let request = params.serialize_request(&key).expect("a certification request");
    (request.pem().expect("its PEM form"), key.serialize_pem())
}

/// Makes a P-256 key pair; gives the private and the public key in PEM form.
pub fn key_pair() -> (String, String) {
    let key = KeyPair::generate().expect("a key");
    (key.serialize_pem(), key.public_key_pem())
}
