//! How far an upstream is trusted: anchors that change, pins, key exchange, sessions that are taken up again.

use std::future::Future;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use bytes::Bytes;
use credmint_client_identity::{Authority, KeyAlgorithm};
use credmint_https::{HttpsError, Trust, Upstream};
use http::Request;
use http_body_util::{BodyExt, Empty};
use rustls::NamedGroup;

use crate::kit::*;

/// Asks until it is so; what is read from disk now and then is not read at once.
async fn until<F: Future<Output = bool>>(mut is_so: impl FnMut() -> F) {
    for _ in 0..100 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("waited ten seconds in vain");
}

#[tokio::test]
async fn anchors_that_are_replaced_on_disk_count_within_seconds_ghostunnel_219() {
    let (old, new) = (authority("Old"), authority("New"));
    let (before, after) = (plan(&old).start().await, plan(&new).start().await);
    let trust = trust(&old);
    let ca = trust.ca.clone().unwrap();
    let to_before = upstream(&before.url(""), NAME, trust.clone()).unwrap();
    let to_after = upstream(&after.url(""), NAME, trust).unwrap();
    get(&to_before, "/").await.unwrap();
    assert!(matches!(get(&to_after, "/").await, Err(HttpsError::UnknownAuthority { .. })));
    // Half a file changes nothing, and breaks nothing.
    rewritten(&ca, "-----BEGIN CERTIFICATE-----\nMIIB");
    tokio::time::sleep(std::time::Duration::from_millis(2_100)).await;
    get(&to_before, "/").await.unwrap();
    rewritten(&ca, new.certificate_pem());
    until(|| async { get(&to_after, "/").await.is_ok() }).await;
    // The authority that is gone is not believed any more, a connection that is there notwithstanding.
    until(|| async { matches!(get(&to_before, "/").await, Err(HttpsError::UnknownAuthority { .. })) }).await;
}

#[tokio::test]
async fn a_body_under_way_goes_on_when_its_upstream_is_gone() {
    let ca = authority("CA");
    let server = plan(&ca).start().await;
    let upstream = upstream(&server.url(""), NAME, trust(&ca)).unwrap();
    let request = Request::get("/endless").body(Empty::<Bytes>::new()).unwrap();
    let mut body = upstream.request(request).await.unwrap().into_body();
    drop(upstream);
    let mut length = 0;
    while length < 8 << 20 {
        length += body.frame().await.unwrap().unwrap().into_data().unwrap().len();
    }
}

fn pinned(trust: Trust, pins: &[&str]) -> Trust {
    Trust { pins: pins.iter().map(|&pin| pin.to_owned()).collect(), ..trust }
}

fn seen(answered: Result<(http::StatusCode, Bytes), HttpsError>) -> String {
    match answered {
        Err(HttpsError::NotPinned { seen, peer }) => {
            assert!(peer.starts_with(NAME), "{peer}");
            seen
        }
        other => panic!("{other:?}"),
    }
}

const ANOTHER: &str = "sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";

#[tokio::test]
async fn a_server_whose_path_has_no_pin_is_refused_and_its_pin_is_told() {
    let (ca, strangers) = (authority("CA"), authority("Strangers"));
    for plan in [plan(&ca), plan(&ca).tls12()] {
        let server = plan.start().await;
        let to = |pins: &[&str]| upstream(&server.url(""), NAME, pinned(trust(&ca), pins)).unwrap();
        let own = seen(get(&to(&[ANOTHER]), "/").await);
        // The one that the refusal names is the one that helps, alone or among others.
        get(&to(&[&own]), "/").await.unwrap();
        get(&to(&[ANOTHER, &own]), "/").await.unwrap();
        // No pin takes the place of the usual judgement.
        let elsewhere = upstream(&server.url(""), NAME, pinned(trust(&strangers), &[&own])).unwrap();
        assert!(matches!(get(&elsewhere, "/").await, Err(HttpsError::UnknownAuthority { .. })));
        let other_name = upstream(&server.url(""), "other.corp.example", pinned(trust(&ca), &[&own])).unwrap();
        assert!(matches!(get(&other_name, "/").await, Err(HttpsError::WrongName { .. })));
    }
}

