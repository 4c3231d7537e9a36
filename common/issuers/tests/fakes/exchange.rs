//! Token exchange and pass-through: every parameter of RFC 8693 §2.1, and answers that a real server does not give.

use credmint_identities::Caller;
use credmint_issuers::{Grant, GrantError, Granted};
use credmint_settings::{ClientAuthentication, Issuer, OidcToken, Peer, Source, TokenExchange};
use credmint_vocabulary::{FailureKind, Secret};

use crate::fake::{Fake, Said, said};
use crate::world::{CANARY, alice, ask, ask_as_alice, jwt, now, shows_nothing};

const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";

fn settings(address: &str) -> TokenExchange {
    TokenExchange {
        issuer: None,
        token_endpoint: Some(format!("{address}/token?tenant=a")),
        client: ClientAuthentication::None { client_id: "cli".into() },
        audience: vec!["one".into(), "two".into()],
        resources: vec!["https://r.example/a b".into()],
        scopes: vec!["read".into(), "write".into()],
        subject_token_type: JWT.into(),
        requested_token_type: Some("urn:ietf:params:oauth:token-type:access_token".into()),
        actor_token: Some(Source::Env("ACTOR".into())),
        actor_token_type: JWT.into(),
        peer: Peer::default(),
    }
}

fn caller() -> Caller {
    let mut caller = Caller::default();
    caller.environment.insert("ACTOR".into(), Secret::from("actor-token"));
    caller.environment.insert("SECRET".into(), Secret::from("p:a ss"));
    caller
}

async fn exchanged(settings: TokenExchange) -> Result<Grant, GrantError> {
    ask(&Issuer::TokenExchange(Box::new(settings)), Some(&alice()), &caller()).await
}

async fn answered(answer: Said) -> Result<Grant, GrantError> {
    let server = Fake::start(move |_| answer.clone()).await;
    exchanged(settings(&server.address)).await
}

#[tokio::test]
async fn every_parameter_is_sent() {
    let body = r#"{"access_token":"t","issued_token_type":"x","token_type":"N_A","expires_in":60,"scope":"read"}"#;
    let server = Fake::start(move |_| said(200, body)).await;
    let grant = exchanged(settings(&server.address)).await.unwrap();
    let seen = server.seen().remove(0);
    assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", "/token?tenant=a"));
    let subject = alice();
    let expected = [
        "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange".to_owned(),
        format!("subject_token={}", subject.token.expose()),
        "subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Ajwt".to_owned(),
        "audience=one&audience=two&resource=https%3A%2F%2Fr.example%2Fa+b".to_owned(),
        "requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token".to_owned(),
        "actor_token=actor-token&actor_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Ajwt".to_owned(),
        "scope=read+write&client_id=cli".to_owned(),
    ];
    assert_eq!(seen.body, expected.join("&"));
    let Granted::Token(token) = grant.credential else { panic!("a token") };
    assert!(token.expires.is_some_and(|at| (50..=60).contains(&at.remaining(now()).as_secs())));
    assert!(grant.notes.iter().any(|note| note.ends_with("left out the scope write")), "{:?}", grant.notes);
    assert!(grant.notes.iter().any(|note| note.ends_with("got x")), "{:?}", grant.notes);
}

