//! An EST server that lies, and one that answers in every form that is in use. The one of `tests/kit` is real-shaped and honest:
//! it never answers for another key, with a page, or with a half of a message.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use credmint_client_identity::{ClientIdentity, KeyAlgorithm};
use credmint_identities::Caller;
use credmint_issuers::{Grant, GrantError, Granted, PendingRequests};
use credmint_settings::{Est, EstAuth, Issuer, NameTemplates, Peer, Wanted};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, CertifiedIssuer, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, date_time_ymd,
};

use crate::fake::{Fake, Said, Seen, said};
use crate::world::{CANARY, alice, ask, ask_again, jwt, shows_nothing};

fn settings(address: &str) -> Issuer {
    let wanted = Wanted {
        key: KeyAlgorithm::EcdsaP256,
        names: NameTemplates { common_name: Some("{sub}".into()), ..NameTemplates::default() },
    };
    let address = format!("{address}/.well-known/est");
    Issuer::Est(Box::new(Est { address, auth: EstAuth::Bearer, wanted, peer: Peer::default() }))
}

/// How the server lies.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Lie {
    None,
    OtherKey,
    Expired,
    ForServers,
}

pub(crate) fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Signs a request in PEM, but for the lie; gives DER.
pub(crate) fn sign(issuer: &CertifiedIssuer<'static, KeyPair>, request: &str, lie: Lie) -> Vec<u8> {
    let mut request = CertificateSigningRequestParams::from_pem(request).unwrap();
    request.params.not_before = date_time_ymd(2020, 1, 1);
    request.params.not_after = if lie == Lie::Expired { date_time_ymd(2020, 1, 2) } else { date_time_ymd(2200, 1, 1) };
    request.params.extended_key_usages = vec![if lie == Lie::ForServers {
        ExtendedKeyUsagePurpose::ServerAuth
    } else {
        ExtendedKeyUsagePurpose::ClientAuth
    }];
    match lie {
        Lie::OtherKey => request.params.signed_by(&KeyPair::generate().unwrap(), issuer).unwrap().der().to_vec(),
        _ => request.signed_by(issuer).unwrap().der().to_vec(),
    }
}

fn request_of(seen: &Seen) -> String {
    format!("-----BEGIN CERTIFICATE REQUEST-----\n{}-----END CERTIFICATE REQUEST-----\n", seen.body)
}

fn value(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap().to_be_bytes();
    [&[tag, 0x82], length.as_slice(), content].concat()
}

/// Puts certificates into a certs-only message, in Base64.
fn pkcs7(certificates: &[Vec<u8>]) -> String {
    let oid = |last: u8| vec![0x06, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 7, last];
    let inner =
        [vec![2, 1, 1], value(0x31, &[]), value(0x30, &oid(1)), value(0xa0, &certificates.concat()), value(0x31, &[])];
    let signed = value(0xa0, &value(0x30, &inner.concat()));
    STANDARD.encode(value(0x30, &[oid(2), signed].concat()))
}

async fn server(lie: Lie, form: impl Fn(String) -> Said + Send + Sync + 'static) -> Fake {
    let issuer = authority("fake EST");
    Fake::start(move |seen| match seen.path.as_str() {
        "/.well-known/est/simpleenroll" => form(pkcs7(&[sign(&issuer, &request_of(seen), lie)])),
        "/.well-known/est/cacerts" => said(200, pkcs7(&[issuer.der().to_vec()])),
        _ => said(404, ""),
    })
    .await
}

async fn enrolled(est: &Fake) -> Result<Grant, GrantError> {
    ask(&settings(&est.address), Some(&alice()), &Caller::default()).await
}

fn identity(grant: Grant) -> Arc<ClientIdentity> {
    let Granted::Identity(identity) = grant.credential else { unreachable!("an identity") };
    Arc::new(identity)
}

#[tokio::test]
async fn the_request_has_the_form_of_the_rfc_and_the_path_is_completed() {
    let est = server(Lie::None, |body| said(200, body)).await;
    let grant = enrolled(&est).await.unwrap();
    assert_eq!(grant.notes, Vec::<String>::new());
    let identity = identity(grant);
    assert!(
        identity.anchor_pem().is_some() && identity.certificates_der().len() == 1,
        "the root is no part of what is sent"
    );
    assert_eq!(est.paths(), ["/.well-known/est/simpleenroll", "/.well-known/est/cacerts"]);
    let seen = est.seen().remove(0);
    assert_eq!((seen.method.as_str(), seen.headers["content-type"].as_str()), ("POST", "application/pkcs10"));
    assert_eq!(seen.headers["content-transfer-encoding"], "base64");
    assert!(seen.headers["authorization"].starts_with("Bearer e30."));
    assert!(!est.seen()[1].headers.contains_key("authorization"), "certificates are public: no token for them");
}

#[tokio::test]
async fn every_form_of_an_answer_is_read() {
    let lines = |body: String| {
        body.as_bytes().chunks(64).map(|line| format!("{}\r\n", String::from_utf8_lossy(line))).collect::<String>()
    };
    let est =
        server(Lie::None, move |body| said(200, lines(body)).header("content-type", "application/pkcs7-mime")).await;
    enrolled(&est).await.unwrap();
    let pem = |body: String| format!("-----BEGIN PKCS7-----\n{body}\n-----END PKCS7-----\n");
    let est =
        server(Lie::None, move |body| said(200, pem(body)).header("content-type", "application/x-pem-file")).await;
    enrolled(&est).await.unwrap();
    let est =
        server(Lie::None, |body| said(201, format!("\n{body}\n\n")).header("content-type", "application/octet-stream"))
            .await;
    enrolled(&est).await.unwrap();
}

