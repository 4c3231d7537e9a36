//! A stand-in for smallstep's step-ca, whose server is in no registry that these tests can use: the shapes are those of its
//! `api/sign.go` and `errs`, and nothing here was ever held against the real one.

use std::sync::Arc;
use std::time::Duration;

use credmint_client_identity::{ClientIdentity, KeyAlgorithm};
use credmint_identities::Caller;
use credmint_issuers::{Grant, GrantError, Granted, PendingRequests};
use credmint_settings::{Issuer, NameTemplates, Peer, StepCa, Wanted};
use serde_json::{Value, json};

use crate::est::{Lie, authority, sign};
use crate::fake::{Fake, said};
use crate::world::{CANARY, alice, ask, ask_again, shows_nothing};

fn settings(address: &str) -> Issuer {
    let wanted = Wanted {
        key: KeyAlgorithm::EcdsaP256,
        names: NameTemplates { common_name: Some("{sub}".into()), ..NameTemplates::default() },
    };
    let ttl = Some(Duration::from_secs(28_800));
    Issuer::StepCa(Box::new(StepCa { address: address.into(), wanted, ttl, peer: Peer::default() }))
}

fn pem(der: &[u8]) -> String {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
}

/// Signs at `/1.0/sign`; at `/1.0/renew` it answers with `renewal`.
async fn server(renewal: (u16, Value)) -> Fake {
    let issuer = authority("fake step-ca");
    Fake::start(move |seen| match seen.path.as_str() {
        "/1.0/sign" => {
            let body: Value = serde_json::from_str(&seen.body).unwrap();
            let crt = pem(&sign(&issuer, body.get("csr").and_then(Value::as_str).unwrap(), Lie::None));
            let ca = issuer.pem();
            said(
                201,
                json!({"crt": crt, "ca": ca, "certChain": [crt, ca], "tlsOptions": {"minVersion": 1.2}}).to_string(),
            )
        }
        "/1.0/renew" => said(renewal.0, renewal.1.to_string()),
        _ => said(404, ""),
    })
    .await
}

async fn signed(step: &Fake) -> Result<Grant, GrantError> {
    ask(&settings(&step.address), Some(&alice()), &Caller::default()).await
}

fn identity(grant: Grant) -> Arc<ClientIdentity> {
    let Granted::Identity(identity) = grant.credential else { unreachable!("an identity") };
    Arc::new(identity)
}

#[tokio::test]
async fn the_token_and_the_request_go_to_sign_and_the_path_comes_back_once() {
    let step = server((404, json!({}))).await;
    let identity = identity(signed(&step).await.unwrap());
    assert_eq!((identity.subject(), identity.certificates_der().len()), ("CN=alice", 1));
    assert!(identity.anchor_pem().is_some());
    let seen = step.seen().remove(0);
    let body: Value = serde_json::from_str(&seen.body).unwrap();
    assert!(body["ott"].as_str().unwrap().starts_with("e30."));
    assert_eq!((&body["notAfter"], seen.headers["content-type"].as_str()), (&json!("28800s"), "application/json"));
    assert!(!seen.body.contains("PRIVATE KEY") && !seen.headers.contains_key("authorization"));
}

#[tokio::test]
async fn a_refusal_is_told_in_its_words_and_a_used_token_with_the_way_out() {
    for (status, words) in [(401, "token already used"), (403, "error signing certificate"), (400, "invalid csr")] {
        let message = format!("{words} {CANARY}");
        let step = Fake::start(move |_| said(status, json!({"status": status, "message": message}).to_string())).await;
        let error = signed(&step).await.unwrap_err();
        assert!(error.to_string().contains(&format!("status {status} ({words} (left out))")), "{error}");
        assert_eq!(error.hint().unwrap().contains("takes each token once"), status == 401);
        shows_nothing(&error);
    }
}

#[tokio::test]
async fn what_is_no_answer_is_told() {
    for body in ["", "[]", "{}", r#"{"crt":5}"#, r#"{"crt":"x","ca":"y"}"#, "<html></html>"] {
        let step = Fake::start(move |_| said(201, body)).await;
        let error = signed(&step).await.unwrap_err();
        assert!(matches!(error, GrantError::Malformed { .. }), "{body}: {error}");
    }
}

#[tokio::test]
async fn a_renewal_presents_the_certificate_and_no_token() {
    let step = server((403, json!({"status": 403, "message": "renew is disabled"}))).await;
    let present = identity(signed(&step).await.unwrap());
    let requests = PendingRequests::default();
    let ask_with = async |step: &Fake| {
        ask_again(&settings(&step.address), Some(&alice()), &Caller::default(), (&requests, Some(&present))).await
    };
    // 1. Refused: a new key is signed for the token, and it is said why.
    let grant = ask_with(&step).await.unwrap();
    assert!(grant.notes.iter().any(|note| note.contains("renew is disabled")), "{:?}", grant.notes);
    assert_eq!(step.paths()[1..], ["/1.0/renew", "/1.0/sign"]);
    assert!(step.seen()[1].body.is_empty());
    // 2. Renewed: for the same key, whose copy fits.
    let (crt, ca) = (present.certificate_pem(), present.anchor_pem());
    let step = server((201, json!({"crt": crt, "ca": ca, "certChain": [crt]}))).await;
    let renewed = identity(ask_with(&step).await.unwrap());
    assert_eq!((renewed.serial(), step.paths().as_slice()), (present.serial(), &["/1.0/renew".to_owned()][..]));
    // 3. In trouble: it is told, and the token is not spent.
    let step = server((503, json!({}))).await;
    assert!(matches!(ask_with(&step).await, Err(GrantError::Failing { status: 503, .. })));
    assert_eq!(step.paths(), ["/1.0/renew"]);
}
