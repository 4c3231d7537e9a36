//! Google, Entra, a Kubernetes API server and GitHub as fakes: none of them is a peer of a test.
//! Each checks the parts of a request that the real one insists on, and answers as its reference says.
#![expect(clippy::indexing_slicing, clippy::panic, reason = "a fake stops at what a request must have and has not")]

use std::collections::BTreeMap;
use std::time::Duration;

use credmint_client_identity::{KeyAlgorithm, PrivateKey};
use credmint_identities::{Caller, Claims, SubjectToken};
use credmint_issuers::{BearerToken, Grant, GrantError, Granted};
use credmint_settings::{Azure, GithubApp, GoogleSts, Issuer, KubernetesToken, Peer, Source};
use credmint_vocabulary::{FailureKind, Secret};
use serde_json::{Value, json};

use crate::fake::{Fake, Said, Seen, said};
use crate::world::{CANARY, ask, jwt, now, shows_nothing, soon};

const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";
const PROVIDER: &str = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q";

fn job() -> SubjectToken {
    jwt(r#"{"sub":"job","aud":"cloud"}"#)
}

async fn asked(issuer: &Issuer) -> Result<Grant, GrantError> {
    ask(issuer, Some(&job()), &caller()).await
}

/// Asks an issuer that is made for the fake's address.
async fn refused(make: fn(&str) -> Issuer, answer: Said) -> GrantError {
    let server = Fake::start(move |_| answer.clone()).await;
    let error = asked(&make(&server.address)).await.unwrap_err();
    shows_nothing(&error);
    error
}

fn token_of(grant: Grant) -> BearerToken {
    let Granted::Token(token) = grant.credential else { panic!("a token") };
    token
}

fn form(seen: &Seen) -> BTreeMap<String, String> {
    url::form_urlencoded::parse(seen.body.as_bytes()).into_owned().collect()
}

fn body(seen: &Seen) -> Value {
    serde_json::from_str(&seen.body).unwrap()
}

fn lives(token: &BearerToken, seconds: u64) {
    let life = token.expires.unwrap().remaining(now()).as_secs();
    assert!((seconds - 10..=seconds).contains(&life), "{life}");
}

fn in_an_hour() -> String {
    now().plus(Duration::from_secs(3_600)).to_string()
}

fn google(address: &str) -> Issuer {
    Issuer::GoogleSts(Box::new(google_settings(address)))
}

pub(crate) fn google_settings(address: &str) -> GoogleSts {
    GoogleSts {
        audience: PROVIDER.into(),
        certificate_issuer: None,
        subject_token_type: JWT.into(),
        scopes: vec!["https://www.googleapis.com/auth/devstorage.read_only".into()],
        user_project: None,
        service_account: None,
        lifetime: None,
        token_audience: Some("cloud".into()),
        endpoint: address.into(),
        iam_endpoint: address.into(),
        peer: Peer::default(),
    }
}

/// Holds the two APIs of Google.
fn google_apis(seen: &Seen) -> Said {
    if seen.path == "/v1/token" {
        let form = form(seen);
        assert_eq!(form["grant_type"], "urn:ietf:params:oauth:grant-type:token-exchange");
        assert_eq!(form["requested_token_type"], "urn:ietf:params:oauth:token-type:access_token");
        assert_eq!((form["audience"].as_str(), form["subject_token_type"].as_str()), (PROVIDER, JWT));
        assert!(Claims::of(&Secret::from(form["subject_token"].as_str())).is_some());
        return said(200, r#"{"access_token":"ya29.federated","token_type":"Bearer","expires_in":3599}"#);
    }
    assert_eq!(seen.headers["authorization"], "Bearer ya29.federated");
    let end = in_an_hour();
    said(200, format!(r#"{{"accessToken":"ya29.account","expireTime":"{end}"}}"#))
}

#[tokio::test]
async fn google_exchanges_for_the_scopes_of_the_settings() {
    let server = Fake::start(google_apis).await;
    let token = token_of(asked(&google(&server.address)).await.unwrap());
    assert!(token.token.same_as(b"ya29.federated"));
    lives(&token, 3_599);
    let form = form(&server.seen()[0]);
    assert_eq!(form["scope"], "https://www.googleapis.com/auth/devstorage.read_only");
    assert!(!form.contains_key("options") && !form.contains_key("client_id"));
}

#[tokio::test]
async fn google_impersonates_with_the_scopes_of_the_settings_and_a_first_token_for_all() {
    let server = Fake::start(google_apis).await;
    let issuer = Issuer::GoogleSts(Box::new(GoogleSts {
        service_account: Some("tf@p.iam.gserviceaccount.com".into()),
        lifetime: Some(Duration::from_secs(900)),
        user_project: Some("42".into()),
        ..google_settings(&server.address)
    }));
    let token = token_of(asked(&issuer).await.unwrap());
    assert!(token.token.same_as(b"ya29.account"));
    lives(&token, 3_600);
    let [first, second] = server.seen().try_into().unwrap();
    assert_eq!(form(&first)["scope"], "https://www.googleapis.com/auth/cloud-platform");
    assert_eq!(form(&first)["options"], r#"{"userProject":"42"}"#);
    let path = "/v1/projects/-/serviceAccounts/tf@p.iam.gserviceaccount.com:generateAccessToken";
    assert_eq!((second.method.as_str(), second.path.as_str()), ("POST", path));
    let wanted =
        json!({"delegates": [], "scope": ["https://www.googleapis.com/auth/devstorage.read_only"], "lifetime": "900s"});
    assert_eq!(body(&second), wanted);
}

#[tokio::test]
async fn refusals_of_google_are_sentences() {
    for (error, words, why) in [
        (
            "unauthorized_client",
            "The given credential is rejected by the attribute condition.",
            "attribute condition does not",
        ),
        (
            "invalid_target",
            "The target service indicated by the parameters is invalid.",
            "does not exist, or is disabled",
        ),
        ("invalid_grant", "The audience in ID Token does not match the expected audience.", "for this audience"),
        ("invalid_grant", "The issuer in ID Token does not match the expected ones.", "of this issuer"),
        ("invalid_grant", "ID Token is stale to sign-in.", "has expired"),
    ] {
        let body = json!({"error": error, "error_description": format!("{words} {CANARY}")}).to_string();
        let error = refused(google, said(400, body)).await;
        assert!(error.to_string().contains(why) && error.to_string().contains(PROVIDER), "{error}");
        assert!(error.hint().is_some() && error.kind() == FailureKind::Refused);
    }
}

#[tokio::test]
async fn a_service_account_that_may_not_be_used_is_said() {
    for (status, word, why) in [
        (403, "PERMISSION_DENIED", "may not act as the service account"),
        (404, "NOT_FOUND", "no such service account"),
        (400, "INVALID_ARGUMENT", "a value of the request is not allowed"),
    ] {
        let server = Fake::start(move |seen| match seen.path.as_str() {
            "/v1/token" => google_apis(seen),
            _ => said(status, json!({"error": {"code": status, "message": CANARY, "status": word}}).to_string()),
        })
        .await;
        let account = Some("tf@p.iam.gserviceaccount.com".into());
        let settings = GoogleSts { service_account: account, ..google_settings(&server.address) };
        let error = asked(&Issuer::GoogleSts(Box::new(settings))).await.unwrap_err();
        shows_nothing(&error);
        let text = error.to_string();
        assert!(text.contains(why) && text.contains("refused a token of tf@p.iam.gserviceaccount.com"), "{text}");
    }
}

fn azure(address: &str) -> Issuer {
    Issuer::Azure(Box::new(Azure {
        tenant: "corp.example".into(),
        client_id: "11111111-2222".into(),
        scope: "https://management.azure.com/.default".into(),
        token_audience: None,
        endpoint: address.into(),
        peer: Peer::default(),
    }))
}

#[tokio::test]
async fn entra_takes_the_token_as_assertion_and_writes_its_life_as_text() {
    for life in ["3599", "\"3599\""] {
        let answer = format!(r#"{{"token_type":"Bearer","expires_in":{life},"access_token":"entra"}}"#);
        let server = Fake::start(move |_| said(200, answer.clone())).await;
        let token = token_of(asked(&azure(&server.address)).await.unwrap());
        assert!(token.token.same_as(b"entra"));
        lives(&token, 3_599);
        let seen = server.seen().remove(0);
        assert_eq!(seen.path, "/corp.example/oauth2/v2.0/token");
        let mut form = form(&seen);
        assert!(job().token.same_as(form.remove("client_assertion").unwrap().as_bytes()));
        let expected = [
            ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
            ("client_id", "11111111-2222"),
            ("grant_type", "client_credentials"),
            ("scope", "https://management.azure.com/.default"),
        ];
        assert_eq!(form, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    }
}

#[tokio::test]
async fn refusals_of_entra_are_sentences_by_their_code_coder_20991() {
    for (code, why) in [
        ("AADSTS700211", "for the token's issuer"),
        ("AADSTS700212", "for the token's audience"),
        ("AADSTS700213", "for the token's subject"),
        ("AADSTS70021", "fits the token"),
        ("AADSTS700024", "has expired"),
        ("AADSTS700016", "no such application"),
        ("AADSTS90002", "no such tenant"),
    ] {
        let body =
            json!({"error": "invalid_request", "error_description": format!("{code}: No {CANARY} found. Trace ID: 1")});
        let error = refused(azure, said(401, body.to_string())).await;
        assert!(error.to_string().contains(why) && error.to_string().contains(code), "{error}");
    }
    let unheard = refused(azure, said(400, r#"{"error":"invalid_client","error_description":"AADSTS1: x"}"#)).await;
    assert!(unheard.to_string().contains("the client did not prove to be itself (invalid_client: AADSTS1: x)"));
}

fn kubernetes(address: &str) -> Issuer {
    Issuer::KubernetesToken(Box::new(KubernetesToken {
        address: address.into(),
        namespace: "build".into(),
        service_account: "terraform".into(),
        audiences: vec!["https://kubernetes.default.svc".into()],
        ttl: Some(Duration::from_secs(7_200)),
        token_audience: None,
        peer: Peer::default(),
    }))
}

#[tokio::test]
async fn a_token_of_a_service_account_is_requested_and_a_shorter_life_is_told() {
    let answer = json!({"kind": "TokenRequest", "status": {"token": "e30.e30.x", "expirationTimestamp": in_an_hour()}});
    let server = Fake::start(move |_| said(201, answer.to_string())).await;
    let grant = asked(&kubernetes(&server.address)).await.unwrap();
    assert!(grant.notes[0].contains("for 7200 s, got 3"), "{:?}", grant.notes);
    let token = token_of(grant);
    assert!(token.token.same_as(b"e30.e30.x"));
    lives(&token, 3_600);
    let seen = server.seen().remove(0);
    assert_eq!(seen.path, "/api/v1/namespaces/build/serviceaccounts/terraform/token");
    assert!(seen.headers["authorization"].starts_with("Bearer e30."));
    let spec = json!({"audiences": ["https://kubernetes.default.svc"], "expirationSeconds": 7200});
    assert_eq!(body(&seen), json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}));
}

#[tokio::test]
async fn refusals_of_an_api_server_are_sentences() {
    for (status, reason, why) in [
        (401, "Unauthorized", "does not know this identity"),
        (403, "Forbidden", "may not make tokens"),
        (404, "NotFound", "no such service account"),
        (422, "Invalid", "a value of the request is not allowed"),
    ] {
        let body = json!({"kind": "Status", "status": "Failure", "message": CANARY, "reason": reason, "code": status});
        let error = refused(kubernetes, said(status, body.to_string())).await;
        assert!(error.to_string().contains(why) && error.to_string().contains("build/terraform"), "{error}");
        assert!(error.to_string().contains(&format!("({reason}: ")), "{error}");
    }
}

fn github(address: &str) -> Issuer {
    Issuer::GithubApp(Box::new(GithubApp {
        app_id: "Iv23li".into(),
        installation_id: "4711".into(),
        app_key: Source::Env("APP_KEY".into()),
        permissions: [("contents".into(), "read".into()), ("issues".into(), "write".into())].into(),
        repositories: vec!["app".into()],
        endpoint: address.into(),
        peer: Peer::default(),
    }))
}

fn caller() -> Caller {
    let mut caller = Caller::default();
    caller.environment.insert("APP_KEY".into(), PrivateKey::generate(KeyAlgorithm::Rsa2048).unwrap().pkcs8_pem());
    caller
}

#[tokio::test]
async fn an_installation_token_is_narrowed_and_needs_nobody() {
    let server = Fake::start(|_| said(201, format!(r#"{{"token":"ghs_a","expires_at":"{}"}}"#, in_an_hour()))).await;
    let token = token_of(ask(&github(&server.address), None, &caller()).await.unwrap());
    assert!(token.token.same_as(b"ghs_a"));
    lives(&token, 3_600);
    let seen = server.seen().remove(0);
    assert_eq!(seen.path, "/app/installations/4711/access_tokens");
    assert!(seen.headers["user-agent"].starts_with("test"), "GitHub refuses who does not say a name");
    let permissions = json!({"contents": "read", "issues": "write"});
    assert_eq!(body(&seen), json!({"permissions": permissions, "repositories": ["app"]}));
    let assertion = seen.headers["authorization"].trim_start_matches("Bearer ").to_owned();
    let claims = Claims::of(&Secret::new(assertion)).unwrap();
    let (iat, exp) = (claims.text("iat").unwrap().parse::<i64>().unwrap(), claims.exp().unwrap().unix());
    assert!(claims.iss().as_deref() == Some("Iv23li") && iat < now().unix() && exp - iat <= 600);
}

#[tokio::test]
async fn an_installation_token_is_given_back_by_itself_and_what_is_over_is_no_failure() {
    for (status, is_given_back) in [(204, true), (401, true), (404, false), (500, false), (302, false)] {
        let server = Fake::start(move |seen| match seen.method.as_str() {
            "POST" => said(201, format!(r#"{{"token":"ghs_a","expires_at":"{}"}}"#, in_an_hour())),
            _ => said(status, format!("<html>{CANARY}")),
        })
        .await;
        let grant = ask(&github(&server.address), None, &caller()).await.unwrap();
        let (lender, token, client) = grant.lease.unwrap().parts();
        assert!(!lender.ends_with_another() && client.is_none(), "sealed and opened again");
        let https = credmint_https::Https::new("test");
        let revoked = credmint_issuers::revoke(lender.lease(token, None), &https, soon()).await;
        let seen = server.seen().remove(1);
        assert_eq!(
            (seen.method.as_str(), seen.path.as_str(), seen.body.as_str()),
            ("DELETE", "/installation/token", "")
        );
        assert!(seen.headers["authorization"] == "Bearer ghs_a" && seen.headers["user-agent"].starts_with("test"));
        assert_eq!(revoked.is_ok(), is_given_back, "{status}");
        revoked.err().iter().for_each(shows_nothing);
    }
}

#[tokio::test]
async fn refusals_of_github_are_sentences_and_its_limits_are_no_refusals() {
    for (status, why) in [
        (401, "does not accept the app's signature"),
        (403, "may not have this token"),
        (404, "no such installation"),
        (422, "not all of these permissions"),
    ] {
        let error = refused(github, said(status, json!({"message": format!("No {CANARY}")}).to_string())).await;
        assert!(error.to_string().contains(why), "{error}");
    }
    let limited = refused(github, said(403, r#"{"message":"secondary rate limit"}"#).header("retry-after", "60")).await;
    assert_eq!((limited.retry_after(), limited.kind()), (Some(Duration::from_secs(60)), FailureKind::Unreachable));
    let absent = ask(&github("http://127.0.0.1:1"), None, &Caller::default()).await.unwrap_err();
    assert_eq!(absent.to_string(), "the key of the app is missing: the variable APP_KEY is not there");
}

#[tokio::test]
async fn what_is_no_answer_is_said_and_shown_to_nobody() {
    for make in [google as fn(&str) -> Issuer, azure, kubernetes, github] {
        for (answer, words) in [
            (said(200, format!("<html>{CANARY}")), "answered something"),
            (said(200, format!(r#"{{"access_token":"{CANARY}"}}"#)), "answered something"),
            (said(200, r#"{"access_token":"t","expires_in":0}"#), "answered something"),
            (said(200, format!(r#"{{"access_token":"a b {CANARY}","expires_in":60}}"#)), "answered something"),
            (said(201, format!(r#"{{"token":"{CANARY}","expires_at":"soon"}}"#)), ""),
            (said(200, "x".repeat(1_100_000)), "larger than"),
            (said(302, "").header("location", "https://evil.example/"), "redirects to evil.example"),
            (said(429, CANARY).header("retry-after", "3"), "again in 3 s"),
            (said(503, format!("<html>{CANARY}</html>")), "cannot answer now (status 503)"),
            (said(403, format!("<html>{CANARY}</html>")), "status 403"),
        ] {
            let error = refused(make, answer).await;
            assert!(error.to_string().contains(words), "{words}: {error}");
        }
    }
}

#[tokio::test]
async fn a_token_for_somebody_else_is_not_sent_to_a_cloud_coder_20991() {
    let server = Fake::start(|_| said(500, "")).await;
    let graph = jwt(r#"{"sub":"a","aud":"00000003-0000-0000-c000-000000000000"}"#);
    let error = ask(&google(&server.address), Some(&graph), &caller()).await.unwrap_err();
    assert!(matches!(error, GrantError::WrongAudience { .. }), "{error}");
    for make in [google as fn(&str) -> Issuer, azure, kubernetes] {
        let error = ask(&make(&server.address), None, &caller()).await.unwrap_err();
        assert!(matches!(error, GrantError::Nobody), "{error}");
    }
    assert!(server.seen().is_empty());
}
