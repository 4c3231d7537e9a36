//! Authorization servers that are down, slow, lying or talk nonsense: the same promises as for Vault, by another code path.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::time::Duration;

use credmint_faults::fake::{Act, Fake, Received};
use credmint_faults::{HOST, JOB, REFUSED, SETTINGS, UNREACHABLE, User, host, unix_now, unsigned_jwt};
use credmint_test_kit::{OpenIdProvider, random};
use serde_json::{Value, json};

/// Exchanges the identity's token at a token endpoint, or at one that discovery finds.
fn exchange(more: &str) -> String {
    let rest = format!("client_id = \"terraform\"\n{more}\n\n{}", host("exchange", ""));
    format!("{JOB}[issuer.exchange]\nkind = \"token-exchange\"\n{rest}")
}

fn user_of(more: &str) -> User {
    let mut user = User::move_in();
    user.token(&unsigned_jwt(&json!({ "sub": "alice", "exp": unix_now() + 900 })));
    user.settings(exchange(more));
    user
}

fn granted() -> Value {
    let urn = "urn:ietf:params:oauth:token-type:access_token";
    let token = random::secret("granted");
    json!({ "access_token": token, "issued_token_type": urn, "token_type": "Bearer", "expires_in": 900 })
}

fn well(_: &Received) -> Act {
    Act::json(200, &granted())
}

/// Gives an answer to which one member is added, or from which it is taken.
fn granted_but(member: &str, value: Value) -> Act {
    let mut answer = granted();
    answer[member] = value;
    Act::json(200, &answer)
}

fn acts(all: &[(Act, i32, &[&str])]) {
    let one = |act: Act, status: i32, words: &[&str]| {
        let fake = Fake::always(act);
        let user = user_of(&format!("token_endpoint = \"{}/token\"", fake.address()));
        let output = user.fails(status, &[&["issuer exchange", "127.0.0.1:"], words].concat());
        assert!(output.took < Duration::from_secs(5), "it took {:?}", output.took);
        assert!(fake.received().len() <= 2, "it is not asked over and over: {}", fake.received().len());
        fake.then(well);
        user.recovers();
        user.check();
    };
    std::thread::scope(|scope| {
        for (act, status, words) in all {
            scope.spawn(move || one(act.clone(), *status, words));
        }
    });
}

fn error(status: u16, code: &str, description: &str) -> Act {
    Act::json(status, &json!({ "error": code, "error_description": description }))
}

#[test]
fn refusals_are_told_with_the_servers_words() {
    acts(&[
        (error(400, "invalid_grant", "the subject token is revoked"), REFUSED, &["revoked"]),
        (error(400, "invalid_target", "no such audience"), REFUSED, &["no such audience"]),
        (error(400, "unsupported_grant_type", ""), REFUSED, &["unsupported_grant_type"]),
        (error(401, "invalid_client", "unknown client"), REFUSED, &["unknown client"]),
        (error(403, "access_denied", "\u{1b}[31mno\nway"), REFUSED, &["access_denied"]),
        (error(400, "of_a_later_version", "who knows"), REFUSED, &["who knows"]),
    ]);
}

#[test]
fn trouble_is_told_apart_from_a_no() {
    let html = || b"<html>Bad Gateway</html>".to_vec();
    acts(&[
        (Act::Answer(500, Vec::new(), html()), UNREACHABLE, &["500"]),
        (Act::Answer(502, Vec::new(), html()), UNREACHABLE, &["502"]),
        (Act::Answer(503, Vec::new(), Vec::new()), UNREACHABLE, &["503"]),
        (Act::Bytes(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec()), UNREACHABLE, &[]),
        (Act::Bytes(Vec::new()), UNREACHABLE, &[]),
    ]);
}

#[test]
fn a_success_that_is_none_is_told_without_its_text() {
    acts(&[
        (Act::Answer(200, Vec::new(), b"<html>Log in</html>".to_vec()), UNREACHABLE, &[]),
        (Act::json(200, &json!({})), UNREACHABLE, &[]),
        (Act::json(200, &json!([])), UNREACHABLE, &[]),
        (granted_but("access_token", json!(7)), UNREACHABLE, &[]),
        (granted_but("access_token", json!("")), UNREACHABLE, &[]),
        (Act::Answer(200, Vec::new(), "x".repeat(8 << 20).into_bytes()), UNREACHABLE, &["larger than"]),
    ]);
}

#[test]
fn a_redirect_is_not_followed_with_a_token() {
    let elsewhere = Fake::start(well);
    let location = format!("{}/token", elsewhere.address().replace("127.0.0.1", "localhost"));
    acts(&[302, 307, 308].map(|status| -> (Act, i32, &[&str]) {
        (Act::status(status, "Location", &location), UNREACHABLE, &["redirect"])
    }));
    assert_eq!(elsewhere.received().len(), 0, "nothing may arrive there");
}

