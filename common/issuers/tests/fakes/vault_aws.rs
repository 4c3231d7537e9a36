//! The aws auth method of HashiCorp's Vault as a fake: OpenBao has none, and the real one asks AWS.
//! It is strict where both are: it rebuilds the request from the four fields, and verifies what signed it with the secret that AWS would know.
#![expect(clippy::indexing_slicing, clippy::panic, reason = "a fake stops at what a request must have and has not")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use aws_lc_rs::{digest, hmac};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use credmint_https::Https;
use credmint_identities::{Caller, IdentityError, SubjectToken};
use credmint_issuers::{GrantError, Granted};
use credmint_settings::{AwsCaller, Identity, Issuer, Peer, VaultAuth, VaultLogin};
use credmint_vocabulary::Secret;
use serde_json::Value;

use crate::fake::{Fake, Said, Seen, said};
use crate::world::{alice, ask, logged_in, login, now, soon, vault_token};

const SECRET: &str = "wJalrCANARYcanary/K7MDENG+bPxRfiCY012345";
const WEB: &str = "/var/run/web";

fn settings() -> AwsCaller {
    AwsCaller {
        region: Some("eu-central-1".into()),
        endpoint: None,
        server_id: Some("vault.corp.example".into()),
        web_identity_token_file: PathBuf::from(WEB),
        authorization_token_file: PathBuf::from("/var/run/pod"),
        peer: Peer::default(),
    }
}

fn caller(variables: &[(&str, &str)]) -> Caller {
    let mut caller = Caller::default();
    for (name, value) in [("AWS_EC2_METADATA_DISABLED", "true")].iter().chain(variables) {
        caller.environment.insert((*name).into(), Secret::from(*value));
    }
    caller
}

async fn subject(settings: AwsCaller, caller: &Caller) -> Result<Option<SubjectToken>, IdentityError> {
    credmint_identities::ask(&Identity::AwsCaller(Box::new(settings)), caller, &Https::new("test"), now(), soon()).await
}

fn issuer(address: &str) -> Issuer {
    let auth = VaultAuth::Aws { mount: "aws".into(), role: Some("dev".into()) };
    vault_token(VaultLogin { auth, ..login(address) })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn signed_by(parts: &[&str], text: &str) -> String {
    let first = format!("AWS4{SECRET}").into_bytes();
    let step = |key: Vec<u8>, part: &str| {
        hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), part.as_bytes()).as_ref().to_vec()
    };
    hex(&step(parts.iter().fold(first, |key, part| step(key, part)), text))
}