#[tokio::test]
async fn lies_are_seen() {
    for (lie, words) in [
        (Lie::OtherKey, "for another key"),
        (Lie::Expired, "expired"),
        (Lie::ForServers, "not for client authentication"),
    ] {
        let est = server(lie, |body| said(200, body)).await;
        let error = enrolled(&est).await.unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[tokio::test]
async fn what_is_no_answer_is_told_and_not_shown() {
    let page = format!("<!DOCTYPE html><title>{CANARY}</title>");
    for (status, kind, body, words) in [
        (200, "text/html", page.clone(), "an HTML page where certificates were expected"),
        (200, "application/pkcs7-mime", page.clone(), "an HTML page where certificates were expected"),
        (200, "application/pkcs7-mime", CANARY.to_owned(), "neither PKCS #7 nor certificates"),
        (200, "application/pkcs7-mime", String::new(), "has no certificate"),
        (204, "", String::new(), "has no certificate"),
        (200, "", "M".repeat(2 << 20), "larger than"),
        (403, "text/html", page, "an HTML page: perhaps a proxy"),
        (400, "text/plain", format!("no {CANARY} here"), "status 400 (no (left out) here)"),
        (401, "", CANARY.to_owned(), "refused the certification request with status 401"),
        (404, "application/json", "{}".to_owned(), "status 404"),
        (500, "text/plain", "database".to_owned(), "cannot answer now (status 500) (database)"),
        (429, "", String::new(), "asked less often"),
        (302, "", String::new(), "redirects to"),
    ] {
        let est = Fake::start(move |_| said(status, body.clone()).header("content-type", kind)).await;
        let error = enrolled(&est).await.unwrap_err();
        assert!(error.to_string().contains(words), "{status}: {error}");
        shows_nothing(&error);
    }
}

#[tokio::test]
async fn an_answer_cut_off_anywhere_is_refused() {
    let issuer = authority("fake EST");
    let (length, step) = (Arc::new(std::sync::atomic::AtomicUsize::new(0)), 23);
    let cut = Arc::clone(&length);
    let est = Fake::start(move |seen| {
        let whole = pkcs7(&[sign(&issuer, &request_of(seen), Lie::None)]);
        let cut = cut.fetch_add(step, std::sync::atomic::Ordering::Relaxed);
        said(200, whole[..cut.min(whole.len() - 8)].to_owned())
    })
    .await;
    while length.load(std::sync::atomic::Ordering::Relaxed) < 600 {
        assert!(enrolled(&est).await.is_err());
    }
}

#[tokio::test]
async fn a_request_that_waits_goes_on_with_the_same_key() {
    let est = Fake::start(|_| said(500, "")).await;
    let waits = Fake::start(|_| said(202, "")).await;
    let requests = PendingRequests::default();
    // 1. Without Retry-After: it is said, and the key is kept.
    let first = ask_again(&settings(&waits.address), Some(&alice()), &Caller::default(), (&requests, None)).await;
    assert!(matches!(first, Err(GrantError::AwaitingApproval { retry_after: None, .. })));
    let waiting = requests.waiting([0; 32]).unwrap();
    assert!(waiting.is_sent && waiting.request_pem.contains("CERTIFICATE REQUEST"));
    // 2. Too early: nobody is asked, and it is still kept.
    let second = ask_again(&settings(&est.address), Some(&alice()), &Caller::default(), (&requests, None)).await;
    assert!(matches!(second, Err(GrantError::AwaitingApproval { retry_after: Some(_), .. })));
    assert!(est.seen().is_empty());
    assert_eq!(requests.waiting([0; 32]), Some(waiting));
}

/// An addition of times that no clock can hold would end the agent, and with it every sign-in.
#[tokio::test]
async fn a_server_that_wants_to_be_asked_again_at_the_end_of_time_ends_no_agent() {
    for after in [u64::MAX.to_string(), (u64::MAX - 1).to_string(), "Fri, 31 Dec 9999 23:59:59 GMT".to_owned()] {
        let waits = Fake::start(move |_| said(202, "").header("retry-after", after.as_str())).await;
        let requests = PendingRequests::default();
        for _ in 0..2 {
            let asked =
                ask_again(&settings(&waits.address), Some(&alice()), &Caller::default(), (&requests, None)).await;
            assert!(matches!(asked, Err(GrantError::AwaitingApproval { retry_after: Some(_), .. })));
        }
        assert_eq!(waits.seen().len(), 1, "too early for a second question");
    }
}

#[tokio::test]
async fn an_expired_token_is_sent_nowhere_and_a_certificate_renews_without_it() {
    let est = server(Lie::None, |body| said(200, body)).await;
    let present = identity(enrolled(&est).await.unwrap());
    let old = jwt(r#"{"sub":"alice","exp":1000000000}"#);
    let requests = PendingRequests::default();
    // The fake has no door for renewals: 404 leads to the other one, which wants a token that is not over.
    let error = ask_again(&settings(&est.address), Some(&old), &Caller::default(), (&requests, Some(&present))).await;
    assert!(matches!(error, Err(GrantError::Expired { .. })), "{error:?}");
    assert_eq!(est.paths().last().unwrap(), "/.well-known/est/simplereenroll");
    assert!(!est.seen().last().unwrap().headers.contains_key("authorization"));
    // With one it works, and says so.
    let grant =
        ask_again(&settings(&est.address), Some(&alice()), &Caller::default(), (&requests, Some(&present))).await;
    assert!(grant.unwrap().notes.iter().any(|note| note.starts_with("enrolled anew, because the renewal failed")));
}
