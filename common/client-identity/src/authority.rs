//! A certification authority in memory: for `local-ca`, for `credmint demo`, and for tests.
//! Certification requests and names come in, certificates go out.
//! Touches nothing but the random number generator; the time is a parameter. RFC 5280.

use std::fmt;
use std::time::Duration;

use credmint_vocabulary::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyUsagePurpose, NameConstraints, PublicKeyData, SerialNumber,
};
use time::OffsetDateTime;

use crate::algorithm::KeyAlgorithm;
use crate::constraints;
use crate::names::Names;
use crate::private_key::{KeyError, PrivateKey};
use crate::request::SigningRequest;

/// Backdates what is issued, for clocks that are a little behind; Vault's default.
const BACKDATED: Duration = Duration::from_secs(30);

/// Holds the key of an authority and its own certificate.
pub struct Authority {
    key: PrivateKey,
    params: CertificateParams,
    pem: String,
    not_after: Timestamp,
}

/// Holds all of an authority but its key.
#[derive(Clone)]
pub struct PublicAuthority {
    params: CertificateParams,
    pem: String,
    not_after: Timestamp,
}

impl PublicAuthority {
    /// Makes the authority whole again.
    #[must_use]
    pub fn with_key(self, key: PrivateKey) -> Authority {
        Authority { key, params: self.params, pem: self.pem, not_after: self.not_after }
    }
}

/// Says why nothing was issued.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthorityError {
    /// A name that no certificate can carry.
    #[error("the name `{0}` has characters that a certificate cannot carry")]
    Name(String),
    /// There is no key, or it does not sign.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The request is none, or not signed by its own key.
    #[error("the certification request is broken")]
    Request,
    /// A date that no certificate can have.
    #[error("a certificate cannot have these dates")]
    Dates,
    /// The cryptographic library refused to sign.
    #[error("the certificate could not be signed")]
    Signing,
    /// The authority's own certificate is over.
    #[error("the authority itself expired at {0}")]
    Expired(Timestamp),
}

impl Authority {
    /// Makes an authority with a key of its own (ECDSA P-256) and a certificate that it signs itself.
    ///
    /// # Errors
    /// No key, or dates that a certificate cannot have.
    pub fn new(common_name: &str, life: Duration, now: Timestamp) -> Result<Self, AuthorityError> {
        Self::made(common_name, None, life, now)
    }

    /// Makes one that vouches for these servers and no others: the names in it, and what is below them, are all that its certificate
    /// permits (RFC 5280 §4.2.1.10).
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn for_servers(
        common_name: &str,
        servers: &Names,
        life: Duration,
        now: Timestamp,
    ) -> Result<Self, AuthorityError> {
        Self::made(common_name, Some(constraints::to(servers)), life, now)
    }

    fn made(
        common_name: &str,
        to_servers: Option<NameConstraints>,
        life: Duration,
        now: Timestamp,
    ) -> Result<Self, AuthorityError> {
        let names = Names { common_name: Some(common_name.to_owned()), ..Names::default() };
        let mut params = dated(&names, now, now.plus(life))?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.extended_key_usages = to_servers.iter().map(|_| ExtendedKeyUsagePurpose::ServerAuth).collect();
        params.name_constraints = to_servers;
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = PrivateKey::generate(KeyAlgorithm::EcdsaP256)?;
        let pem = params.self_signed(&*key.signer()?).map_err(|_| AuthorityError::Signing)?.pem();
        Ok(Self { key, params, pem, not_after: now.plus(life) })
    }

    /// Takes it apart: what everybody may know, and the key.
    #[must_use]
    pub fn parts(self) -> (PublicAuthority, PrivateKey) {
        (PublicAuthority { params: self.params, pem: self.pem, not_after: self.not_after }, self.key)
    }

    /// Lends the authority's own certificate: the trust anchor.
    #[must_use]
    pub fn certificate_pem(&self) -> &str {
        &self.pem
    }

    /// Gives the time at which the authority ends.
    #[must_use]
    pub fn not_after(&self) -> Timestamp {
        self.not_after
    }

    /// Signs a request for client authentication; names are the request's, the life never outlasts the authority's.
    ///
    /// # Errors
    /// A broken request, or an authority that has ended.
    pub fn sign(&self, request: &SigningRequest, ttl: Duration, now: Timestamp) -> Result<String, AuthorityError> {
        let request = CertificateSigningRequestParams::from_pem(request.pem()).map_err(|_| AuthorityError::Request)?;
        let mut params = self.dated(&Names::default(), ttl, now)?;
        params.distinguished_name = request.params.distinguished_name;
        params.subject_alt_names = request.params.subject_alt_names;
        self.issue(params, ExtendedKeyUsagePurpose::ClientAuth, &request.public_key)
    }

