//! AWS STS as a fake: the real one is no peer of a test, and moto takes any token, any session name and any life.
//! This one is strict: it looks into the form, the token's audience and the signature's scope, and answers as the API reference says.

#![expect(clippy::indexing_slicing, clippy::panic, reason = "a fake stops at what a request must have and has not")]

use std::collections::BTreeMap;

use credmint_identities::{Caller, SubjectToken};
use credmint_issuers::{AccessKeys, Grant, GrantError, Granted};
use credmint_settings::{AwsSts, Issuer, Peer};
use credmint_vocabulary::{FailureKind, Secret};

use crate::fake::{Fake, Said, Seen, said};
use crate::world::{ask, jwt, now, shows_nothing};

const FIRST: &str = "arn:aws:iam::123456789012:role/first";
const LAST: &str = "arn:aws:iam::210987654321:role/last";
/// Stands where a secret of AWS would: no error may show it.
const CANARY_KEY: &str = "wJalrCANARYcanary/K7MDENG+bPxRfiCY012345";

fn settings(address: &str) -> AwsSts {
    AwsSts {
        role_arn: FIRST.into(),
        then: Vec::new(),
        region: "eu-central-1".into(),
        session_name: "{sub}".into(),
        duration: None,
        policy: None,
        policy_arns: Vec::new(),
        token_audience: Some("sts.amazonaws.com".into()),
        endpoint: Some(address.into()),
        peer: Peer::default(),
    }
}