#[test]
fn a_rate_limit_is_kept() {
    let fake = Fake::always(Act::status(429, "Retry-After", "5"));
    let user = user_of(&format!("token_endpoint = \"{}/token\"", fake.address()));
    for _ in 0..4 {
        user.fails(UNREACHABLE, &["issuer exchange", "less often"]);
    }
    std::thread::sleep(Duration::from_millis(3500));
    user.fails(UNREACHABLE, &["less often"]);
    assert_eq!(fake.received().len(), 1, "a server that wants to be left alone is left alone");
    fake.then(well);
    user.recovers();
    user.check();
}

#[test]
fn a_server_that_never_answers_ends_with_the_deadline() {
    let fake = Fake::always(Act::Silence);
    let user = user_of(&format!("token_endpoint = \"{}/token\"", fake.address()));
    user.fails(UNREACHABLE, &["issuer exchange", "127.0.0.1:", "in time"]);
    fake.then(well);
    user.recovers();
    user.check();
}

#[test]
fn a_discovery_document_that_lies_gets_no_token() {
    let elsewhere = Fake::start(well);
    let fake = Fake::start(well);
    let (own, other) = (fake.address(), elsewhere.address());
    let user = user_of(&format!("issuer = \"{own}\""));
    let document = |issuer: &str, endpoint: &str| {
        let document = json!({
            "issuer": issuer, "token_endpoint": format!("{endpoint}/token"), "authorization_endpoint": format!("{own}/a"),
            "jwks_uri": format!("{own}/jwks"), "response_types_supported": ["code"], "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        });
        move |request: &Received| {
            if request.path.contains("well-known") { Act::json(200, &document) } else { Act::json(200, &granted()) }
        }
    };
    // Another issuer in the document (mix-up, RFC 8414 section 3.3), and an endpoint in the clear on another machine.
    fake.then(document(&other, &own));
    user.fails(SETTINGS, &["issuer exchange", &other, &own]);
    fake.then(document(&own, "http://id.corp.example"));
    user.recovers_from_all("http");
    fake.then(|request| Act::status(302, "Location", &format!("http://localhost{}", request.path)));
    user.recovers_from_all("302");
    fake.then(|_| Act::Answer(404, Vec::new(), Vec::new()));
    user.recovers_from_all("404");
    assert!(elsewhere.received().is_empty() && fake.count("/token") == 0, "the token went nowhere");
    fake.then(document(&own, &own));
    user.recovers();
    user.check();
}

#[test]
fn a_real_provider_refuses_in_its_own_words() {
    let mut provider = OpenIdProvider::start();
    let mut user = User::move_in();
    user.token(&provider.token_for("alice", "vault", 300));
    let secret = user.canary.watch("client secret", random::secret("wrong"));
    user.canary.allow_variable("CLIENT_SECRET");
    let settings = format!(
        "{JOB}[issuer.exchange]\nkind = \"token-exchange\"\nissuer = \"{}\"\nclient_id = \"ci\"\n\
         client_secret = {{ env = \"CLIENT_SECRET\" }}\naudience = \"registry\"\n\n{}",
        provider.issuer(),
        host("exchange", "")
    );
    user.settings(settings);
    let get = |secret: &str| user.helper(&["get", HOST]).env("CLIENT_SECRET", secret).output();
    credmint_faults::is_a_failure(&get(&secret), REFUSED, &[HOST, "issuer exchange", "invalid_client"]);
    let right = provider.ci_secret().to_owned();
    assert_eq!(get(&right).code, Some(0), "the right secret is another key");
    provider.stop();
    assert_eq!(get(&right).code, Some(0), "what is kept is handed out while the provider is away");
    user.check();
}

#[test]
fn a_rate_limit_of_an_identitys_server_is_kept_too() {
    let fake = Fake::always(Act::status(429, "Retry-After", "5"));
    let user = User::move_in();
    user.settings(format!(
        "[identity.job]\nkind = \"client-credentials\"\ntoken_endpoint = \"{}/token\"\nclient_id = \"ci\"\n\n\
         [issuer.pass]\nkind = \"oidc\"\n\n{}",
        fake.address(),
        host("pass", "")
    ));
    user.fails(UNREACHABLE, &["identity job", "less often"]);
    std::thread::sleep(Duration::from_millis(3500));
    user.fails(UNREACHABLE, &["less often"]);
    assert_eq!(fake.received().len(), 1);
    fake.then(|_| Act::json(200, &json!({ "access_token": random::secret("granted"), "token_type": "Bearer" })));
    user.recovers();
    user.check();
}
