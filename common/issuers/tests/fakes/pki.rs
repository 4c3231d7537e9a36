//! A PKI engine that lies: another key, other names, a shorter life, another clock, a missing chain.

use std::sync::Arc;
use std::time::Duration;

use credmint_client_identity::{Authority, KeyAlgorithm, Names};
use credmint_issuers::{GrantError, Granted};
use credmint_settings::{Issuer, NameTemplates, VaultPki};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, CertifiedIssuer, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, date_time_ymd,
};
use serde_json::{Value, json};

use crate::fake::{Fake, Said, Seen, said};
use crate::world::{ask_as_alice, logged_in, login, now};

fn settings(address: &str) -> VaultPki {
    VaultPki {
        login: login(address),
        mount: "team/pki".into(),
        role: "client".into(),
        key: Some(KeyAlgorithm::EcdsaP256),
        names: NameTemplates {
            common_name: Some("{email}".into()),
            dns_names: vec!["{sub}.corp.example".into()],
            email_addresses: vec!["{email}".into()],
            ip_addresses: vec!["10.0.0.7".into()],
            uris: vec!["spiffe://corp.example/{sub}".into()],
        },
        ttl: Some(Duration::from_secs(3600)),
    }
}

/// How the engine lies.
#[derive(Clone, Copy, PartialEq)]
enum Lie {
    None,
    OtherKey,
    NoClientAuth,
    Expired,
    NoName,
}

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, "fake PKI");
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Signs what the body asks for, but for the lie.
fn sign(issuer: &CertifiedIssuer<'static, KeyPair>, body: &Value, lie: Lie) -> String {
    let mut request = CertificateSigningRequestParams::from_pem(body["csr"].as_str().unwrap()).unwrap();
    request.params.not_before = date_time_ymd(2020, 1, 1);
    request.params.not_after = if lie == Lie::Expired { date_time_ymd(2020, 1, 2) } else { date_time_ymd(2200, 1, 1) };
    request.params.extended_key_usages = vec![match lie {
        Lie::NoClientAuth => ExtendedKeyUsagePurpose::ServerAuth,
        _ => ExtendedKeyUsagePurpose::ClientAuth,
    }];
    if lie == Lie::NoName {
        request.params.subject_alt_names.clear();
    }
    match lie {
        Lie::OtherKey => request.params.signed_by(&KeyPair::generate().unwrap(), issuer).unwrap().pem(),
        _ => request.signed_by(issuer).unwrap().pem(),
    }
}

async fn engine(lie: Lie, more: impl Fn(Said) -> Said + Send + Sync + 'static) -> Fake {
    let issuer = authority();
    Fake::start(move |seen| match seen.path.as_str() {
        "/v1/auth/jwt/login" => said(200, logged_in("s.login")),
        "/v1/team/pki/sign/client" => more(said(200, answer(&issuer, seen, lie))),
        _ => said(204, ""),
    })
    .await
}

/// Leaves `ca_chain` out, as a root that signs by itself does.
fn answer(issuer: &CertifiedIssuer<'static, KeyPair>, seen: &Seen, lie: Lie) -> String {
    let body: Value = serde_json::from_str(&seen.body).unwrap();
    json!({
        "data": {
            "certificate": sign(issuer, &body, lie), "issuing_ca": issuer.pem(), "serial_number": "01", "expiration": 1,
        },
        "warnings": ["the common_name field was provided but the role is set with \"use_csr_common_name\" set to true",
                     "something hvs.CANARYcanary0123456789CANARY else"],
    })
    .to_string()
}

async fn minted(vault: &Fake) -> Result<credmint_issuers::Grant, GrantError> {
    ask_as_alice(&Issuer::VaultPki(Box::new(settings(&vault.address)))).await
}