#[tokio::test]
async fn the_anchors_key_is_on_the_path_and_what_is_merely_sent_along_is_not() {
    let (ca, other) = (authority("CA"), authority("Other"));
    let server = Plan { along: Some(&other), ..plan(&ca) }.start().await;
    let pin_of = |authority: &Authority| pin(&spki(&der(authority.certificate_pem())));
    let to = |pin: String| upstream(&server.url(""), NAME, pinned(trust(&ca), &[&pin])).unwrap();
    get(&to(pin_of(&ca)), "/").await.unwrap();
    seen(get(&to(pin_of(&other)), "/").await);
}

#[tokio::test]
async fn pins_hold_for_whole_answers_too_and_mean_nothing_without_tls() {
    let ca = authority("CA");
    let server = Plan::new(&ca).start().await;
    let request = || Request::get(server.url("/")).body(Vec::new()).unwrap();
    let https = https();
    let error = https.send(&pinned(trust(&ca), &[ANOTHER]), request(), soon()).await.unwrap_err();
    let HttpsError::NotPinned { seen, .. } = &error else { panic!("{error:?}") };
    assert!(error.to_string().contains(seen.as_str()) && error.hint().unwrap().contains("pins"));
    https.send(&pinned(trust(&ca), &[seen]), request(), soon()).await.unwrap();
    // What was sent without pins, or with others, over a connection that stands does not let this one in.
    https.send(&trust(&ca), request(), soon()).await.unwrap();
    assert!(https.send(&pinned(trust(&ca), &[ANOTHER]), request(), soon()).await.is_err());
    let plain = pinned(Trust::default(), &[ANOTHER]);
    assert!(matches!(upstream("http://127.0.0.1:8080", NAME, plain), Err(HttpsError::Address { .. })));
}

#[tokio::test]
async fn the_hybrid_key_exchange_is_preferred() {
    let ca = authority("CA");
    let server = plan(&ca).start().await;
    get(&upstream(&server.url(""), NAME, trust(&ca)).unwrap(), "/").await.unwrap();
    assert_eq!(server.seen().group, Some(NamedGroup::X25519MLKEM768));
    let older = plan(&ca).tls12().start().await;
    get(&upstream(&older.url(""), NAME, trust(&ca)).unwrap(), "/").await.unwrap();
}

async fn alone(upstream: &Upstream) {
    let request = Request::get("/").header("connection", "close").body(Empty::<Bytes>::new()).unwrap();
    upstream.request(request).await.unwrap().into_body().collect().await.unwrap();
}

#[tokio::test]
async fn a_second_connection_takes_the_session_up_again_and_another_identity_does_not() {
    let (ca, clients) = (authority("CA"), authority("Clients"));
    for plan in [plan(&ca), plan(&ca).tls12()] {
        let server = Plan { alpn: &["http/1.1"], clients: Some(&clients), ..plan }.start().await;
        let with = || Trust { client: Some(identity(&clients, KeyAlgorithm::EcdsaP256, now())), ..trust(&ca) };
        let first = upstream(&server.url(""), NAME, with()).unwrap();
        alone(&first).await;
        assert!(!server.seen().resumed);
        alone(&first).await;
        assert!(server.seen().resumed && server.seen().client, "the certificate goes with the session");
        assert_eq!(server.connections(), 2);
        alone(&upstream(&server.url(""), NAME, with()).unwrap()).await;
        assert!(!server.seen().resumed, "a session belongs to one identity");
    }
}

fn pin(key: &[u8]) -> String {
    format!("sha256//{}", base64::engine::general_purpose::STANDARD.encode(digest(&SHA256, key)))
}

/// Finds the SubjectPublicKeyInfo by hand.
fn spki(certificate: &[u8]) -> Vec<u8> {
    let certificate = certificate.to_vec().into();
    let parsed = webpki::EndEntityCert::try_from(&certificate).unwrap();
    parsed.subject_public_key_info().to_vec()
}