    /// Makes a key and a certificate for a server.
    ///
    /// # Errors
    /// A name that no certificate can carry, or an authority that has ended.
    pub fn server_certificate(
        &self,
        names: &Names,
        ttl: Duration,
        now: Timestamp,
    ) -> Result<(String, PrivateKey), AuthorityError> {
        let key = PrivateKey::generate(KeyAlgorithm::EcdsaP256)?;
        let params = self.dated(names, ttl, now)?;
        let pem = self.issue(params, ExtendedKeyUsagePurpose::ServerAuth, &*key.signer()?)?;
        Ok((pem, key))
    }

    fn dated(&self, names: &Names, ttl: Duration, now: Timestamp) -> Result<CertificateParams, AuthorityError> {
        if self.not_after <= now {
            return Err(AuthorityError::Expired(self.not_after));
        }
        dated(names, now, now.plus(ttl).min(self.not_after))
    }

    fn issue(
        &self,
        mut params: CertificateParams,
        usage: ExtendedKeyUsagePurpose,
        public: &impl PublicKeyData,
    ) -> Result<String, AuthorityError> {
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![usage];
        params.use_authority_key_identifier_extension = true;
        let signer = self.key.signer()?;
        let issuer = Issuer::from_params(&self.params, &*signer);
        Ok(params.signed_by(public, &issuer).map_err(|_| AuthorityError::Signing)?.pem())
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Authority(until {})", self.not_after)
    }
}

fn dated(names: &Names, now: Timestamp, until: Timestamp) -> Result<CertificateParams, AuthorityError> {
    let mut params = names.params().map_err(AuthorityError::Name)?;
    params.not_before = date(now.minus(BACKDATED))?;
    params.not_after = date(until)?;
    params.serial_number = Some(serial()?);
    Ok(params)
}

/// Dates of a certificate end with the year 9999 (RFC 5280 §4.1.2.5), which is also where `time` ends.
fn date(at: Timestamp) -> Result<OffsetDateTime, AuthorityError> {
    OffsetDateTime::from_unix_timestamp(at.unix()).map_err(|_| AuthorityError::Dates)
}

