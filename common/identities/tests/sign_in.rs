//! A person's sign-in against a fake provider that lies: what the real one (tests/stories) cannot be made to do.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "this is a test")]

#[path = "../../issuers/tests/fakes/fake.rs"]
#[expect(dead_code, reason = "other tests share it and use the rest")]
mod fake;
mod liar;

use std::time::Duration;

use credmint_identities::*;
use credmint_settings::OidcTokenKind;
use credmint_vocabulary::{FailureKind, Secret, Timestamp};

use fake::said;
use liar::{Liar, NOW, https, in_ten_seconds, redirect, settings};

async fn signed_in(liar: &Liar) -> Result<Tokens, SignInError> {
    let provider = liar.provider().await?;
    let authorization = provider.begin(&redirect())?;
    liar.remember(&authorization.url);
    let callback = liar.callback();
    assert!(authorization.matches(&callback));
    provider.redeem(authorization, callback, &https(), NOW, in_ten_seconds()).await
}

async fn refused(liar: Liar) -> String {
    let error = signed_in(&liar).await.unwrap_err();
    let told = format!("{error} | {:?} | {error:?}", error.hint());
    assert!(!told.to_lowercase().contains("canary"), "{told}");
    told
}

#[tokio::test]
async fn a_sign_in_gives_tokens_whose_id_token_was_checked() {
    let liar = Liar::start().await;
    let tokens = signed_in(&liar).await.unwrap();
    assert_eq!(tokens.claims.as_ref().unwrap().sub().as_deref(), Some("alice"));
    assert!(tokens.access.same_as(b"canary-access") && tokens.refresh.as_ref().unwrap().same_as(b"canary-refresh"));
    assert_eq!(tokens.ends(OidcTokenKind::Access), Some(NOW.plus(Duration::from_secs(60))));
    assert_eq!(tokens.ends(OidcTokenKind::Id), Some(NOW.plus(Duration::from_secs(300))));
    assert_eq!(tokens.subject(OidcTokenKind::Id).unwrap().claims, tokens.claims);
    assert!(tokens.subject(OidcTokenKind::Access).unwrap().claims.is_none());
    assert!(!format!("{tokens:?}").contains("canary"));
    let form = liar.form("/token");
    assert_eq!((form["grant_type"].as_str(), form["code"].as_str()), ("authorization_code", "canary-code"));
    assert_eq!((form["client_id"].as_str(), form["redirect_uri"].as_str()), ("cli", redirect().as_str()));
    assert_eq!(form["resource"], "https://api.example");
    assert!(form["code_verifier"].len() >= 43);
}

#[tokio::test]
async fn the_authorization_request_has_pkce_and_what_the_settings_add() {
    let liar = Liar::start().await;
    let provider = liar.provider().await.unwrap();
    let query = liar::query(&provider.begin(&redirect()).unwrap().url);
    assert_eq!((query["response_type"].as_str(), query["code_challenge_method"].as_str()), ("code", "S256"));
    assert_eq!((query["scope"].as_str(), query["prompt"].as_str()), ("openid offline_access", "consent"));
    assert_eq!((query["resource"].as_str(), query["login_hint"].as_str()), ("https://api.example", "alice"));
    let other = liar::query(&provider.begin(&redirect()).unwrap().url);
    assert!(["state", "nonce", "code_challenge"].iter().all(|name| query[*name] != other[*name]));
}