#[tokio::test]
async fn names_stand_in_the_request_and_in_the_parameters() {
    let vault = engine(Lie::None, |said| said).await;
    let grant = minted(&vault).await.unwrap();
    let Granted::Identity(identity) = &grant.credential else { panic!("an identity") };
    assert_eq!(identity.names().dns_names, ["alice.corp.example"]);
    assert!(identity.anchor_pem().is_some(), "the root is kept as anchor");
    assert_eq!(vault.seen().len(), 2, "one round trip for the login and one for the signature");
    let seen = vault.seen().remove(1);
    let body: Value = serde_json::from_str(&seen.body).unwrap();
    assert_eq!(seen.headers["x-vault-token"], "s.login");
    assert_eq!(body["common_name"], "alice@corp.example");
    assert_eq!(body["alt_names"], "alice.corp.example,alice@corp.example");
    assert_eq!((body["ip_sans"].as_str(), body["ttl"].as_str()), (Some("10.0.0.7"), Some("3600s")));
    assert_eq!(body["uri_sans"], "spiffe://corp.example/alice");
    assert_eq!(body["exclude_cn_from_sans"], false, "the common name is asked for as an alternative name too");
    assert!(!seen.body.contains("PRIVATE KEY"));
    assert!(grant.lease.is_some());
}

#[tokio::test]
async fn a_chain_that_is_missing_is_made_of_the_issuer_vault_2121() {
    let vault = engine(Lie::None, |said| said).await;
    let grant = minted(&vault).await.unwrap();
    let Granted::Identity(identity) = &grant.credential else { panic!("an identity") };
    assert_eq!(identity.certificates_der().len(), 1, "the root that signed is the anchor, and is not presented");
    assert!(identity.anchor_der().is_some() && grant.notes.iter().all(|note| !note.contains("issuer did not send")));
}

#[tokio::test]
async fn warnings_and_differences_are_told_once_and_without_secrets() {
    let vault = engine(Lie::NoName, |said| said).await;
    let notes = minted(&vault).await.unwrap().notes;
    let all = notes.join("\n");
    assert!(all.contains("warns: something (left out) else"), "{all}");
    assert!(!all.contains("use_csr") && all.contains("alice.corp.example"), "{all}");
}

#[tokio::test]
async fn lies_are_seen_and_the_login_is_given_back() {
    for (lie, words) in [
        (Lie::OtherKey, "for another key"),
        (Lie::NoClientAuth, "not for client authentication"),
        (Lie::Expired, "expired"),
    ] {
        let vault = engine(lie, |said| said).await;
        let error = minted(&vault).await.unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(vault.paths().last().unwrap(), "/v1/auth/token/revoke-self");
    }
}

#[tokio::test]
async fn a_clock_that_differs_is_told_with_its_seconds_netbird_1942() {
    for (date, words) in [
        ("Fri, 01 Jan 2990 00:00:00 GMT", "s behind 127.0.0.1:"),
        ("Mon, 01 Jan 2001 00:00:00 GMT", "s ahead of 127.0.0.1:"),
    ] {
        let vault = engine(Lie::None, move |said| said.header("date", date)).await;
        let notes = minted(&vault).await.unwrap().notes.join("\n");
        assert!(notes.contains("this machine's clock is ") && notes.contains(words), "{notes}");
    }
}

#[tokio::test]
async fn an_address_that_is_none_is_refused_before_anybody_is_asked() {
    let vault = engine(Lie::None, |said| said).await;
    let mut settings = settings(&vault.address);
    settings.names.ip_addresses = vec!["{sub}".into()];
    let error = ask_as_alice(&Issuer::VaultPki(Box::new(settings))).await.unwrap_err();
    assert_eq!(error.to_string(), "`alice` is no IP address");
    assert!(vault.seen().is_empty());
}

/// Starts a TLS server of an authority that nobody trusts; gives its address.
pub(crate) async fn untrusted_tls_server() -> String {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let authority = Authority::new("nobody's", Duration::from_secs(600), now()).unwrap();
    let names = Names { ip_addresses: vec!["127.0.0.1".parse().unwrap()], ..Names::default() };
    let (certificate, key) = authority.server_certificate(&names, Duration::from_secs(600), now()).unwrap();
    use rustls::pki_types::pem::PemObject as _;
    let certificate = rustls::pki_types::CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(key.pkcs8_der().expose().clone()).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("https://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = acceptor.accept(stream).await;
        }
    });
    address
}