/// Does what the auth method does, and STS behind it.
fn vault(seen: &Seen) -> Said {
    let refused = |why: &str| said(400, format!(r#"{{"errors":["{why}"]}}"#));
    let body: Value = serde_json::from_str(&seen.body).unwrap();
    let field = |name: &str| String::from_utf8(STANDARD.decode(body[name].as_str().unwrap()).unwrap()).unwrap();
    if seen.path != "/v1/auth/aws/login" || body["role"] != "dev" || body["iam_http_request_method"] != "POST" {
        return refused("no such role");
    }
    let (url, form) = (field("iam_request_url"), field("iam_request_body"));
    if url != "https://sts.eu-central-1.amazonaws.com/" || form != "Action=GetCallerIdentity&Version=2011-06-15" {
        return refused("invalid request");
    }
    let headers: BTreeMap<String, Vec<String>> = serde_json::from_str(&field("iam_request_headers")).unwrap();
    let header = |name: &str| headers.get(name).map_or("", |values| values[0].as_str());
    if header("x-vault-aws-iam-server-id") != "vault.corp.example" {
        return refused("missing header X-Vault-AWS-IAM-Server-ID");
    }
    let words: Vec<&str> = header("authorization").split([' ', ',', '=']).filter(|word| !word.is_empty()).collect();
    let ["AWS4-HMAC-SHA256", "Credential", credential, "SignedHeaders", names, "Signature", signature] = words[..]
    else {
        return refused("no signature");
    };
    if !names.contains("x-vault-aws-iam-server-id") || !names.contains("host") {
        return refused("the server's ID is not signed");
    }
    let lines: String = names.split(';').map(|name| format!("{name}:{}\n", header(name))).collect();
    let hash = |text: &str| hex(digest::digest(&digest::SHA256, text.as_bytes()).as_ref());
    let canonical = format!("POST\n/\n\n{lines}\n{names}\n{}", hash(&form));
    let (_, scope) = credential.split_once('/').unwrap();
    let text = format!("AWS4-HMAC-SHA256\n{}\n{scope}\n{}", header("x-amz-date"), hash(&canonical));
    if signed_by(&scope.split('/').collect::<Vec<_>>(), &text) != signature {
        return refused("SignatureDoesNotMatch");
    }
    said(200, logged_in("s.ofaws"))
}

const KEYS: [(&str, &str); 3] = [
    ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLEEXAMPLE01"),
    ("AWS_SECRET_ACCESS_KEY", SECRET),
    ("AWS_SESSION_TOKEN", "s/of+a=="),
];

async fn logs_in(settings: AwsCaller, caller: &Caller) {
    let vault = Fake::start(vault).await;
    let subject = subject(settings, caller).await.unwrap().unwrap();
    let grant = ask(&issuer(&vault.address), Some(&subject), &Caller::default()).await.unwrap();
    let Granted::Token(token) = grant.credential else { panic!("a token") };
    assert!(token.token.same_as(b"s.ofaws"));
    assert!(!vault.seen()[0].body.contains(SECRET), "the key itself is sent to nobody");
}

#[tokio::test]
async fn keys_in_variables_sign_what_the_method_takes() {
    logs_in(settings(), &caller(&KEYS)).await;
    logs_in(settings(), &caller(&KEYS[..2])).await;
}

#[tokio::test]
async fn keys_of_a_container_and_of_a_machine_are_found() {
    let given = format!(
        r#"{{"Code":"Success","AccessKeyId":"ASIAMACHINEMACHINE01","SecretAccessKey":"{SECRET}","Token":"t","Expiration":"x"}}"#
    );
    let body = given.clone();
    let container = Fake::start(move |seen| match seen.headers.get("authorization").map(String::as_str) {
        Some("pod token") => said(200, body.clone()),
        _ => said(400, r#"{"code":"x"}"#),
    })
    .await;
    let address = format!("{}/v1/keys", container.address);
    let full = ("AWS_CONTAINER_CREDENTIALS_FULL_URI", address.as_str());
    logs_in(settings(), &caller(&[full, ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "pod token")])).await;
    let mut with_file = caller(&[full, ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/var/run/pod")]);
    with_file.files.insert("/var/run/pod".into(), Secret::from("pod token\n"));
    logs_in(settings(), &with_file).await;
    let error = subject(settings(), &caller(&[full])).await.unwrap_err();
    assert!(error.to_string().contains("gave no keys of AWS: status 400"), "{error}");
    let machine = Fake::start(move |seen| match (seen.method.as_str(), seen.path.as_str()) {
        ("PUT", "/latest/api/token") if seen.headers["x-aws-ec2-metadata-token-ttl-seconds"] == "60" => said(200, "m"),
        ("GET", _) if seen.headers["x-aws-ec2-metadata-token"] != "m" => said(401, ""),
        ("GET", "/latest/meta-data/iam/security-credentials/") => said(200, "web\n"),
        ("GET", "/latest/meta-data/iam/security-credentials/web") => said(200, given.clone()),
        _ => said(404, ""),
    })
    .await;
    let at = [("AWS_EC2_METADATA_SERVICE_ENDPOINT", machine.address.as_str()), ("AWS_EC2_METADATA_DISABLED", "")];
    logs_in(settings(), &caller(&at)).await;
    let nobody = Fake::start(|_| said(404, "")).await;
    let at = [("AWS_EC2_METADATA_SERVICE_ENDPOINT", nobody.address.as_str()), ("AWS_EC2_METADATA_DISABLED", "")];
    assert!(subject(settings(), &caller(&at)).await.unwrap().is_none());
}

#[tokio::test]
async fn a_web_identity_is_exchanged_first() {
    let sts = Fake::start(|seen| {
        let form: BTreeMap<String, String> = url::form_urlencoded::parse(seen.body.as_bytes()).into_owned().collect();
        if form["WebIdentityToken"] != "e30.web.x" {
            return said(400, "<E><Error><Code>InvalidIdentityToken</Code></Error></E>");
        }
        said(
            200,
            format!(
                "<R><Credentials><AccessKeyId>ASIAWEBWEBWEBWEBWEB1</AccessKeyId><SecretAccessKey>{SECRET}</SecretAccessKey>\
                 <SessionToken>t</SessionToken></Credentials></R>"
            ),
        )
    })
    .await;
    let own = AwsCaller { endpoint: Some(sts.address.clone()), ..settings() };
    let role = ("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/web");
    let mut web = caller(&[("AWS_WEB_IDENTITY_TOKEN_FILE", WEB), role]);
    let missing = subject(own.clone(), &web).await.unwrap_err();
    assert!(missing.to_string().starts_with("AWS_WEB_IDENTITY_TOKEN_FILE names a file"), "{missing}");
    web.files.insert(WEB.into(), Secret::from("e30.web.x\n"));
    assert!(subject(own.clone(), &web).await.unwrap().is_some());
    web.files.insert(WEB.into(), Secret::from("e30.other.x"));
    let refused = subject(own, &web).await.unwrap_err();
    assert!(refused.to_string().ends_with("status 400 (InvalidIdentityToken)"), "{refused}");
}

#[tokio::test]
async fn half_a_pair_is_a_failure_nothing_at_all_is_absence_and_a_stranger_gets_nothing() {
    let half = subject(settings(), &caller(&KEYS[..1])).await.unwrap_err();
    assert_eq!(half.to_string(), "AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not");
    assert!(subject(settings(), &caller(&[])).await.unwrap().is_none());
    let bad = [("AWS_ACCESS_KEY_ID", "AKID"), ("AWS_SECRET_ACCESS_KEY", "a b")];
    assert!(subject(settings(), &caller(&bad)).await.is_err());
    // What was signed is for the aws method alone, and the method takes nothing else.
    let signed = subject(settings(), &caller(&KEYS)).await.unwrap().unwrap();
    let vault = Fake::start(vault).await;
    let error = ask(&vault_token(login(&vault.address)), Some(&signed), &Caller::default()).await.unwrap_err();
    assert!(matches!(error, GrantError::Settings(_)), "{error}");
    let error = ask(&issuer(&vault.address), Some(&alice()), &Caller::default()).await.unwrap_err();
    assert!(error.to_string().contains("this is none") && vault.seen().is_empty(), "{error}");
}
