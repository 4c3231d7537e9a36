//! The scripted browser signs in at the real OpenID Provider, and the provider does what sign-in stories rely on.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test fails by panicking"
)]

use credmint_test_kit::browser::{parameter, query};
use credmint_test_kit::encoding::claims;
use credmint_test_kit::http::Request;
use credmint_test_kit::{Browser, Chromium, Home, OpenIdProvider};

/// The example of RFC 7636 appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const REDIRECT: &str = "http://127.0.0.1:9/callback";

fn authorization(provider: &OpenIdProvider) -> String {
    let fields = [
        ("response_type", "code"),
        ("client_id", "cli"),
        ("redirect_uri", REDIRECT),
        ("scope", "openid offline_access email"),
        ("prompt", "consent"),
        ("state", "a state"),
        ("nonce", "a nonce"),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
    ];
    format!("{}/auth?{}", provider.issuer(), query(&fields))
}

#[test]
fn a_person_signs_in_with_a_code_and_the_refresh_token_rotates_and_is_revoked() {
    // An issuer has a path as often as not.
    let provider = OpenIdProvider::start_with(300, &[("ISSUER_PATH", "/realms/corp")]);
    let back = Browser::of("alice").sent_back(&authorization(&provider));
    assert!(back.starts_with(REDIRECT), "{back}");
    assert_eq!(parameter(&back, "state").as_deref(), Some("a state"));
    assert_eq!(parameter(&back, "iss").as_deref(), Some(provider.issuer()));
    let fields = [
        ("grant_type", "authorization_code"),
        ("client_id", "cli"),
        ("redirect_uri", REDIRECT),
        ("code", &parameter(&back, "code").unwrap()),
        ("code_verifier", VERIFIER),
    ];
    let answer = Request::new("POST", &provider.token_endpoint()).form(&fields).send();
    assert_eq!(answer.status, 200, "{}", answer.body);
    let issued = provider.issued().remove(0);
    let who = claims(&issued.id_token);
    assert_eq!((&who["sub"], &who["aud"]), (&"alice".into(), &"cli".into()), "{who}");
    assert_eq!((&who["email"], &who["nonce"]), (&"alice@corp.example".into(), &"a nonce".into()), "{who}");
    assert!(provider.is_active(&issued.refresh_token));
    assert_eq!(provider.refresh(&issued.refresh_token).status, 200);
    let rotated = provider.issued().pop().unwrap();
    assert!(rotated.refresh_token != issued.refresh_token && !rotated.id_token.is_empty());
    provider.revoke(&rotated.refresh_token);
    assert!(!provider.is_active(&rotated.refresh_token));
    assert_eq!(provider.refresh(&rotated.refresh_token).json()["error"], "invalid_grant");
}

#[test]
fn a_person_may_refuse() {
    let provider = OpenIdProvider::start();
    let back = Browser::of("alice").refusing().sent_back(&authorization(&provider));
    assert_eq!(parameter(&back, "error").as_deref(), Some("access_denied"), "{back}");
}

#[test]
fn a_device_is_approved_or_refused_by_a_second_client() {
    let provider = OpenIdProvider::start();
    let url = format!("{}/device/auth", provider.issuer());
    for (is_refused, outcome) in [(false, None), (true, Some("access_denied"))] {
        let fields = [("client_id", "cli"), ("scope", "openid offline_access email"), ("prompt", "consent")];
        let device = Request::new("POST", &url).form(&fields).send().json();
        let browser = Browser::of("alice");
        let mut browser = if is_refused { browser.refusing() } else { browser };
        let page = browser.approve(device["verification_uri"].as_str().unwrap(), device["user_code"].as_str().unwrap());
        assert_eq!(page.body.contains("Sign-in Success"), !is_refused, "{}", page.body);
        let code = device["device_code"].as_str().unwrap();
        let grant = "urn:ietf:params:oauth:grant-type:device_code";
        let fields = [("grant_type", grant), ("client_id", "cli"), ("device_code", code)];
        let answer = Request::new("POST", &provider.token_endpoint()).form(&fields).send().json();
        assert_eq!(answer["error"].as_str(), outcome, "{}", answer["error_description"]);
    }
}

#[test]
fn a_real_browser_signs_in_too() {
    let Some(mut chromium) = Chromium::prepare() else { return };
    let provider = OpenIdProvider::start();
    let home = Home::new();
    let opener = home.run(chromium.program()).arg(authorization(&provider)).start();
    chromium.fill("login", "alice");
    chromium.fill("password", "any will do");
    chromium.press("[type=submit]");
    chromium.wait_for("document.body.innerText.includes('email')");
    drop(chromium);
    drop(opener);
}