fn job() -> SubjectToken {
    jwt(r#"{"sub":"repo:org/app:ref:refs/heads/main","aud":["sts.amazonaws.com"]}"#)
}

async fn asked(settings: AwsSts) -> Result<Grant, GrantError> {
    ask(&Issuer::AwsSts(Box::new(settings)), Some(&job()), &Caller::default()).await
}

async fn answered(answer: Said) -> GrantError {
    let server = Fake::start(move |_| answer.clone()).await;
    let error = asked(settings(&server.address)).await.unwrap_err();
    shows_nothing(&error);
    error
}

/// Reads a form.
fn form(seen: &Seen) -> BTreeMap<String, String> {
    url::form_urlencoded::parse(seen.body.as_bytes()).into_owned().collect()
}

fn keys_of(grant: Grant) -> AccessKeys {
    let Granted::Keys(keys) = grant.credential else { panic!("keys") };
    keys
}

/// Answers as STS does, for a role.
fn granted(action: &str, arn: &str, id: &str, end: &str) -> Said {
    let (account, role) = arn.trim_start_matches("arn:aws:iam::").split_once(":role/").unwrap();
    said(
        200,
        format!(
            "<{action}Response xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\n  <{action}Result>\n    \
             <AssumedRoleUser><AssumedRoleId>AROA:x</AssumedRoleId>\
             <Arn>arn:aws:sts::{account}:assumed-role/{role}/x</Arn></AssumedRoleUser>\n    <Credentials>\n      \
             <AccessKeyId>{id}</AccessKeyId>\n      <SecretAccessKey>{CANARY_KEY}</SecretAccessKey>\n      \
             <SessionToken>session/of+{id}==</SessionToken>\n      <Expiration>{end}</Expiration>\n    </Credentials>\n  \
             </{action}Result>\n  <ResponseMetadata><RequestId>r</RequestId></ResponseMetadata>\n</{action}Response>\n"
        ),
    )
    .header("content-type", "text/xml")
}

fn refused(status: u16, code: &str, message: &str) -> Said {
    said(
        status,
        format!(
            "<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Error><Type>Sender</Type>\
             <Code>{code}</Code><Message>{message}</Message></Error><RequestId>r</RequestId></ErrorResponse>"
        ),
    )
    .header("content-type", "text/xml")
}

fn ends() -> String {
    now().plus(std::time::Duration::from_secs(3_600)).to_string()
}

/// Does what STS does with a request, as strictly.
fn sts(seen: &Seen) -> Said {
    let form = form(seen);
    let (action, arn, name) = (&form["Action"], &form["RoleArn"], &form["RoleSessionName"]);
    let named = |c: char| c.is_ascii_alphanumeric() || "_+=,.@-".contains(c);
    let life = form.get("DurationSeconds").map_or(3_600, |life| life.parse().unwrap());
    if !name.chars().all(named) || !(2..=64).contains(&name.len()) || !(900..=43_200).contains(&life) {
        return refused(400, "ValidationError", "1 validation error detected");
    }
    if seen.headers["content-type"] != "application/x-www-form-urlencoded" || form["Version"] != "2011-06-15" {
        return refused(400, "InvalidAction", "Could not find operation");
    }
    if action == "AssumeRoleWithWebIdentity" {
        let token = SubjectToken::new(Secret::from(form["WebIdentityToken"].as_str()));
        let audiences = token.unwrap().claims.unwrap().aud();
        if seen.headers.contains_key("authorization") || audiences != ["sts.amazonaws.com"] {
            return refused(400, "InvalidIdentityToken", "Incorrect token audience");
        }
        return granted(action, arn, "ASIAFIRSTFIRSTFIRST1", &ends());
    }
    let authorization = &seen.headers["authorization"];
    let scope = "/eu-central-1/sts/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, ";
    let known = authorization.starts_with("AWS4-HMAC-SHA256 Credential=ASIAFIRSTFIRSTFIRST1/20");
    let token = seen.headers["x-amz-security-token"] == "session/of+ASIAFIRSTFIRSTFIRST1==";
    if !known || !token || !authorization.contains(scope) || form.contains_key("WebIdentityToken") {
        return refused(403, "SignatureDoesNotMatch", "The request signature we calculated does not match");
    }
    granted(action, arn, "ASIALASTLASTLASTLAST", &ends())
}

#[tokio::test]
async fn the_token_is_exchanged_unsigned_and_the_session_name_fits() {
    let server = Fake::start(sts).await;
    let narrowed = AwsSts {
        policy: Some("{\"Version\": \"2012-10-17\"}".into()),
        policy_arns: vec!["arn:aws:iam::aws:policy/ReadOnlyAccess".into(), "arn:aws:iam::123456789012:policy/b".into()],
        duration: Some(std::time::Duration::from_secs(900)),
        ..settings(&server.address)
    };
    let grant = asked(narrowed).await.unwrap();
    let end = grant.credential.expires().unwrap();
    assert!((3_590..=3_600).contains(&end.remaining(now()).as_secs()));
    let keys = keys_of(grant);
    assert_eq!(
        (keys.access_key_id.as_str(), keys.account_id.as_deref()),
        ("ASIAFIRSTFIRSTFIRST1", Some("123456789012"))
    );
    assert!(keys.secret_access_key.same_as(CANARY_KEY.as_bytes()));
    assert!(keys.session_token.same_as(b"session/of+ASIAFIRSTFIRSTFIRST1=="));
    assert!(!format!("{keys:?}").contains("CANARY"));
    let form = form(&server.seen().remove(0));
    assert_eq!(form["RoleSessionName"], "repo-org-app-ref-refs-heads-main");
    assert_eq!((form["DurationSeconds"].as_str(), form["Policy"].as_str()), ("900", "{\"Version\": \"2012-10-17\"}"));
    assert_eq!(form["PolicyArns.member.1.arn"], "arn:aws:iam::aws:policy/ReadOnlyAccess");
    assert_eq!(form["PolicyArns.member.2.arn"], "arn:aws:iam::123456789012:policy/b");
    assert!(!form.contains_key("ProviderId"), "which is for another kind of token");
}

#[tokio::test]
async fn a_chain_is_signed_and_what_narrows_goes_to_its_last_role() {
    let server = Fake::start(sts).await;
    let chain = AwsSts {
        then: vec![LAST.into()],
        policy: Some("{}".into()),
        duration: Some(std::time::Duration::from_secs(1_800)),
        ..settings(&server.address)
    };
    let keys = keys_of(asked(chain).await.unwrap());
    assert_eq!(
        (keys.access_key_id.as_str(), keys.account_id.as_deref()),
        ("ASIALASTLASTLASTLAST", Some("210987654321"))
    );
    let [first, last] = server.seen().try_into().unwrap();
    let (first, last) = (form(&first), form(&last));
    assert_eq!((first["RoleArn"].as_str(), first["DurationSeconds"].as_str()), (FIRST, "900"));
    assert!(!first.contains_key("Policy"));
    assert_eq!((last["RoleArn"].as_str(), last["DurationSeconds"].as_str()), (LAST, "1800"));
    assert_eq!(last["Policy"], "{}");
}

#[tokio::test]
async fn refusals_are_sentences_by_their_code() {
    let arn = "AssumeRoleWithWebIdentity for arn:aws:iam::123456789012:role/first";
    for (status, code, words, hint) in [
        (400, "ExpiredTokenException", "the token that was presented has expired", "clock"),
        (400, "InvalidIdentityToken", "it does not accept the identity's token", "OIDC provider"),
        (403, "AccessDenied", "the role does not let this identity in", "trust policy"),
        (400, "IDPRejectedClaim", "the issuer does not stand by the token", "new token"),
        (400, "MalformedPolicyDocument", "the session policy is malformed", "policy"),
        (400, "PackedPolicyTooLarge", "too large together", "policy_arns"),
        (403, "RegionDisabledException", "STS is not activated in this region", "region"),
        (400, "ValidationError", "a value of the request is not allowed", "role_arn"),
    ] {
        let error = answered(refused(status, code, &format!("about {CANARY_KEY}"))).await;
        let text = error.to_string();
        assert!(text.contains(&format!("refused {arn} with status {status}: ")), "{text}");
        assert!(text.contains(words) && text.contains(&format!("({code}: about ")), "{text}");
        assert!(error.hint().unwrap().contains(hint), "{code}");
        assert_eq!(error.kind(), FailureKind::Refused);
    }
    let error = answered(refused(400, "NeverSeen", "")).await;
    assert!(error.to_string().ends_with("it gave a reason that we do not know (NeverSeen)"), "{error}");
}

#[tokio::test]
async fn an_issuer_that_aws_did_not_reach_is_asked_for_once_more() {
    let server = Fake::start(|_| refused(400, "IDPCommunicationError", "took too long")).await;
    let error = asked(settings(&server.address)).await.unwrap_err();
    assert!(error.to_string().contains("AWS does not reach the issuer of the identity's token"), "{error}");
    assert_eq!((error.kind(), server.seen().len()), (FailureKind::Unreachable, 2));
    let once = std::sync::atomic::AtomicBool::new(false);
    let server = Fake::start(move |seen| {
        let again = once.swap(true, std::sync::atomic::Ordering::Relaxed);
        if again { sts(seen) } else { refused(400, "IDPCommunicationError", "") }
    })
    .await;
    assert!(asked(settings(&server.address)).await.is_ok());
}

#[tokio::test]
async fn throttling_says_when_to_come_back() {
    for (status, code) in [(400, "Throttling"), (429, "Whatever"), (503, "RequestLimitExceeded")] {
        let error = answered(refused(status, code, "Rate exceeded").header("retry-after", "7")).await;
        assert_eq!(error.retry_after().map(|wait| wait.as_secs()), Some(7), "{error}");
        assert_eq!(error.kind(), FailureKind::Unreachable);
    }
}

#[tokio::test]
async fn what_is_no_answer_of_sts_is_said_and_shown_to_nobody() {
    let end = ends();
    let whole = granted("AssumeRoleWithWebIdentity", FIRST, "ASIAFIRSTFIRSTFIRST1", &end);
    let without = |from: &str, to: &str| said(200, whole.body.replace(from, to));
    for (answer, words) in [
        (said(200, format!("<html><body>{CANARY_KEY}")), "cannot be used: an HTML page"),
        (said(200, format!("{{\"Credentials\":\"{CANARY_KEY}\"}}")), "no XML with the keys in it"),
        (without("</Credentials>", ""), "no XML with the keys in it"),
        (without("<AccessKeyId>", "<AccessKeyId> <x/>"), "no XML with the keys in it"),
        (without("ASIAFIRSTFIRSTFIRST1", "short"), "no XML with the keys in it"),
        (without(CANARY_KEY, "a b"), "no XML with the keys in it"),
        (without("Expiration", "Ends"), "no XML with the keys in it"),
        (without(&end, "tomorrow"), "no XML with the keys in it"),
        (granted("AssumeRole", FIRST, "ASIAFIRSTFIRSTFIRST1", "2020-01-01T00:00:00Z"), "keys that are over already"),
        (said(200, "<a>".repeat(50_000)), "no XML with the keys in it"),
        (said(200, "x".repeat(1_100_000)), "larger than"),
        (said(302, "").header("location", "https://evil.example/"), "redirects to evil.example"),
        (said(502, format!("<html>{CANARY_KEY}</html>")), "an HTML page: perhaps a proxy"),
        (said(500, ""), "cannot answer now (status 500)"),
    ] {
        let error = answered(answer).await;
        assert!(error.to_string().contains(words), "{words}: {error}");
        assert_eq!(error.kind(), FailureKind::Unreachable, "{error}");
    }
    let error = answered(said(403, format!("<html>{CANARY_KEY}</html>"))).await;
    assert!(error.to_string().contains("refused AssumeRoleWithWebIdentity with status 403 (an HTML page"), "{error}");
}

#[tokio::test]
async fn a_token_for_another_audience_or_of_no_form_is_not_sent_coder_20991() {
    let server = Fake::start(sts).await;
    let issuer = Issuer::AwsSts(Box::new(settings(&server.address)));
    for (token, words) in [
        (jwt(r#"{"sub":"a","aud":"00000003-0000-0000-c000-000000000000"}"#), "is for 00000003-"),
        (SubjectToken::new(Secret::from("opaque")).unwrap(), "the token is opaque"),
        (jwt(r#"{"sub":"a","aud":"sts.amazonaws.com","exp":1000}"#), "expired"),
        (jwt(r#"{"aud":"sts.amazonaws.com"}"#), "has no claim `sub`"),
    ] {
        let error = ask(&issuer, Some(&token), &Caller::default()).await.unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    assert!(matches!(ask(&issuer, None, &Caller::default()).await, Err(GrantError::Nobody)));
    assert!(server.seen().is_empty(), "{:?}", server.paths());
}
