//! Roles Anywhere as a fake: the real one needs an account, and nobody offers another.
//! This one is strict: it verifies signature, path, serial number and time as the facts say, and answers as the API reference says.

#![expect(clippy::indexing_slicing, clippy::panic, reason = "a fake stops at what a request must have and has not")]

#[path = "../../../../tests/kit/src/roles_anywhere/judge.rs"]
mod judge;

use std::sync::Arc;
use std::time::Duration;

use credmint_client_identity::{ClientIdentity, KeyAlgorithm};
use credmint_https::Https;
use credmint_identities::Caller;
use credmint_issuers::{AccessKeys, Authorities, Before, Grant, GrantError, Granted, PendingRequests, World, anchor};
use credmint_settings::{Issuer, LocalCa, Peer, RolesAnywhere};
use credmint_vocabulary::{FailureKind, Timestamp};

use self::judge::{Arrived, judge};
use crate::fake::{Fake, Said, Seen, said};
use crate::world::{alice, now, shows_nothing, soon};

const ROLE: &str = "arn:aws:iam::123456789012:role/build";
const CANARY_KEY: &str = "wJalrCANARYcanary/K7MDENG+bPxRfiCY012345";

fn settings(address: &str) -> RolesAnywhere {
    RolesAnywhere {
        trust_anchor_arn: "arn:aws:rolesanywhere:eu-central-1:123456789012:trust-anchor/0a-1b".into(),
        profile_arn: "arn:aws:rolesanywhere:eu-central-1:123456789012:profile/2c-3d".into(),
        role_arn: ROLE.into(),
        certificate_issuer: "own".into(),
        then: Vec::new(),
        session_name: None,
        duration: None,
        endpoint: Some(address.into()),
        sts_endpoint: Some(address.into()),
        peer: Peer::default(),
    }
}

/// A certificate of an authority in memory, and the authority's own (DER).
pub(crate) async fn certified(key: KeyAlgorithm) -> (Arc<ClientIdentity>, Vec<u8>) {
    let own = LocalCa { key, common_name: "{sub}".into(), uris: Vec::new(), ttl: Duration::from_secs(600) };
    let (issuer, authorities) = (Issuer::LocalCa(own), Authorities::default());
    let grant = granted(("own", &issuer), None, &authorities, now()).await.unwrap();
    let Granted::Identity(identity) = grant.credential else { panic!("an identity") };
    let pem = anchor("own", &issuer, &authorities, now()).unwrap();
    let der = x509_parser::pem::parse_x509_pem(pem.as_bytes()).unwrap().1.contents;
    (Arc::new(identity), der)
}

pub(crate) async fn granted(
    (name, issuer): (&str, &Issuer),
    certificate: Option<&Arc<ClientIdentity>>,
    authorities: &Authorities,
    now: Timestamp,
) -> Result<Grant, GrantError> {
    let (https, caller, requests) = (Https::new("test"), Caller::default(), PendingRequests::default());
    let before = Before { requests: &requests, entry: [0; 32], present: None };
    let world = World { https: &https, caller: &caller, authorities, certificate, before, now, deadline: soon() };
    credmint_issuers::grant(name, issuer, Some(&alice()), &world).await
}

async fn asked(settings: RolesAnywhere, certificate: &Arc<ClientIdentity>) -> Result<Grant, GrantError> {
    asked_at(settings, certificate, now()).await
}

async fn asked_at(
    settings: RolesAnywhere,
    certificate: &Arc<ClientIdentity>,
    now: Timestamp,
) -> Result<Grant, GrantError> {
    let issuer = Issuer::RolesAnywhere(Box::new(settings));
    granted(("aws", &issuer), Some(certificate), &Authorities::default(), now).await
}

fn keys_of(grant: Grant) -> AccessKeys {
    let Granted::Keys(keys) = grant.credential else { panic!("keys") };
    keys
}

fn session() -> Said {
    let end = now().plus(Duration::from_secs(3_600));
    said(
        201,
        format!(
            r#"{{"credentialSet":[{{"assumedRoleUser":{{"arn":"a"}},"credentials":{{"accessKeyId":"ASIASESSIONSESSION01",
            "secretAccessKey":"{CANARY_KEY}","sessionToken":"session/of+a==","expiration":"{end}"}},"packedPolicySize":1,
            "roleArn":"{ROLE}"}}],"subjectArn":"arn:aws:rolesanywhere:eu-central-1:123456789012:subject/x"}}"#
        ),
    )
    .header("content-type", "application/json")
}

