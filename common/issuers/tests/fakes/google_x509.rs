//! Google's Security Token Service at its address for certificates, as a fake: the real one needs a pool of its own.
//! It is strict where that one is: the handshake wants a certificate that leads to the trust store, and the form names the same one.
#![expect(clippy::indexing_slicing, reason = "a fake stops at what a request must have and has not")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use credmint_client_identity::KeyAlgorithm;
use credmint_issuers::{Authorities, GrantError, Granted};
use credmint_settings::{GoogleSts, Issuer, Peer};
use credmint_vocabulary::FailureKind;

use crate::clouds::google_settings;
use crate::fake::{Said, Seen, said};
use crate::mutual::mutual;
use crate::roles_anywhere::{certified, granted};
use crate::world::now;

const MTLS: &str = "urn:ietf:params:oauth:token-type:mtls";

fn settings(address: &str, ca: PathBuf) -> Issuer {
    Issuer::GoogleSts(Box::new(GoogleSts {
        certificate_issuer: Some("own".into()),
        subject_token_type: MTLS.into(),
        token_audience: None,
        peer: Peer { ca: Some(ca), ca_only: true, ..Peer::default() },
        ..google_settings(address)
    }))
}

/// Writes down what the server's certificate leads to.
#[expect(clippy::disallowed_methods, reason = "trust is read from a file")]
fn trusted(directory: &tempfile::TempDir, own: &str) -> PathBuf {
    let ca = directory.path().join("ca.pem");
    std::fs::write(&ca, own).unwrap();
    ca
}

fn sts(seen: &Seen, leaf: &[u8]) -> Said {
    let form: BTreeMap<String, String> = url::form_urlencoded::parse(seen.body.as_bytes()).into_owned().collect();
    assert_eq!((seen.path.as_str(), form["subject_token_type"].as_str()), ("/v1/token", MTLS));
    let path: Vec<String> = serde_json::from_str(&form["subject_token"]).unwrap();
    if path[0] != STANDARD.encode(leaf) {
        return said(
            400,
            r#"{"error":"invalid_grant","error_description":"the certificate is not the one presented"}"#,
        );
    }
    said(200, r#"{"access_token":"ya29.federated","token_type":"Bearer","expires_in":3599}"#)
}

#[tokio::test]
async fn a_certificate_is_exchanged_where_it_is_presented() {
    for key in [KeyAlgorithm::EcdsaP256, KeyAlgorithm::Rsa2048] {
        let (own, anchor) = certified(key).await;
        let leaf = own.certificates_der()[0].clone();
        let (server, root) = mutual(anchor, move |seen| sts(seen, &leaf)).await;
        let directory = tempfile::tempdir().unwrap();
        let issuer = settings(&server.address, trusted(&directory, &root));
        let grant = granted(("google", &issuer), Some(&own), &Authorities::default(), now()).await.unwrap();
        let Granted::Token(token) = grant.credential else { panic!("a token") };
        assert!(token.token.same_as(b"ya29.federated"));
        assert!(!server.seen()[0].body.contains("alice"), "the identity's token is sent to nobody");
    }
}

#[tokio::test]
async fn a_certificate_of_another_authority_gets_nothing() {
    let (own, _) = certified(KeyAlgorithm::EcdsaP256).await;
    let (_, other) = certified(KeyAlgorithm::EcdsaP256).await;
    let (server, root) = mutual(other, |_| said(200, "{}")).await;
    let directory = tempfile::tempdir().unwrap();
    let issuer = settings(&server.address, trusted(&directory, &root));
    let error = granted(("google", &issuer), Some(&own), &Authorities::default(), now()).await.unwrap_err();
    assert!(server.seen().is_empty() && error.kind() != FailureKind::Internal, "{error}");
    let error = granted(("google", &issuer), None, &Authorities::default(), now()).await.unwrap_err();
    assert!(matches!(error, GrantError::NoCertificate), "{error}");
}