/// Draws a serial number: positive and not zero (RFC 5280 §4.1.2.2).
fn serial() -> Result<SerialNumber, AuthorityError> {
    let mut octets = [0_u8; 16];
    aws_lc_rs::rand::fill(&mut octets).map_err(|_| AuthorityError::Signing)?;
    if let Some(first) = octets.first_mut() {
        *first = (*first & 0x7f) | 0x40;
    }
    Ok(SerialNumber::from_slice(&octets))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificate;
    use crate::pem;

    const NOW: Timestamp = Timestamp::from_unix(1_800_000_000);
    const HOUR: Duration = Duration::from_secs(3_600);

    #[test]
    fn a_servers_certificate_is_for_servers_and_never_outlives_the_authority() {
        let authority = Authority::new("CA", HOUR, NOW).unwrap();
        let names = Names { dns_names: vec!["localhost".to_owned()], ..Names::default() };
        let (text, key) = authority.server_certificate(&names, HOUR * 9, NOW).unwrap();
        let der = pem::certificates(&text).unwrap().remove(0);
        let read = certificate::read(&der).unwrap();
        assert!(certificate::is_for(&read, &key.subject_public_key_info()));
        assert_eq!(certificate::validity(&read).1, authority.not_after());
        assert_eq!(certificate::usage(&read), certificate::Usage::Others);
        assert_eq!(Names::of(&read), names);
    }

    #[test]
    fn an_authority_that_has_ended_signs_nothing() {
        let authority = Authority::new("CA", HOUR, NOW).unwrap();
        let refused = authority.server_certificate(&Names::default(), HOUR, NOW.plus(HOUR)).unwrap_err();
        assert_eq!(refused, AuthorityError::Expired(NOW.plus(HOUR)));
    }

    #[test]
    fn dates_beyond_the_calendar_are_an_error() {
        let far = Timestamp::from_unix(i64::MAX);
        assert_eq!(Authority::new("CA", HOUR, far).unwrap_err(), AuthorityError::Dates);
    }

    #[test]
    fn two_certificates_for_one_key_have_two_serial_numbers() {
        assert_ne!(serial().unwrap(), serial().unwrap());
    }
    fn servers(dns_names: &[&str], ip_addresses: &[&str]) -> Names {
        let ip_addresses = ip_addresses.iter().map(|ip| ip.parse().unwrap()).collect();
        Names { dns_names: dns_names.iter().map(|&name| name.to_owned()).collect(), ip_addresses, ..Names::default() }
    }

    /// Judges as rustls does.
    fn judged(authority: &Authority, names: &Names) -> Result<(), webpki::Error> {
        let (text, _) = authority.server_certificate(names, HOUR, NOW).unwrap();
        let leaf = pem::certificates(&text).unwrap().remove(0).into();
        let root = pem::certificates(authority.certificate_pem()).unwrap().remove(0).into();
        let anchor = webpki::anchor_from_trusted_cert(&root).unwrap();
        let (usage, now) = (webpki::KeyUsage::server_auth(), u64::try_from(NOW.unix()).unwrap());
        let now = rustls_pki_types::UnixTime::since_unix_epoch(Duration::from_secs(now));
        let leaf = webpki::EndEntityCert::try_from(&leaf)?;
        leaf.verify_for_usage(webpki::ALL_VERIFICATION_ALGS, &[anchor], &[], now, usage, None, None).map(drop)
    }

    #[test]
    fn what_an_authority_for_servers_signs_for_others_no_verifier_takes() {
        let cases = [
            (servers(&["registry.corp.example"], &[]), servers(&["registry.corp.example"], &[])),
            (servers(&[], &["10.0.0.7", "fd00::7"]), servers(&[], &["fd00::7"])),
            (servers(&["registry.corp.example"], &["10.0.0.7"]), servers(&["registry.corp.example"], &["10.0.0.7"])),
        ];
        let foreign = [
            servers(&["login.example"], &[]),
            servers(&["corp.example"], &[]),
            servers(&["evilregistry.corp.example"], &[]),
            servers(&["registry.corp.example.evil.example"], &[]),
            servers(&["*.corp.example"], &[]),
            servers(&[], &["10.0.0.8"]),
            servers(&[], &["::ffff:10.0.0.7"]),
            servers(&["registry.corp.example", "login.example"], &[]),
            servers(&["registry.corp.example"], &["127.0.0.1"]),
        ];
        for (permitted, own) in cases {
            let authority = Authority::for_servers("CA", &permitted, HOUR, NOW).unwrap();
            assert_eq!(judged(&authority, &own), Ok(()), "{own:?}");
            for names in &foreign {
                assert_eq!(judged(&authority, names), Err(webpki::Error::NameConstraintViolation), "{names:?}");
            }
        }
        // Without constraints all of them are good: it is these that refuse.
        let authority = Authority::new("CA", HOUR, NOW).unwrap();
        assert!(foreign.iter().all(|names| judged(&authority, names).is_ok()));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "another verifier is asked, by files")]
    fn openssl_takes_the_permitted_name_alone() {
        let authority = Authority::for_servers("CA", &servers(&["registry.corp.example"], &[]), HOUR, NOW).unwrap();
        let file = |name: &str| std::env::temp_dir().join(format!("credmint-authority-{}-{name}", std::process::id()));
        let (ca, leaf) = (file("ca.pem"), file("leaf.pem"));
        std::fs::write(&ca, authority.certificate_pem()).unwrap();
        let verify = |names: &Names| {
            std::fs::write(&leaf, authority.server_certificate(names, HOUR, NOW).unwrap().0).unwrap();
            let mut openssl = std::process::Command::new("openssl");
            openssl.args(["verify", "-purpose", "sslserver", "-attime", &NOW.unix().to_string(), "-CAfile"]);
            let output = openssl.arg(&ca).arg(&leaf).output().ok()?;
            Some((output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned()))
        };
        if let Some((is_good, said)) = verify(&servers(&["registry.corp.example"], &[])) {
            assert!(is_good, "{said}");
            for names in [servers(&["login.example"], &[]), servers(&[], &["10.0.0.7"])] {
                let (is_good, said) = verify(&names).unwrap();
                assert!(
                    !is_good && (said.contains("permitted subtree") || said.contains("excluded subtree")),
                    "{said}"
                );
            }
        }
        [&ca, &leaf].into_iter().for_each(|path| std::fs::remove_file(path).unwrap());
    }
}