fn refused(code: &str, message: &str) -> Said {
    said(403, format!(r#"{{"message":"{message}"}}"#)).header("x-amzn-errortype", format!("{code}:http://internal/"))
}

/// Does what Roles Anywhere does with a request.
fn anywhere(seen: &Seen, anchor: &[u8], now: Timestamp) -> Said {
    let (path, query) = seen.path.split_once('?').unwrap();
    let query: std::collections::BTreeMap<_, _> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let known = settings("");
    if path != "/sessions" || query["trustAnchorArn"] != known.trust_anchor_arn {
        return refused("ResourceNotFoundException", "Trust anchor not found");
    }
    if query["profileArn"] != known.profile_arn || query["roleArn"] != ROLE {
        return refused("AccessDeniedException", "Unable to assume role");
    }
    let arrived =
        Arrived { method: &seen.method, target: &seen.path, headers: &seen.headers, body: seen.body.as_bytes() };
    match judge(&arrived, "eu-central-1", anchor, now.unix()) {
        Ok(()) => session(),
        Err((code, message)) => refused(code, &message),
    }
}

#[tokio::test]
async fn a_session_is_signed_by_the_certificates_key_whatever_its_kind() {
    for (key, algorithm) in [
        (KeyAlgorithm::Rsa2048, "AWS4-X509-RSA-SHA256 "),
        (KeyAlgorithm::EcdsaP256, "AWS4-X509-ECDSA-SHA256 "),
        (KeyAlgorithm::EcdsaP384, "AWS4-X509-ECDSA-SHA256 "),
    ] {
        let (own, anchor) = certified(key).await;
        let server = Fake::start(move |seen| anywhere(seen, &anchor, now())).await;
        let keys = keys_of(asked(settings(&server.address), &own).await.unwrap());
        assert_eq!(
            (keys.access_key_id.as_str(), keys.account_id.as_deref()),
            ("ASIASESSIONSESSION01", Some("123456789012"))
        );
        assert!(keys.secret_access_key.same_as(CANARY_KEY.as_bytes()));
        let seen = server.seen().remove(0);
        assert!(seen.headers["authorization"].starts_with(algorithm), "{}", key.word());
        assert_eq!((seen.body.as_str(), seen.headers.contains_key("x-amz-x509-chain")), ("{}", false));
    }
}

#[tokio::test]
async fn life_and_name_of_the_session_are_asked_for_and_a_name_fits() {
    let (own, anchor) = certified(KeyAlgorithm::EcdsaP256).await;
    let server = Fake::start(move |seen| anywhere(seen, &anchor, now())).await;
    let narrowed = RolesAnywhere {
        duration: Some(Duration::from_secs(900)),
        session_name: Some("job/{email}".into()),
        ..settings(&server.address)
    };
    asked(narrowed, &own).await.unwrap();
    assert_eq!(server.seen()[0].body, r#"{"durationSeconds":900,"roleSessionName":"job-alice@corp.example"}"#);
}

#[tokio::test]
async fn another_authority_an_old_certificate_and_a_changed_request_are_refused() {
    let (own, anchor) = certified(KeyAlgorithm::EcdsaP256).await;
    let (_, other) = certified(KeyAlgorithm::EcdsaP256).await;
    let server = Fake::start(move |seen| anywhere(seen, &other, now())).await;
    let error = asked(settings(&server.address), &own).await.unwrap_err();
    assert!(error.to_string().contains("does not lead to the trust anchor"), "{error}");
    // The judge sees a change of anything that is signed.
    for change in ["body", "x-amz-date", "x-amz-x509", "path"] {
        let anchor = anchor.clone();
        let server = Fake::start(move |seen| {
            let mut seen = seen.clone();
            match change {
                "body" => seen.body.push(' '),
                "path" => seen.path = seen.path.replace("%2F", "/"),
                name => {
                    let value = seen.headers.get_mut(name).unwrap();
                    let other = if value[14..15] == *"9" { "8" } else { "9" };
                    value.replace_range(14..15, other);
                }
            }
            anywhere(&seen, &anchor, now())
        })
        .await;
        let error = asked(settings(&server.address), &own).await.unwrap_err();
        assert_eq!(error.kind(), FailureKind::Refused, "{change}: {error}");
    }
}

#[tokio::test]
async fn a_clock_that_is_wrong_is_no_reason_to_fail_and_is_told() {
    let (own, anchor) = certified(KeyAlgorithm::EcdsaP256).await;
    let server = Fake::start(move |seen| {
        let date = httpdate(now());
        anywhere(seen, &anchor, now()).header("date", date)
    })
    .await;
    let ahead = now().plus(Duration::from_secs(500));
    let grant = asked_at(settings(&server.address), &own, ahead).await.unwrap();
    assert!(grant.notes[0].contains("clock is") && grant.notes[0].contains("ahead of"), "{:?}", grant.notes);
    assert_eq!(server.seen().len(), 2);
}

/// Writes a time as HTTP has it.
fn httpdate(time: Timestamp) -> String {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let text = time.to_string();
    let month = MONTHS[text[5..7].parse::<usize>().unwrap() - 1];
    // The day of the week is read by nobody, but has to be right for some.
    let day = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][usize::try_from(time.unix() / 86_400 % 7).unwrap()];
    format!("{day}, {} {month} {} {} GMT", &text[8..10], &text[..4], &text[11..19])
}

#[tokio::test]
async fn roles_that_follow_are_assumed_with_the_sessions_keys() {
    let (own, anchor) = certified(KeyAlgorithm::EcdsaP256).await;
    let end = now().plus(Duration::from_secs(3_600));
    let server = Fake::start(move |seen| {
        if seen.path.starts_with("/sessions") {
            return anywhere(seen, &anchor, now());
        }
        assert!(seen.headers["authorization"].starts_with("AWS4-HMAC-SHA256 Credential=ASIASESSIONSESSION01/"));
        said(
            200,
            format!(
                "<R><AssumedRoleUser><Arn>arn:aws:sts::210987654321:assumed-role/last/x</Arn></AssumedRoleUser><Credentials>\
                 <AccessKeyId>ASIALASTLASTLASTLAST</AccessKeyId><SecretAccessKey>{CANARY_KEY}</SecretAccessKey>\
                 <SessionToken>t</SessionToken><Expiration>{end}</Expiration></Credentials></R>"
            ),
        )
    })
    .await;
    let chain = RolesAnywhere {
        then: vec!["arn:aws:iam::210987654321:role/last".into()],
        duration: Some(Duration::from_secs(1_800)),
        ..settings(&server.address)
    };
    let keys = keys_of(asked(chain, &own).await.unwrap());
    assert_eq!(
        (keys.access_key_id.as_str(), keys.account_id.as_deref()),
        ("ASIALASTLASTLASTLAST", Some("210987654321"))
    );
    let [first, last] = server.seen().try_into().unwrap();
    assert_eq!(first.body, r#"{"durationSeconds":900}"#);
    let name = own.serial().replace(':', "");
    assert!(last.body.contains("DurationSeconds=1800") && last.body.contains(&format!("RoleSessionName={name}")));
}

#[tokio::test]
async fn refusals_are_sentences_and_show_no_secret() {
    let (own, _) = certified(KeyAlgorithm::EcdsaP256).await;
    for (code, message, words, hint) in [
        ("AccessDeniedException", "Certificate revoked", "is revoked", "revocation list"),
        ("AccessDeniedException", "Untrusted certificate. Insufficient certificate", "does not lead to", "CA:FALSE"),
        ("AccessDeniedException", "Certificate is expired", "is over", "ttl"),
        ("AccessDeniedException", "Unable to assume role", "does not let Roles Anywhere in", "sts:SetSourceIdentity"),
        ("AccessDeniedException", "Profile is disabled", "is disabled", "enable-profile"),
        ("ResourceNotFoundException", "Trust anchor not found", "there is no such", "trust_anchor_arn"),
        ("ValidationException", "1 validation error", "is not allowed", "ARNs"),
        ("ValidationException", "Custom role session name is not accepted", "no session name", "acceptRoleSessionName"),
    ] {
        let said = refused(code, message);
        let server = Fake::start(move |_| said.clone()).await;
        let error = asked(settings(&server.address), &own).await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains(&format!("a session of {ROLE} with status 403: ")) && text.contains(words), "{text}");
        assert!(text.contains(code) && error.hint().unwrap().contains(hint), "{text}: {:?}", error.hint());
    }
    let body = session().body;
    for (answer, words) in [
        (said(200, format!("<html>{CANARY_KEY}")), "an HTML page"),
        (said(200, body.replace("credentialSet", "set")), "no JSON with the keys in it"),
        (said(200, body.replace("ASIASESSIONSESSION01", "short")), "no JSON with the keys in it"),
        (said(200, r#"{"credentialSet":[]}"#), "no JSON with the keys in it"),
        (said(302, "").header("location", "https://evil.example/"), "redirects to evil.example"),
        (said(403, CANARY_KEY), "refused a session with status 403"),
        (said(500, ""), "cannot answer now"),
    ] {
        let server = Fake::start(move |_| answer.clone()).await;
        let error = asked(settings(&server.address), &own).await.unwrap_err();
        assert!(error.to_string().contains(words), "{words}: {error}");
        shows_nothing(&error);
    }
}

#[tokio::test]
async fn a_key_of_another_kind_is_said_before_anything_is_sent() {
    let (own, _) = certified(KeyAlgorithm::Ed25519).await;
    let server = Fake::start(|_| session()).await;
    let error = asked(settings(&server.address), &own).await.unwrap_err();
    assert!(error.to_string().contains("takes RSA and ECDSA keys, and issuer `own` certifies another"), "{error}");
    assert!(server.seen().is_empty());
}