/// An engine that refuses the first signature with these words, signs the second, and lets a role be read or not.
async fn strict(reason: &'static str, role: Option<Value>) -> Fake {
    let issuer = authority();
    let first = std::sync::atomic::AtomicBool::new(true);
    Fake::start(move |seen| match seen.path.as_str() {
        "/v1/auth/jwt/login" => said(200, logged_in("s.login")),
        "/v1/team/pki/sign/client" if first.swap(false, std::sync::atomic::Ordering::Relaxed) => {
            said(400, json!({ "errors": [reason] }).to_string())
        }
        "/v1/team/pki/sign/client" => said(200, answer(&issuer, seen, Lie::None)),
        "/v1/team/pki/roles/client" => match &role {
            Some(role) => said(200, json!({ "data": role }).to_string()),
            None => said(403, json!({ "errors": ["permission denied"] }).to_string()),
        },
        _ => said(404, "{}"),
    })
    .await
}

async fn minted_with(vault: &Fake, key: Option<KeyAlgorithm>) -> Result<credmint_issuers::Grant, GrantError> {
    ask_as_alice(&Issuer::VaultPki(Box::new(VaultPki { key, ..settings(&vault.address) }))).await
}

fn signatures(vault: &Fake) -> usize {
    vault.paths().iter().filter(|path| path.ends_with("/sign/client")).count()
}

const WANTS_RSA: &str = "role requires keys of type rsa";

#[tokio::test]
async fn a_key_left_open_is_asked_for_once_more_by_the_role_or_by_the_refusal_vault_4595() {
    for role in [Some(json!({ "key_type": "rsa", "key_bits": 0, "allow_any_name": true })), None] {
        let vault = strict(WANTS_RSA, role).await;
        let grant = minted_with(&vault, None).await.unwrap();
        assert!(grant.notes[0].contains("key = \"rsa-2048\" saves that"), "{:?}", grant.notes);
        assert_eq!(signatures(&vault), 2);
    }
}

#[tokio::test]
async fn a_key_that_the_settings_name_is_never_another_and_the_rule_is_told_certify_209() {
    let role = json!({ "key_type": "rsa", "key_bits": 3072, "allow_any_name": true, "allowed_uri_sans": ["*"] });
    let vault = strict(WANTS_RSA, Some(role)).await;
    let error = minted_with(&vault, Some(KeyAlgorithm::EcdsaP256)).await.unwrap_err();
    assert!(matches!(error, GrantError::ByRule { .. }), "{error:?}");
    assert!(
        error.to_string().contains("key_type = rsa of role client") && error.to_string().contains(WANTS_RSA),
        "{error}"
    );
    assert!(error.hint().is_some_and(|hint| hint.contains("key = \"rsa-3072\"")), "{:?}", error.hint());
    assert_eq!(signatures(&vault), 1);
    assert_eq!(vault.paths().last().unwrap(), "/v1/auth/token/revoke-self");
}

#[tokio::test]
async fn the_issuer_that_a_role_names_leads_to_no_other_path() {
    let role = json!({ "key_type": "rsa", "issuer_ref": "../../sys/seal?x=" });
    let vault = strict(WANTS_RSA, Some(role)).await;
    minted_with(&vault, Some(KeyAlgorithm::EcdsaP256)).await.unwrap_err();
    assert!(!vault.paths().iter().any(|path| path.contains("seal")), "{:?}", vault.paths());
    assert!(vault.paths().contains(&"/v1/team/pki/issuer/default".to_owned()), "{:?}", vault.paths());
}

#[tokio::test]
async fn a_refusal_that_is_not_about_the_request_asks_for_no_rules() {
    let vault = Fake::start(|seen| match seen.path.as_str() {
        "/v1/auth/jwt/login" => said(200, logged_in("s.login")),
        "/v1/team/pki/sign/client" => said(403, json!({ "errors": ["permission denied"] }).to_string()),
        _ => said(204, ""),
    })
    .await;
    minted_with(&vault, None).await.unwrap_err();
    assert!(!vault.paths().iter().any(|path| path.contains("/roles/")), "{:?}", vault.paths());
}
