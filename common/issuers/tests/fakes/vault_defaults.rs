//! What `vaultrs` does by default and we do not: one test each, by the list at the head of `src/vault/mod.rs`.

use credmint_identities::Caller;
use credmint_issuers::{GrantError, Granted, revoke};
use credmint_settings::{Issuer, VaultSecret};

use crate::fake::{Fake, said};
use crate::world::{
    CANARY, alice, ask, ask_as_alice, caller, logged_in, login, shows_nothing, soon, vault_token, with_token,
};

fn secret(address: &str) -> Issuer {
    let login = with_token(address);
    Issuer::VaultSecret(Box::new(VaultSecret { login, path: "kv/app".into(), field: "token".into() }))
}

#[tokio::test]
async fn a_redirect_to_another_host_gets_neither_token_nor_body() {
    let stranger = Fake::start(|_| said(200, logged_in(CANARY))).await;
    let there = stranger.address.replace("127.0.0.1", "localhost");
    let vault = Fake::start(move |_| said(307, "").header("location", format!("{there}/v1/steal"))).await;
    for issuer in [secret(&vault.address), vault_token(login(&vault.address))] {
        let error = ask(&issuer, Some(&alice()), &caller(CANARY)).await.unwrap_err();
        assert!(
            matches!(&error, GrantError::Redirected { to: Some(to), .. } if to.starts_with("localhost:")),
            "{error}"
        );
        shows_nothing(&error);
    }
    assert_eq!((vault.seen().len(), stranger.seen().len()), (2, 0));
}

