//! What issuers send: shuffled, foreign, for others, too late, too early, less than asked.

use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    SanType,
};
use time::OffsetDateTime;

use super::*;
use crate::algorithm::KeyAlgorithm;
use crate::authority::Authority;
use crate::request::SigningRequest;

const NOW: Timestamp = Timestamp::from_unix(1_800_000_000);
const HOUR: Duration = Duration::from_secs(3_600);

/// An authority on any level of a chain, made with rcgen directly so that it can be odd.
struct Level {
    params: CertificateParams,
    key: KeyPair,
    pem: String,
}

fn at(offset: i64) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(NOW.unix() + offset).unwrap()
}

fn params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = at(-30);
    params.not_after = at(3_600);
    params
}

fn authority(name: &str) -> CertificateParams {
    let mut params = params(name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.not_after = at(86_400);
    params
}

fn root(name: &str) -> Level {
    let (params, key) = (authority(name), KeyPair::generate().unwrap());
    let pem = params.self_signed(&key).unwrap().pem();
    Level { params, key, pem }
}

impl Level {
    fn below(&self, params: CertificateParams) -> Self {
        let key = KeyPair::generate().unwrap();
        let pem = self.sign(&params, &key);
        Self { params, key, pem }
    }

    fn sign(&self, params: &CertificateParams, key: &KeyPair) -> String {
        params.signed_by(key, &Issuer::from_params(&self.params, &self.key)).unwrap().pem()
    }

    fn client(&self, params: &CertificateParams, key: &PrivateKey) -> String {
        self.sign(params, &key.signer().unwrap())
    }
}

fn client(name: &str) -> CertificateParams {
    let mut params = params(name);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params
}

fn key() -> PrivateKey {
    PrivateKey::generate(KeyAlgorithm::EcdsaP256).unwrap()
}

fn assemble(
    key: PrivateKey,
    certificate: &str,
    chain: &[&Level],
) -> Result<(ClientIdentity, Vec<Difference>), AssembleError> {
    let chain: Vec<String> = chain.iter().map(|level| level.pem.clone()).collect();
    ClientIdentity::assemble(key, certificate, &chain, &Asked::default(), NOW)
}

/// Has one client certificate made by a root, changed as the test wants it.
fn issued(change: impl FnOnce(&mut CertificateParams)) -> Result<(ClientIdentity, Vec<Difference>), AssembleError> {
    let (root, key, mut params) = (root("Root"), key(), client("me"));
    change(&mut params);
    let pem = root.client(&params, &key);
    assemble(key, &pem, &[&root])
}

fn der(pem: &str) -> Vec<u8> {
    pem::certificates(pem).unwrap().remove(0)
}

#[test]
fn every_algorithm_goes_the_whole_way() {
    let authority = Authority::new("Local CA", HOUR * 24, NOW).unwrap();
    for algorithm in KeyAlgorithm::ALL {
        let key = PrivateKey::generate(algorithm).unwrap();
        let names = Names {
            common_name: Some("ann@corp.example".to_owned()),
            dns_names: vec!["build.corp.example".to_owned()],
            email_addresses: vec!["ann@corp.example".to_owned()],
            ip_addresses: vec!["10.0.0.7".parse().unwrap(), "2001:db8::7".parse().unwrap()],
            uris: vec!["spiffe://corp.example/ann".to_owned()],
        };
        let request = SigningRequest::new(&key, &names).unwrap();
        let pem = authority.sign(&request, HOUR, NOW).unwrap();
        let asked = Asked { names: names.clone(), ttl: Some(HOUR) };
        let chain = [authority.certificate_pem().to_owned()];
        let (identity, differences) = ClientIdentity::assemble(key, &pem, &chain, &asked, NOW).unwrap();
        assert_eq!(differences, [], "{}", algorithm.word());
        assert_eq!(identity.names(), names);
        assert_eq!(identity.certificates_der(), [der(&pem)]);
        assert_eq!(identity.not_after(), NOW.plus(HOUR));
        assert_eq!(identity.subject(), "CN=ann@corp.example");
        assert_eq!(identity.serial().len(), 47);
        assert_eq!(identity.anchor_pem().map(|pem| der(&pem)), Some(der(authority.certificate_pem())));
        assert_eq!(der(&identity.certificate_pem()), der(&pem));
    }
}

#[test]
fn a_certificate_for_another_key_is_refused_csi_driver_33() {
    let (root, theirs) = (root("Root"), key());
    let pem = root.client(&client("me"), &theirs);
    assert_eq!(assemble(key(), &pem, &[&root]).unwrap_err(), AssembleError::KeyMismatch);
}

#[test]
fn usage_is_for_clients_by_name() {
    assert_eq!(issued(|_| ()).unwrap().1, []);
    let others = |p: &mut CertificateParams| p.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    assert_eq!(issued(others).unwrap_err(), AssembleError::NotForClients);
    assert_eq!(issued(|p| p.extended_key_usages.clear()).unwrap().1, [Difference::UsageMissing]);
    let any = |p: &mut CertificateParams| p.extended_key_usages = vec![ExtendedKeyUsagePurpose::Any];
    assert_eq!(issued(any).unwrap().1, [Difference::UsageAny]);
}

#[test]
fn an_expired_certificate_is_refused() {
    let error = issued(|p| p.not_after = at(0)).unwrap_err();
    assert_eq!(error, AssembleError::Expired { not_after: NOW });
}

#[test]
fn a_clock_behind_the_issuer_is_told_and_borne_for_two_minutes_istio_32176() {
    assert_eq!(issued(|p| p.not_before = at(90)).unwrap().1, [Difference::ClockBehind { seconds: 90 }]);
    assert_eq!(issued(|p| p.not_before = at(120)).unwrap().1, [Difference::ClockBehind { seconds: 120 }]);
    assert_eq!(issued(|p| p.not_before = at(180)).unwrap_err(), AssembleError::NotYetValid { seconds: 180 });
}

#[test]
fn path_is_ordered_by_issuer_and_the_root_is_left_out_vault_pr_15306() {
    let top = root("Root");
    let middle = top.below(authority("Middle"));
    let low = middle.below(authority("Low"));
    let foreign = root("Foreign");
    for chain in [[&top, &low, &foreign, &middle], [&middle, &foreign, &top, &low], [&low, &low, &middle, &top]] {
        let key = key();
        let pem = low.client(&client("me"), &key);
        let (identity, differences) = assemble(key, &pem, &chain).unwrap();
        assert_eq!(identity.certificates_der(), [der(&pem), der(&low.pem), der(&middle.pem)]);
        assert_eq!(identity.anchor_pem().map(|pem| der(&pem)), Some(der(&top.pem)));
        assert_eq!(differences, []);
    }
}

#[test]
fn a_chain_of_any_order_with_repetitions_gives_one_path_vault_pr_17772() {
    let top = root("Root");
    let low = top.below(authority("Low"));
    for chain in [vec![&top, &low], vec![&low, &top], vec![&low, &top, &low, &top], vec![&low]] {
        let key = key();
        let pem = low.client(&client("me"), &key);
        let (identity, differences) = assemble(key, &pem, &chain).unwrap();
        assert_eq!(identity.certificates_der(), [der(&pem), der(&low.pem)]);
        assert_eq!(differences, []);
    }
}

#[test]
fn our_certificate_is_found_in_a_bundle_wherever_it_stands() {
    let (top, key) = (root("Root"), key());
    let low = top.below(authority("Low"));
    let pem = low.client(&client("me"), &key);
    let bundle = format!("words before\n{}{}{pem}", top.pem, low.pem);
    let (identity, _) = assemble(key, &bundle, &[]).unwrap();
    assert_eq!(identity.certificates_der(), [der(&pem), der(&low.pem)]);
}

#[test]
fn a_missing_intermediate_is_told_vault_2465() {
    let (top, key) = (root("Root"), key());
    let low = top.below(authority("Low"));
    let pem = low.client(&client("me"), &key);
    let (identity, differences) = assemble(key, &pem, &[&top]).unwrap();
    assert_eq!(identity.certificates_der(), [der(&pem)]);
    assert_eq!(identity.anchor_pem(), None);
    assert_eq!(differences, [Difference::IssuerMissing { issuer: "CN=Low".to_owned() }]);
}

#[test]
fn a_chain_certificate_that_only_bears_the_name_is_refused() {
    let (top, impostor, key) = (root("Root"), root("Root"), key());
    let pem = top.client(&client("me"), &key);
    let error = assemble(key, &pem, &[&impostor]).unwrap_err();
    assert_eq!(error, AssembleError::BadLink { issuer: "CN=Root".to_owned() });
}

#[test]
fn a_renewed_authority_with_the_same_name_does_not_confuse_the_path() {
    let (old, new, key) = (root("Root"), root("Root"), key());
    let pem = new.client(&client("me"), &key);
    let (identity, _) = assemble(key, &pem, &[&old, &new]).unwrap();
    assert_eq!(identity.anchor_pem().map(|pem| der(&pem)), Some(der(&new.pem)));
}

#[test]
fn a_certificate_that_is_no_authority_signs_nothing() {
    let (top, key) = (root("Root"), key());
    let low = top.below(client("Low"));
    let pem = low.client(&client("me"), &key);
    assert!(matches!(assemble(key, &pem, &[&low, &top]), Err(AssembleError::BadLink { .. })));
}

#[test]
fn the_path_ends_when_its_first_certificate_ends() {
    let (top, key, mut shorter) = (root("Root"), key(), authority("Low"));
    shorter.not_after = at(600);
    let low = top.below(shorter);
    let pem = low.client(&client("me"), &key);
    assert_eq!(assemble(key, &pem, &[&low]).unwrap().0.not_after(), NOW.plus(Duration::from_secs(600)));
}

#[test]
fn an_expired_intermediate_is_refused() {
    let (top, key, mut over) = (root("Root"), key(), authority("Low"));
    over.not_after = at(-1);
    let low = top.below(over);
    let pem = low.client(&client("me"), &key);
    assert!(matches!(assemble(key, &pem, &[&low]), Err(AssembleError::Expired { .. })));
}

#[test]
fn names_dropped_and_lives_shortened_are_told_vault_12659() {
    let (root, key, mut granted) = (root("Root"), key(), client("other"));
    granted.subject_alt_names = vec![SanType::DnsName("extra.example".try_into().unwrap())];
    let pem = root.client(&granted, &key);
    let names = Names {
        common_name: Some("me".to_owned()),
        dns_names: vec!["a.example".to_owned()],
        email_addresses: vec!["me@a.example".to_owned()],
        ip_addresses: vec!["10.0.0.7".parse().unwrap()],
        uris: vec!["spiffe://a/b".to_owned()],
    };
    let asked = Asked { names, ttl: Some(HOUR * 24) };
    let (_, differences) = ClientIdentity::assemble(key, &pem, &[root.pem], &asked, NOW).unwrap();
    let told: Vec<String> = differences.iter().map(ToString::to_string).collect();
    let expected = [
        "asked for the common name me, granted other",
        "asked for the DNS name a.example, not granted",
        "granted the DNS name extra.example, not asked for",
        "asked for the e-mail address me@a.example, not granted",
        "asked for the IP address 10.0.0.7, not granted",
        "asked for the URI spiffe://a/b, not granted",
        "asked for 24h, granted 1h",
    ];
    assert_eq!(told, expected);
}

#[test]
fn garbage_is_an_error_and_no_panic() {
    let root = root("Root");
    let cut = root.pem.get(..root.pem.len() / 2).unwrap().to_owned();
    let wrong = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let many = root.pem.repeat(40);
    let huge = "x".repeat(1 << 20);
    let cases = [
        ("", AssembleError::Missing),
        ("no PEM here", AssembleError::Missing),
        ("-----BEGIN CERTIFICATE-----", AssembleError::Unreadable),
        ("-----BEGIN CERTIFICATE-----\n%%%%\n-----END CERTIFICATE-----\n", AssembleError::Unreadable),
        (wrong, AssembleError::Unreadable),
        (&cut, AssembleError::Unreadable),
        (&many, AssembleError::TooLarge),
        (&huge, AssembleError::TooLarge),
    ];
    for (text, expected) in cases {
        let start = text.get(..text.len().min(40));
        assert_eq!(assemble(key(), text, &[]).unwrap_err(), expected, "{start:?}");
    }
}

#[test]
fn every_broken_byte_is_an_error_and_no_panic() {
    let (root, key) = (root("Root"), key());
    let whole = der(&root.client(&client("me"), &key));
    let text = key.pkcs8_pem();
    for position in 0..whole.len() {
        let mut broken = whole.clone();
        broken[position] ^= 0xff;
        let pem = pem::write_certificates([&broken]);
        let key = PrivateKey::from_pkcs8_pem(&text).unwrap();
        let _ = ClientIdentity::assemble(key, &pem, std::slice::from_ref(&root.pem), &Asked::default(), NOW);
    }
}

#[test]
fn debug_shows_no_key() {
    let (identity, _) = issued(|_| ()).unwrap();
    let shown = format!("{identity:?} {:?}", key());
    assert!(shown.starts_with("ClientIdentity(CN=me, serial ") && shown.ends_with("Z) PrivateKey"), "{shown}");
}