#[tokio::test]
async fn an_issuer_without_offline_access_is_not_asked_for_it() {
    let liar = Liar::start().await.metadata("scopes_supported", r#"["openid"]"#);
    let query = liar::query(&liar.provider().await.unwrap().begin(&redirect()).unwrap().url);
    assert_eq!((query["scope"].as_str(), query.get("prompt")), ("openid", None));
    let mut own = settings(&liar.issuer());
    own.scopes = Some(vec!["offline_access".into(), "email".into()]);
    let provider = Provider::discover(&own, &Caller::default(), &https(), in_ten_seconds()).await.unwrap();
    assert_eq!(provider.scopes(), ["offline_access", "email"]);
}

#[tokio::test]
async fn id_tokens_that_lie_are_refused() {
    let liar = async |claim: &str, value: &str| refused(Liar::start().await.claim(claim, value)).await;
    assert!(liar("nonce", r#""other""#).await.contains("its nonce is not that of this sign-in"));
    assert!(liar("nonce", "null").await.contains("its nonce"));
    assert!(liar("iss", r#""https://evil.example""#).await.contains("its issuer"));
    assert!(liar("aud", r#""another-client""#).await.contains("its audience"));
    assert!(liar("aud", r#"["cli","vault"]"#).await.contains("issued to another client"));
    assert!(liar("azp", r#""another-client""#).await.contains("issued to another client"));
    assert!(liar("exp", &NOW.unix().to_string()).await.contains("it is expired | Some(\"check this machine's clock"));
    assert!(liar("at_hash", r#""AAAAAAAAAAAAAAAAAAAAAA""#).await.contains("not of this access token"));
}

#[tokio::test]
async fn an_audience_more_is_fine_for_the_party_it_was_issued_to() {
    let liar = Liar::start().await.claim("aud", r#"["cli","vault"]"#).claim("azp", r#""cli""#);
    assert!(signed_in(&liar).await.is_ok());
}

#[tokio::test]
async fn signatures_that_are_none_or_of_others_are_refused() {
    assert!(refused(Liar::start().await.unsigned()).await.contains("it is not signed"));
    assert!(refused(Liar::start().await.signed_with_the_public_key()).await.contains("not safe here"));
    assert!(refused(Liar::start().await.signed_by_another_key()).await.contains("its signature is wrong"));
    assert!(refused(Liar::start().await.key_id("gone")).await.contains("a key that the issuer does not publish"));
}

#[tokio::test]
async fn keys_are_fetched_again_when_one_is_unknown() {
    let liar = Liar::start().await.keys_after_one_fetch();
    assert!(signed_in(&liar).await.is_ok());
    assert_eq!(liar.paths().iter().filter(|path| *path == "/realm/keys").count(), 2);
}

#[tokio::test]
async fn an_answer_of_somebody_else_is_foreign() {
    let liar = Liar::start().await.metadata("authorization_response_iss_parameter_supported", "true");
    let provider = liar.provider().await.unwrap();
    let authorization = provider.begin(&redirect()).unwrap();
    liar.remember(&authorization.url);
    let state = &liar::query(&authorization.url)["state"];
    let matches = |query: &str| authorization.matches(&Callback::of_query(query).unwrap());
    assert!(matches(&format!("code=c&state={state}&iss={}", liar.issuer())));
    assert!(!matches(&format!("code=c&state={state}&iss=https://evil.example")));
    assert!(!matches(&format!("code=c&state={state}")), "the issuer says that it names itself");
    assert!(!matches(&format!("code=c&state=x{state}&iss={}", liar.issuer())));
    let foreign = Callback::of_query("code=c&state=x").unwrap();
    let error = provider.redeem(authorization, foreign, &https(), NOW, in_ten_seconds()).await.unwrap_err();
    assert!(matches!(error, SignInError::Foreign) && liar.paths().iter().all(|path| path != "/token"));
}

/// Google knows no `offline_access`, and gives a refresh token for a parameter of its own.
#[tokio::test]
async fn an_issuer_that_wants_a_parameter_in_place_of_offline_access_gets_it_kubelogin_405() {
    let liar = Liar::start().await.metadata("scopes_supported", r#"["openid","email"]"#);
    let mut own = settings(&liar.issuer());
    let google = [("access_type", "offline"), ("prompt", "consent")];
    own.authorization_parameters = google.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let provider = Provider::discover(&own, &Caller::default(), &https(), in_ten_seconds()).await.unwrap();
    let query = liar::query(&provider.begin(&redirect()).unwrap().url);
    assert_eq!((query["scope"].as_str(), query["access_type"].as_str()), ("openid", "offline"));
    assert_eq!(query["prompt"], "consent");
}

#[tokio::test]
async fn a_refused_scope_is_named_with_the_others_kubelogin_396() {
    let liar = Liar::start().await;
    let provider = liar.provider().await.unwrap();
    let authorization = provider.begin(&redirect()).unwrap();
    let state = &liar::query(&authorization.url)["state"];
    let callback = Callback::of_query(&format!("error=invalid_scope&state={state}")).unwrap();
    let told = provider.redeem(authorization, callback, &https(), NOW, in_ten_seconds()).await.unwrap_err();
    assert!(told.to_string().contains("invalid_scope; asked for openid offline_access"), "{told}");
    assert!(told.hint().unwrap().starts_with("set scopes in the settings"), "{:?}", told.hint());
    let no = said(400, r#"{"error":"invalid_scope"}"#).header("content-type", "application/json");
    let liar = liar.answer("/device", no);
    let told = liar.provider().await.unwrap().device(&https(), NOW, in_ten_seconds()).await.unwrap_err();
    assert!(told.to_string().contains("asked for openid offline_access"), "{told}");
    assert_eq!(told.hint().unwrap(), "check scopes in the settings");
}

#[tokio::test]
async fn scopes_that_were_not_granted_are_known_kubelogin_396() {
    let answered = async |tokens: &str| {
        let liar = Liar::start().await.access_token().answer("/token", said(200, tokens));
        let mut own = settings(&liar.issuer());
        own.scopes = Some(["openid", "email", "offline_access"].map(str::to_owned).into());
        let provider = Provider::discover(&own, &Caller::default(), &https(), in_ten_seconds()).await.unwrap();
        let tokens = signed_in(&liar).await.unwrap();
        provider.not_granted(&tokens)
    };
    let with = |more: &str| format!(r#"{{"access_token":"a","token_type":"bearer"{more}}}"#);
    assert_eq!(answered(&with(r#","scope":"openid""#)).await, ["email", "offline_access"]);
    assert_eq!(answered(&with("")).await, ["offline_access"], "no word about scopes, and no refresh token");
    assert!(answered(&with(r#","scope":"openid email","refresh_token":"r""#)).await.is_empty());
}

#[tokio::test]
async fn a_refusal_in_the_browser_says_what_to_do() {
    for (word, hint) in [
        ("access_denied", "sign in again and agree"),
        ("invalid_scope", "set scopes"),
        ("invalid_target", "check resource"),
    ] {
        let liar = Liar::start().await;
        let provider = liar.provider().await.unwrap();
        let authorization = provider.begin(&redirect()).unwrap();
        let state = &liar::query(&authorization.url)["state"];
        let callback = Callback::of_query(&format!("error={word}&state={state}")).unwrap();
        let error = provider.redeem(authorization, callback, &https(), NOW, in_ten_seconds()).await.unwrap_err();
        assert!(error.kind() == FailureKind::Refused && error.to_string().contains(word), "{error}");
        assert!(error.hint().unwrap().starts_with(hint), "{:?}", error.hint());
    }
}

#[tokio::test]
async fn a_slash_at_the_end_of_the_issuer_is_not_held_against_anybody() {
    for (given, found) in [("/realm/", "/realm"), ("/realm", "/realm/")] {
        let liar = Liar::start().await.issuer_path(found);
        let own = settings(&liar.at(given));
        let provider = Provider::discover(&own, &Caller::default(), &https(), in_ten_seconds()).await.unwrap();
        assert_eq!(provider.issuer(), liar.at(found));
    }
}

#[tokio::test]
async fn issuers_that_are_none_say_what_to_change() {
    let error = Liar::start().await.metadata("issuer", r#""https://other.example""#).provider().await.unwrap_err();
    assert!(matches!(error, SignInError::Issuer { .. }) && error.kind() == FailureKind::Settings, "{error}");
    assert!(error.to_string().contains("https://other.example"), "{error}");
    let error = Liar::start().await.metadata("jwks_uri", "7").provider().await.unwrap_err();
    assert!(error.to_string().contains("no usable discovery document (jwks_uri"), "{error}");
    let error = Liar::start().await.answer("/realm/.well-known/openid-configuration", said(404, "canary"));
    let error = error.provider().await.unwrap_err();
    assert!(error.to_string().contains("status 404") && error.hint().unwrap().starts_with("check issuer"), "{error}");
    let away = said(302, "").header("location", "https://evil.example/");
    let error = Liar::start().await.answer("/realm/keys", away).provider().await.unwrap_err();
    assert!(error.to_string().contains("status 302"), "{error}");
    let large = said(200, " ".repeat(2 << 20)).header("content-type", "application/json");
    let error = Liar::start().await.answer("/realm/keys", large).provider().await.unwrap_err();
    assert!(matches!(error, SignInError::Endpoint(TokenEndpointError::Unreachable(_))), "{error}");
    let error = Liar::start().await.metadata("authorization_endpoint", r#""javascript:alert(1)""#);
    assert!(error.provider().await.unwrap().begin(&redirect()).is_err());
}

#[tokio::test]
async fn the_token_endpoints_refusals_show_no_body() {
    for (status, body, words) in [
        (400, r#"{"error":"invalid_grant","error_description":"hvs.CANARYcanary0123456789"}"#, "sign in again"),
        (401, r#"{"error":"invalid_client"}"#, "check client_id"),
        (200, r#"{"access_token":["canary"]}"#, "its tokens cannot be read"),
        (500, "canary", "cannot answer now"),
    ] {
        let told = refused(Liar::start().await.answer("/token", said(status, body))).await;
        assert!(told.contains(words), "{told}");
    }
}

#[tokio::test]
async fn without_an_id_token_nobody_is_signed_in_unless_the_access_token_counts_kubelogin_405() {
    let answer = said(200, r#"{"access_token":"a","token_type":"bearer"}"#);
    assert!(refused(Liar::start().await.answer("/token", answer.clone())).await.contains("gave no ID token"));
    let liar = Liar::start().await.answer("/token", answer).access_token();
    let tokens = signed_in(&liar).await.unwrap();
    assert!(tokens.refresh.is_none() && tokens.ends(OidcTokenKind::Access).is_none());
    assert!(matches!(tokens.subject(OidcTokenKind::Id), Err(SignInError::NoIdToken { .. })));
}

/// Keeps nothing.
async fn kept(_: &Secret<String>) {}

#[tokio::test]
async fn a_rotated_refresh_token_is_kept_before_the_answer_is_looked_at_coder_17069() {
    let liar = Liar::start().await;
    let (provider, before) = (liar.provider().await.unwrap(), signed_in(&liar).await.unwrap());
    let (liar, was_kept) = (liar.claim("sub", r#""mallory""#), std::cell::Cell::new(false));
    let keep = async |refresh: &Secret<String>| was_kept.set(refresh.same_as(b"canary-refresh"));
    let refreshed = provider.refresh(&before, &https(), NOW, in_ten_seconds(), keep).await;
    assert!(refreshed.is_err() && was_kept.get());
    liar.say("/token", said(400, r#"{"error":"invalid_grant"}"#));
    let never = async |_: &Secret<String>| panic!("there is nothing to keep");
    assert!(provider.refresh(&before, &https(), NOW, in_ten_seconds(), never).await.is_err());
}

#[tokio::test]
async fn a_refresh_takes_over_what_the_answer_does_not_have() {
    let liar = Liar::start().await;
    let (provider, before) = (liar.provider().await.unwrap(), signed_in(&liar).await.unwrap());
    liar.say("/token", said(200, r#"{"access_token":"next","token_type":"bearer","expires_in":60}"#));
    let after = provider.refresh(&before, &https(), NOW, in_ten_seconds(), kept).await.unwrap();
    assert_eq!(liar.form("/token")["refresh_token"], "canary-refresh");
    assert!(after.access.same_as(b"next") && after.refresh.unwrap().same_as(b"canary-refresh"));
    assert_eq!(after.claims, before.claims);
    liar.say("/token", said(200, r#"{"access_token":"next","token_type":"bearer","refresh_token":"rotated"}"#));
    let after = provider.refresh(&before, &https(), NOW, in_ten_seconds(), kept).await.unwrap();
    assert!(after.refresh.unwrap().same_as(b"rotated"));
}

#[tokio::test]
async fn a_refresh_ends_the_session_when_the_grant_is_gone_or_the_person_another() {
    let liar = Liar::start().await;
    let (provider, before) = (liar.provider().await.unwrap(), signed_in(&liar).await.unwrap());
    let refresh = async || provider.refresh(&before, &https(), NOW, in_ten_seconds(), kept).await.unwrap_err();
    liar.say("/token", said(400, r#"{"error":"invalid_grant","error_description":"grant not found"}"#));
    let error = refresh().await;
    assert!(matches!(&error, RefreshError::Over(_)) && error.to_string().contains("grant not found"), "{error}");
    for (status, body) in [(500, "canary"), (401, r#"{"error":"invalid_client"}"#), (429, "")] {
        liar.say("/token", said(status, body));
        assert!(matches!(refresh().await, RefreshError::NotNow(_)), "{status}");
    }
    let liar = liar.claim("sub", r#""mallory""#);
    liar.unsay("/token");
    let error = provider.refresh(&before, &https(), NOW, in_ten_seconds(), kept).await.unwrap_err();
    assert!(matches!(&error, RefreshError::Over(why) if why.contains("somebody else")), "{error}");
}

#[tokio::test]
async fn a_rotated_refresh_token_survives_keys_that_cannot_be_fetched() {
    let liar = Liar::start().await;
    let (provider, before) = (liar.provider().await.unwrap(), signed_in(&liar).await.unwrap());
    let liar = liar.key_id("new");
    liar.say("/realm/keys", said(503, ""));
    let after = provider.refresh(&before, &https(), NOW, in_ten_seconds(), kept).await.unwrap();
    assert!(after.refresh.is_some() && after.claims == before.claims);
}

#[tokio::test]
async fn a_device_waits_slows_down_and_ends() {
    let liar = Liar::start().await;
    let provider = liar.provider().await.unwrap();
    let device = provider.device(&https(), NOW, in_ten_seconds()).await.unwrap();
    assert_eq!((device.user_code.as_str(), device.interval), ("ABCD-EFGH", Duration::from_secs(5)));
    assert!(device.verification_uri_complete.is_none(), "a javascript: address is not shown");
    assert!(!format!("{device:?}").contains("canary"));
    let poll = async |word: &str| {
        liar.say("/token", said(400, format!(r#"{{"error":"{word}"}}"#)));
        provider.poll(&device, &https(), NOW, in_ten_seconds()).await
    };
    assert!(matches!(poll("authorization_pending").await, Ok(Poll::Pending)));
    assert!(matches!(poll("slow_down").await, Ok(Poll::SlowDown)));
    assert!(matches!(poll("expired_token").await, Err(SignInError::Expired { .. })));
    assert!(matches!(poll("access_denied").await, Err(SignInError::Refused { class: OauthRefusal::Denied, .. })));
    assert!(matches!(poll("invalid_client").await, Err(SignInError::Endpoint(_))));
    liar.say("/token", said(503, ""));
    assert!(matches!(provider.poll(&device, &https(), NOW, in_ten_seconds()).await, Ok(Poll::SlowDown)));
    liar.unsay("/token");
    let Ok(Poll::Tokens(tokens)) = provider.poll(&device, &https(), NOW, in_ten_seconds()).await else {
        panic!("no tokens")
    };
    assert_eq!(tokens.claims.unwrap().sub().as_deref(), Some("alice"));
    assert_eq!(liar.form("/token")["device_code"], "canary-device");
}

#[tokio::test]
async fn logout_revokes_both_tokens_and_says_when_it_cannot() {
    let liar = Liar::start().await;
    let (provider, tokens) = (liar.provider().await.unwrap(), signed_in(&liar).await.unwrap());
    provider.revoke(&tokens, &https(), NOW, in_ten_seconds()).await.unwrap();
    let forms = liar.forms("/revoke");
    assert_eq!(forms[0]["token"], "canary-refresh");
    assert_eq!((forms[1]["token"].as_str(), forms[1]["token_type_hint"].as_str()), ("canary-access", "access_token"));
    liar.say("/revoke", said(503, "canary"));
    let error = provider.revoke(&tokens, &https(), NOW, in_ten_seconds()).await.unwrap_err();
    assert!(error.to_string().contains("cannot answer now"), "{error}");
    let liar = Liar::start().await.metadata("revocation_endpoint", "null");
    let error = liar.provider().await.unwrap().revoke(&tokens, &https(), NOW, in_ten_seconds()).await.unwrap_err();
    assert!(matches!(error, SignInError::CannotRevoke { .. }), "{error}");
}

#[tokio::test]
async fn a_clients_secret_is_asked_for_before_anybody_signs_in_and_kept_for_later() {
    let liar = Liar::start().await;
    let own = liar::with_secret(&liar.issuer());
    let error = Provider::discover(&own, &Caller::default(), &https(), in_ten_seconds()).await.unwrap_err();
    assert!(error.to_string().contains("CLIENT_SECRET") && liar.paths().is_empty(), "{error}");
    let mut caller = Caller::default();
    caller.environment.insert("CLIENT_SECRET".into(), Secret::from("canary"));
    let provider = Provider::discover(&own, &caller, &https(), in_ten_seconds()).await.unwrap();
    drop(caller);
    provider.device(&https(), NOW, in_ten_seconds()).await.unwrap();
    assert_eq!(liar.form("/device")["client_secret"], "canary");
}

#[test]
fn what_is_kept_can_cross_threads() {
    fn crosses<T: Send + Sync + 'static>() {}
    crosses::<(Provider, Tokens, Authorization, Device)>();
    assert!(Timestamp::from_unix(0) < NOW);
}