#[tokio::test]
async fn a_token_with_a_line_end_is_an_error_and_no_panic() {
    let vault = Fake::start(|_| said(200, r#"{"data":{"token":"x"}}"#)).await;
    let error = ask(&secret(&vault.address), None, &caller("s.one\nX-Other: two")).await.unwrap_err();
    assert!(matches!(error, GrantError::UnfitToken), "{error}");
    assert!(vault.seen().is_empty());
    let granted = ask(&secret(&vault.address), None, &caller("s.one\n")).await;
    assert!(granted.is_ok(), "the line end of a file is dropped");
}

#[tokio::test]
async fn a_client_token_with_a_line_end_is_not_handed_on() {
    let vault = Fake::start(|_| said(200, logged_in("s.one\\ntwo"))).await;
    let error = ask_as_alice(&vault_token(login(&vault.address))).await.unwrap_err();
    assert!(matches!(error, GrantError::UnfitToken), "{error}");
}

#[tokio::test]
async fn debug_shows_no_token() {
    let vault = Fake::start(|_| said(200, logged_in(CANARY))).await;
    let grant = ask_as_alice(&vault_token(login(&vault.address))).await.unwrap();
    let shown = format!("{grant:?} {grant:#?} {:?} {:?}", grant.lease, alice());
    assert!(!shown.contains("CANARY") && !shown.contains("e30."), "{shown}");
    let Granted::Token(token) = grant.credential else { panic!("a token") };
    assert!(token.token.same_as(CANARY.as_bytes()));
}

#[tokio::test]
async fn an_error_with_a_body_full_of_secrets_shows_none() {
    let jwt = "eyJDQU5BUlkiOiJjYW5hcnkifQ.eyJDQU5BUlkiOiJjYW5hcnkifQ.CANARY";
    let pem = "-----BEGIN PRIVATE KEY-----\\nCANARY\\n-----END PRIVATE KEY-----";
    for (status, body) in [
        (400, format!(r#"{{"errors":["bad {CANARY} and {jwt}","{pem}"]}}"#)),
        (400, format!("<html>{CANARY}</html>")),
        (403, format!(r#"{{"errors":["{jwt}"]}}"#)),
        (500, format!(r#"{{"errors":["internal: token {CANARY}"],"data":{{"private_key":"{pem}"}}}}"#)),
        (503, CANARY.to_owned()),
        (200, CANARY.to_owned()),
        (200, format!(r#"{{"auth":"{CANARY}"}}"#)),
        (200, format!(r#"{{"auth":{{"client_token":["{CANARY}"]}}}}"#)),
        (200, format!(r#"{{"data":{{"token":"{CANARY}"}}}}"#)),
    ] {
        let vault = Fake::start(move |_| said(status, body.clone())).await;
        shows_nothing(&ask_as_alice(&vault_token(login(&vault.address))).await.unwrap_err());
    }
}

#[tokio::test]
async fn an_address_with_a_path_works() {
    let vault = Fake::start(|_| said(200, logged_in(CANARY))).await;
    for address in [format!("{}/vault/", vault.address), format!("{}/vault", vault.address), vault.address.clone()] {
        ask_as_alice(&vault_token(login(&address))).await.unwrap();
    }
    assert_eq!(vault.paths(), ["/vault/v1/auth/jwt/login", "/vault/v1/auth/jwt/login", "/v1/auth/jwt/login"]);
}

#[tokio::test]
async fn a_login_that_is_half_done_is_no_success() {
    let body = r#"{"auth":{"client_token":"","mfa_requirement":{"mfa_request_id":"x","mfa_constraints":{}}}}"#;
    let vault = Fake::start(move |_| said(200, body)).await;
    let error = ask_as_alice(&vault_token(login(&vault.address))).await.unwrap_err();
    assert!(matches!(error, GrantError::MfaRequired { .. }), "{error}");
}

#[tokio::test]
async fn addresses_paths_and_roles_that_lead_elsewhere_send_nothing() {
    let vault = Fake::start(|_| said(200, logged_in(CANARY))).await;
    let mut bad = vec![login("nonsense"), login("https://user:pass@vault.example")];
    for (mount, role) in [("jwt/../../sys/seal?", "dev"), ("jwt", "x/../../sys/seal?a=b"), ("", "dev"), ("j wt", "dev")]
    {
        let mut login = login(&vault.address);
        login.auth = credmint_settings::VaultAuth::Jwt { mount: mount.into(), role: role.into() };
        bad.push(login);
    }
    bad.push(credmint_settings::VaultLogin { namespace: Some("a\nb".into()), ..login(&vault.address) });
    for login in bad {
        let error = ask_as_alice(&vault_token(login)).await.unwrap_err();
        assert!(matches!(error, GrantError::Settings(_)), "{error}");
    }
    assert!(vault.seen().is_empty());
}

#[tokio::test]
async fn retry_after_reaches_the_caller_rolesanywhere_31() {
    let vault = Fake::start(|_| said(429, r#"{"errors":["rate limit"]}"#).header("retry-after", "7")).await;
    let error = ask_as_alice(&vault_token(login(&vault.address))).await.unwrap_err();
    assert_eq!(error.to_string().split_once(' ').unwrap().1, "wants to be asked less often, again in 7 s");
}

#[tokio::test]
async fn namespace_and_token_go_into_headers_and_batch_tokens_have_no_lease() {
    let batch = r#"{"auth":{"client_token":"b.x","lease_duration":60,"token_type":"batch"}}"#;
    let vault = Fake::start(move |_| said(200, batch)).await;
    let login = credmint_settings::VaultLogin { namespace: Some("team/a".into()), ..login(&vault.address) };
    let grant = ask_as_alice(&vault_token(login)).await.unwrap();
    assert!(grant.lease.is_none());
    let seen = vault.seen().remove(0);
    assert_eq!(seen.headers["x-vault-namespace"], "team/a");
    assert_eq!(seen.headers["x-vault-request"], "true");
    assert!(!seen.headers.contains_key("x-vault-token"));
}

#[tokio::test]
async fn a_lease_is_given_back_with_the_token_it_came_with() {
    let vault = Fake::start(|_| said(200, logged_in("s.client"))).await;
    let grant = ask_as_alice(&vault_token(login(&vault.address))).await.unwrap();
    revoke(grant.lease.unwrap(), &credmint_https::Https::new("test"), soon()).await.unwrap();
    let seen = vault.seen().remove(1);
    assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", "/v1/auth/token/revoke-self"));
    assert_eq!(seen.headers["x-vault-token"], "s.client");
}

#[tokio::test]
async fn a_users_own_token_stays_and_only_the_lease_of_the_secret_is_given_back() {
    let leased = r#"{"lease_id":"db/creds/x/1","lease_duration":60,"data":{"token":"secret"}}"#;
    let vault = Fake::start(move |_| said(200, leased)).await;
    let grant = ask(&secret(&vault.address), None, &caller("s.own")).await.unwrap();
    assert!(grant.credential.expires().is_some());
    revoke(grant.lease.unwrap(), &credmint_https::Https::new("test"), soon()).await.unwrap();
    let seen = vault.seen().remove(1);
    assert_eq!((seen.path.as_str(), seen.body.as_str()), ("/v1/sys/leases/revoke", r#"{"lease_id":"db/creds/x/1"}"#));
    assert_eq!(vault.seen().len(), 2);
}

/// Runs the test below once more, in a process whose environment is full of what `vaultrs` reads.
#[test]
#[expect(clippy::disallowed_methods, reason = "a process of its own is the only way to a different environment")]
fn vaults_own_variables_have_no_effect() {
    let done = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "vault_defaults::an_untrusted_server_is_refused"])
        .env("VAULT_SKIP_VERIFY", "")
        .env("VAULT_ADDR", "http://127.0.0.1:1")
        .env("VAULT_TOKEN", "s.environment")
        .env("VAULT_CACERT", "/no/such/file")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && told.contains("1 passed"), "{told}");
}

#[tokio::test]
async fn an_untrusted_server_is_refused() {
    let address = crate::pki::untrusted_tls_server().await;
    let error = ask(&vault_token(login(&address)), Some(&alice()), &Caller::default()).await.unwrap_err();
    let GrantError::Unreachable(why) = &error else { panic!("{error}") };
    assert!(matches!(why, credmint_https::HttpsError::UnknownAuthority { .. }), "{error}");
}
