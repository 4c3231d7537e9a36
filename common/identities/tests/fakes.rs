//! `client-credentials` against a fake on loopback: the form that is sent, and answers that a real server does not give.
#![expect(clippy::unwrap_used, reason = "this is a test")]

#[path = "../../issuers/tests/fakes/fake.rs"]
mod fake;

use std::time::{Duration, Instant};

use credmint_client_identity::{KeyAlgorithm, PrivateKey};
use credmint_https::Https;
use credmint_identities::{Caller, Claims, IdentityError, SubjectToken, TokenEndpointError, ask};
use credmint_settings::{ClientAuthentication, ClientCredentials, Identity, Peer, Source};
use credmint_vocabulary::{Deadline, Secret, Timestamp};

use fake::{Fake, Said, said};

const TOKEN: &str = r#"{"access_token":"t","token_type":"Bearer","expires_in":60}"#;

fn settings(address: &str, client: ClientAuthentication) -> ClientCredentials {
    ClientCredentials {
        issuer: None,
        token_endpoint: Some(format!("{address}/token")),
        client,
        scopes: vec!["read".into(), "write".into()],
        audience: Some("vault".into()),
        resources: vec!["https://r.example".into(), "https://s.example".into()],
        peer: Peer::default(),
    }
}

fn basic(variable: &str) -> ClientAuthentication {
    ClientAuthentication::Basic { client_id: "c i".into(), secret: Source::Env(variable.into()) }
}

async fn asked(settings: ClientCredentials, caller: &Caller) -> Result<Option<SubjectToken>, IdentityError> {
    let identity = Identity::ClientCredentials(Box::new(settings));
    let deadline = Deadline::after(Instant::now(), Duration::from_secs(10));
    ask(&identity, caller, &Https::new("test"), Timestamp::from_unix(1_700_000_000), deadline).await
}

fn caller() -> Caller {
    let mut caller = Caller::default();
    caller.environment.insert("SECRET".into(), Secret::from("p:a ss\n"));
    let key = PrivateKey::generate(KeyAlgorithm::EcdsaP256).unwrap();
    caller.files.insert("/key.pem".into(), key.pkcs8_pem());
    caller
}

#[tokio::test]
async fn the_form_is_that_of_rfc_6749_with_audience_and_resources() {
    let server = Fake::start(|_| said(200, TOKEN)).await;
    let token = asked(settings(&server.address, basic("SECRET")), &caller()).await.unwrap().unwrap();
    assert!(token.token.same_as(b"t") && token.claims.is_none());
    let seen = server.seen().remove(0);
    assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", "/token"));
    assert_eq!(seen.headers["authorization"], "Basic YytpOnAlM0FhK3Nz");
    assert_eq!(
        seen.body,
        "grant_type=client_credentials&scope=read+write&audience=vault\
         &resource=https%3A%2F%2Fr.example&resource=https%3A%2F%2Fs.example"
    );
}

#[tokio::test]
async fn a_private_key_is_proved_and_not_sent() {
    let server = Fake::start(|_| said(200, TOKEN)).await;
    let client = ClientAuthentication::PrivateKeyJwt {
        client_id: "ci".into(),
        key: Source::File("/key.pem".into()),
        key_id: None,
    };
    let own = ClientCredentials { issuer: Some("https://id.example".into()), ..settings(&server.address, client) };
    asked(own, &caller()).await.unwrap().unwrap();
    let body = server.seen().remove(0).body;
    let field = |name: &str| body.split('&').find_map(|pair| pair.strip_prefix(name)).unwrap().to_owned();
    assert_eq!(field("client_id="), "ci");
    assert_eq!(field("client_assertion_type="), "urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer");
    let claims = Claims::of(&Secret::new(field("client_assertion="))).unwrap();
    assert_eq!((claims.sub().as_deref(), claims.aud()), (Some("ci"), vec!["https://id.example".to_owned()]));
    assert!(!body.contains("PRIVATE"));
}

#[tokio::test]
async fn an_absent_secret_is_an_absent_identity_and_asks_nobody() {
    let server = Fake::start(|_| said(200, TOKEN)).await;
    assert!(asked(settings(&server.address, basic("NONE")), &caller()).await.unwrap().is_none());
    assert!(server.paths().is_empty());
}

#[tokio::test]
async fn failures_show_no_body() {
    let answers: [(Said, &str); 5] = [
        (said(401, r#"{"error":"invalid_client","error_description":"hvs.CANARYcanary0123456789"}"#), "did not prove"),
        (said(200, r#"{"access_token":["canary"]}"#), "access_token or token_type is missing"),
        (said(200, "canary"), "access_token or token_type is missing"),
        (said(307, "canary").header("location", "https://evil.example/canary"), "redirects to evil.example"),
        (said(500, "canary"), "cannot answer now"),
    ];
    for (answer, words) in answers {
        let server = Fake::start(move |_| answer.clone()).await;
        let error = asked(settings(&server.address, basic("SECRET")), &caller()).await.unwrap_err();
        assert!(matches!(error, IdentityError::TokenEndpoint(_)));
        let told = format!("{error} {error:?} {:?}", error.hint());
        assert!(told.contains(words) && !told.to_lowercase().contains("canary"), "{told}");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unreachable() {
    let error = asked(settings("http://127.0.0.1:1", basic("SECRET")), &caller()).await.unwrap_err();
    assert!(matches!(error, IdentityError::TokenEndpoint(TokenEndpointError::Unreachable(_))), "{error}");
    assert!(error.to_string().starts_with("no connection to 127.0.0.1:1"), "{error}");
}