#[tokio::test]
async fn secrets_go_where_the_settings_say() {
    let server = Fake::start(|_| said(200, r#"{"access_token":"t","token_type":"Bearer"}"#)).await;
    let (client_id, secret) = ("c i".to_owned(), Source::Env("SECRET".into()));
    for client in [
        ClientAuthentication::Basic { client_id: client_id.clone(), secret: secret.clone() },
        ClientAuthentication::Post { client_id, secret },
    ] {
        exchanged(TokenExchange { client, ..settings(&server.address) }).await.unwrap();
    }
    let [basic, post] = server.seen().try_into().unwrap();
    assert_eq!(basic.headers["authorization"], "Basic YytpOnAlM0FhK3Nz");
    assert!(!basic.body.contains("client_id") && !basic.body.contains("client_secret"));
    assert!(
        post.body.ends_with("&client_id=c+i&client_secret=p%3Aa+ss") && !post.headers.contains_key("authorization")
    );
}

#[tokio::test]
async fn refusals_are_told_by_class_and_without_bodies() {
    for (error, words) in [
        ("invalid_client", "the client did not prove to be itself"),
        ("invalid_target", "the audience or resource is not to be had"),
        ("unheard_of", "it gave no reason that we know (unheard_of"),
    ] {
        let body = format!(r#"{{"error":"{error}","error_description":"see {CANARY}"}}"#);
        let error = answered(said(400, body)).await.unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(error.kind(), FailureKind::Refused);
        shows_nothing(&error);
    }
}

#[tokio::test]
async fn answers_that_are_no_tokens_are_refused() {
    for (answer, words) in [
        (said(200, format!(r#"{{"access_token":["{CANARY}"]}}"#)), "access_token is missing"),
        (said(200, r#"{"access_token":"","token_type":"Bearer"}"#), "is empty"),
        (said(200, r#"{"access_token":"a b","token_type":"Bearer"}"#), "characters that no token has"),
        (said(200, format!(r#"{{"access_token":"{CANARY}","token_type":"DPoP"}}"#)), "not of type Bearer"),
        (said(302, "").header("location", "https://evil.example/"), "redirects to evil.example"),
        (said(429, "").header("retry-after", "3"), "again in 3 s"),
        (said(503, CANARY), "cannot answer now (status 503)"),
    ] {
        let error = answered(answer).await.unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(error.kind(), FailureKind::Unreachable, "{error}");
        shows_nothing(&error);
    }
}

#[tokio::test]
async fn discovery_wants_the_issuer_that_was_asked_for() {
    let server = Fake::start(|seen| match seen.path.as_str() {
        "/realm/.well-known/openid-configuration" => said(404, ""),
        "/.well-known/oauth-authorization-server/realm" => {
            let host = &seen.headers["host"];
            said(200, format!(r#"{{"issuer":"http://{host}/realm","token_endpoint":"http://{host}/t"}}"#))
        }
        "/t" => said(200, r#"{"access_token":"t","token_type":"bearer"}"#),
        _ => said(200, r#"{"issuer":"https://other.example","token_endpoint":"https://other.example/t"}"#),
    })
    .await;
    let of = |issuer: String| TokenExchange { issuer: Some(issuer), token_endpoint: None, ..settings("") };
    exchanged(of(format!("{}/realm", server.address))).await.unwrap();
    let error = exchanged(of(server.address.clone())).await.unwrap_err();
    assert!(error.to_string().contains("is of issuer `https://other.example`"), "{error}");
    assert_eq!(error.kind(), FailureKind::Settings);
}

#[tokio::test]
async fn nobody_an_absent_actor_and_an_expired_subject_send_nothing() {
    let server = Fake::start(|_| said(200, r#"{"access_token":"t","token_type":"Bearer"}"#)).await;
    let issuer = Issuer::TokenExchange(Box::new(settings(&server.address)));
    let error = ask(&issuer, None, &caller()).await.unwrap_err();
    assert!(matches!(error, GrantError::Nobody), "{error}");
    let error = ask_as_alice(&issuer).await.unwrap_err();
    assert_eq!(error.to_string(), "the actor token is missing: the variable ACTOR is not there");
    let error = ask(&issuer, Some(&jwt(r#"{"exp":1000}"#)), &caller()).await.unwrap_err();
    assert!(matches!(error, GrantError::Expired { .. }), "{error}");
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn the_identitys_own_token_is_passed_on_only_to_whom_it_is_for() {
    let oidc = |audience: Option<&str>| Issuer::Oidc(OidcToken { audience: audience.map(str::to_owned) });
    let hour = now().unix() + 3600;
    let token = jwt(&format!(r#"{{"aud":["registry"],"exp":{hour}}}"#));
    let grant = ask(&oidc(Some("registry")), Some(&token), &Caller::default()).await.unwrap();
    assert_eq!(grant.credential.expires().map(|at| at.unix()), Some(hour));
    let error = ask(&oidc(Some("other")), Some(&token), &Caller::default()).await.unwrap_err();
    assert!(matches!(error, GrantError::WrongAudience { .. }), "{error}");
    let opaque = credmint_identities::SubjectToken::new(Secret::from("opaque")).unwrap();
    assert!(ask(&oidc(None), Some(&opaque), &Caller::default()).await.is_ok());
    let error = ask(&oidc(Some("x")), Some(&opaque), &Caller::default()).await.unwrap_err();
    assert!(matches!(error, GrantError::Opaque { .. }), "{error}");
    let over = jwt(&format!(r#"{{"exp":{}}}"#, now().unix() - 1));
    let error = ask(&oidc(None), Some(&over), &Caller::default()).await.unwrap_err();
    assert!(matches!(error, GrantError::Expired { .. }), "{error}");
}

#[test]
fn a_grant_may_move_between_threads() {
    fn is_send(_: &impl Send) {}
    let server = settings("http://127.0.0.1:1");
    let asked = exchanged(server);
    is_send(&asked);
}
