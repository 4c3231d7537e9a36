//! What every status of a Vault becomes, and what happens to a login whose second step fails.

use std::time::Duration;

use credmint_issuers::{GrantError, Granted, VaultRefusal};
use credmint_settings::{Issuer, VaultSecret};
use credmint_vocabulary::FailureKind;

use crate::fake::{Fake, said};
use crate::world::{ask_as_alice, logged_in, login, vault_token};

async fn answered(status: u16, body: &'static str) -> GrantError {
    let vault = Fake::start(move |_| said(status, body)).await;
    ask_as_alice(&vault_token(login(&vault.address))).await.unwrap_err()
}

#[tokio::test]
async fn each_status_is_somebodys_turn() {
    use FailureKind::{Refused, Unreachable};
    for (status, body, kind, words) in [
        (400, r#"{"errors":["error validating token: invalid audience (aud) claim"]}"#, Refused, "another audience"),
        (403, r#"{"errors":["permission denied"]}"#, Refused, "no such auth method"),
        (404, r#"{"errors":[]}"#, Refused, "no such auth method"),
        (412, r#"{"errors":["x"]}"#, Unreachable, "less often"),
        (429, "", Unreachable, "less often"),
        (472, "", Unreachable, "standby"),
        (473, "", Unreachable, "standby"),
        (500, r#"{"errors":["1 error occurred:\n\t* disk full\n\n"]}"#, Unreachable, "status 500) (disk full)"),
        (502, "<html>proxy</html>", Unreachable, "cannot answer now"),
        (503, r#"{"errors":["Vault is sealed"]}"#, Unreachable, "is sealed"),
        (503, "", Unreachable, "cannot answer now (status 503)"),
        (302, "", Unreachable, "redirects to another path"),
        (204, "", Unreachable, "it is no JSON"),
        (200, r#"{"data":{}}"#, Unreachable, "a login answer without `auth`"),
    ] {
        let error = answered(status, body).await;
        assert_eq!(error.kind(), kind, "{status} {error}");
        assert!(error.to_string().contains(words), "{status} {error}");
        assert!(error.to_string().starts_with("127.0.0.1:"), "{error}");
    }
}

#[tokio::test]
async fn more_than_a_mebibyte_is_refused() {
    let vault = Fake::start(|_| said(200, " ".repeat(1 << 21))).await;
    let error = ask_as_alice(&vault_token(login(&vault.address))).await.unwrap_err();
    assert!(matches!(error, GrantError::Unreachable(credmint_https::HttpsError::TooLarge { .. })), "{error}");
}

#[tokio::test]
async fn a_login_whose_second_step_is_refused_is_given_back() {
    let vault = Fake::start(|seen| match seen.path.as_str() {
        "/v1/auth/jwt/login" => said(200, logged_in("s.login")),
        "/v1/kv/app" => said(403, r#"{"errors":["1 error occurred:\n\t* permission denied\n\n"]}"#),
        _ => said(204, ""),
    })
    .await;
    let settings = VaultSecret { login: login(&vault.address), path: "kv/app".into(), field: "token".into() };
    let error = ask_as_alice(&Issuer::VaultSecret(Box::new(settings))).await.unwrap_err();
    assert!(matches!(error, GrantError::Refused { class: VaultRefusal::Forbidden, .. }), "{error}");
    assert_eq!(vault.paths(), ["/v1/auth/jwt/login", "/v1/kv/app", "/v1/auth/token/revoke-self"]);
}

#[tokio::test]
async fn a_server_that_is_just_starting_is_asked_once_more() {
    let port = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = port.local_addr().unwrap();
    drop(port);
    let later = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let listener = tokio::net::TcpListener::bind(address).await.unwrap();
        Fake::on(listener, |_| said(200, logged_in("s.late")))
    });
    let grant = ask_as_alice(&vault_token(login(&format!("http://{address}")))).await.unwrap();
    assert!(matches!(grant.credential, Granted::Token(_)));
    assert_eq!(later.await.unwrap().seen().len(), 1);
}

#[tokio::test]
async fn a_connection_that_breaks_is_not_asked_again() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let asked = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        stream.readable().await.unwrap();
        drop(stream);
        tokio::time::timeout(Duration::from_millis(700), listener.accept()).await.is_ok()
    });
    let error = ask_as_alice(&vault_token(login(&address))).await.unwrap_err();
    assert!(matches!(error, GrantError::Unreachable(_)), "{error}");
    assert!(!asked.await.unwrap(), "a login may count, so it is not repeated");
}

#[tokio::test]
async fn a_field_of_either_version_is_found_and_a_missing_one_is_told() {
    for (body, told) in [
        (r#"{"data":{"token":"one","data":"x"}}"#, Ok("one")),
        (r#"{"data":{"data":{"token":"two"},"metadata":{"version":1}}}"#, Ok("two")),
        (r#"{"data":{"data":{"a":"canary"},"metadata":{}}}"#, Err("has no field `token`; it has a")),
        (r#"{"data":{"data":null,"metadata":{}}}"#, Err("the secret is deleted")),
        (r#"{"data":{"token":{"canary":1}}}"#, Err("the field is no text")),
        (r#"{"data":null}"#, Err("without `data`")),
        (r#"{"data":{"token":"line\nend"}}"#, Err("characters that no token has")),
    ] {
        let vault = Fake::start(move |seen| match seen.path.as_str() {
            "/v1/kv/app" => said(200, body),
            _ => said(200, logged_in("s.login")),
        })
        .await;
        let settings = VaultSecret { login: login(&vault.address), path: "kv/app".into(), field: "token".into() };
        match (ask_as_alice(&Issuer::VaultSecret(Box::new(settings))).await, told) {
            (Ok(grant), Ok(value)) => {
                let Granted::Token(token) = grant.credential else { panic!("a token") };
                assert!(token.token.same_as(value.as_bytes()) && token.expires.is_none());
            }
            (Err(error), Err(words)) => {
                assert!(error.to_string().contains(words), "{error}");
                crate::world::shows_nothing(&error);
            }
            (found, _) => panic!("{body}: {found:?}"),
        }
    }
}
