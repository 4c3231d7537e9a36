//! Holds the protocols of providers against the vectors of `protocol-spec/vectors/{aws,google,kubernetes,vault,github,git,docker}/`.
//!
//! The body is a credential as the agent gives it. Keys: `rule` and `comment` are for people, `now` is the time.
//! - `expect: answer`: `stdout` (one line each) is what is printed; a line break ends it, but for Vault.
//! - `expect: refusal`: nothing is printed, `why` says the reason; Google's program says it on standard output.
//! - `expect: malformed call`: the same, before anybody is asked.
//! - `expect: failure` (Google): the body is `kind`, `what` and `hint` of a failure, `stdout` what is printed.
//! - `expect: not found` (docker): `stdout` is what is printed.
//! - `exit`: the exit status. The programs end with that of the failure's kind, and Google's with 0 whatever happened.
//! - What the client says: `wanted` is Google's token type, `info` is `KUBERNETES_EXEC_INFO`, `input` (one line each) is what git writes,
//!   `server` what docker writes.

#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use credmint_protocol_spec::{Vector, vectors};
use credmint_protocols::{AccessKeys, Credential, aws, docker, git, github, google, kubernetes, vault};
use credmint_vocabulary::{Failure, FailureKind, Secret, Timestamp};
use serde_json::Value;

const KEYS: [&str; 10] = ["expect", "exit", "rule", "comment", "now", "stdout", "why", "wanted", "info", "input"];

/// What was printed, or the layer at which it ended and why.
type Outcome = Result<Vec<u8>, (&'static str, String)>;

fn run(
    (program, folder): (&str, &[Vector]),
    outcome: impl Fn(&Vector, &Credential<'_>, Timestamp) -> Outcome,
    ending: &str,
) {
    for vector in folder {
        let unknown = vector.unknown_key(&[&KEYS[..], &["server"]].concat()).map(ToOwned::to_owned);
        assert_eq!(unknown, None, "{}", vector.name);
        let time = vector.header("now").unwrap_or("2026-11-30T16:00:00Z");
        let now = Timestamp::from_rfc3339(time).expect(&vector.name);
        let expect = vector.header("expect").unwrap_or_default();
        assert_eq!(vector.header("exit"), Some(status(expect, program).to_string().as_str()), "{}", vector.name);
        with_credential(vector, |credential| match outcome(vector, credential, now) {
            Ok(printed) => {
                assert!(["answer", "failure", "not found"].contains(&expect), "{}: is not refused", vector.name);
                let lines: Vec<&str> = vector.all("stdout").collect();
                assert_eq!(String::from_utf8_lossy(&printed), lines.join("\n") + ending, "{}", vector.name);
            }
            Err((layer, why)) => {
                assert_eq!(vector.header("expect"), Some(layer), "{}: {why}", vector.name);
                assert_eq!(vector.header("why"), Some(why.as_str()), "{}", vector.name);
            }
        });
    }
}

/// Gives the status that a program ends with.
fn status(expect: &str, program: &str) -> u8 {
    match expect {
        _ if program == "google" => 0,
        "refusal" => FailureKind::Settings.exit_status(),
        "malformed call" => FailureKind::Usage.exit_status(),
        "not found" => 1,
        _ => 0,
    }
}

/// Reads the body.
fn with_credential(vector: &Vector, then: impl FnOnce(&Credential<'_>)) {
    let body: Value = serde_json::from_slice(&vector.body).expect(&vector.name);
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str);
    let secret = |pointer: &str| text(pointer).map(Secret::from);
    let (token, key) = (secret("/token"), secret("/private_key_pem"));
    let (own, session) = (secret("/keys/secret_access_key"), secret("/keys/session_token"));
    let keys = own.as_ref().zip(session.as_ref()).map(|(secret_access_key, session_token)| AccessKeys {
        access_key_id: text("/keys/access_key_id").unwrap_or_default(),
        secret_access_key,
        session_token,
        account_id: text("/keys/account_id"),
    });
    then(&Credential {
        token: token.as_ref(),
        certificate_pem: text("/certificate_pem"),
        private_key_pem: key.as_ref(),
        username: text("/username"),
        keys,
        expires: text("/expires_at").map(|end| Timestamp::from_rfc3339(end).expect(&vector.name)),
    });
}

fn refusal(error: impl ToString) -> (&'static str, String) {
    ("refusal", error.to_string())
}

#[test]
fn aws_and_its_vectors_agree() {
    let answer = |_: &Vector, credential: &Credential<'_>, now| {
        aws::answer(credential, now).map(|bytes| bytes.to_vec()).map_err(refusal)
    };
    run(("aws", &vectors("aws").expect("the folder is there")), answer, "\n");
}

#[test]
fn google_and_its_vectors_agree() {
    let answer = |vector: &Vector, credential: &Credential<'_>, now| {
        if vector.header("expect") == Some("failure") {
            return Ok(google::failure(&failure(vector)));
        }
        google::answer(credential, vector.header("wanted"), now).map(|bytes| bytes.to_vec()).map_err(refusal)
    };
    run(("google", &vectors("google").expect("the folder is there")), answer, "\n");
}

fn failure(vector: &Vector) -> Failure {
    let body: Value = serde_json::from_slice(&vector.body).expect(&vector.name);
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    let kind = FailureKind::from_word(text("kind").unwrap_or_default());
    let failure = Failure::new(kind, text("what").unwrap_or_default());
    text("hint").into_iter().fold(failure, |failure, hint| failure.hint(hint))
}

#[test]
fn kubernetes_and_its_vectors_agree() {
    let answer = |vector: &Vector, credential: &Credential<'_>, now| {
        let version =
            kubernetes::version(vector.header("info")).map_err(|error| ("malformed call", error.to_string()))?;
        kubernetes::answer(credential, version, now).map(|bytes| bytes.to_vec()).map_err(refusal)
    };
    run(("kubernetes", &vectors("kubernetes").expect("the folder is there")), answer, "\n");
}

#[test]
fn vault_and_its_vectors_agree() {
    let answer = |_: &Vector, credential: &Credential<'_>, _| {
        vault::answer(credential).map(|bytes| bytes.to_vec()).map_err(refusal)
    };
    run(("vault", &vectors("vault").expect("the folder is there")), answer, "");
}

#[test]
fn github_and_its_vectors_agree() {
    let answer = |_: &Vector, credential: &Credential<'_>, _| {
        github::answer(credential).map(|bytes| bytes.to_vec()).map_err(refusal)
    };
    run(("github", &vectors("github").expect("the folder is there")), answer, "\n");
}

#[test]
fn git_and_its_vectors_agree() {
    let answer = |vector: &Vector, credential: &Credential<'_>, now| {
        let lines: Vec<&str> = vector.all("input").collect();
        let description = git::description(lines.join("\n").as_bytes());
        git::answer(credential, &description, now).map(|bytes| bytes.to_vec()).map_err(refusal)
    };
    run(("git", &vectors("git").expect("the folder is there")), answer, "\n");
}

#[test]
fn docker_and_its_vectors_agree() {
    let answer = |vector: &Vector, credential: &Credential<'_>, _| {
        if vector.header("expect") == Some("not found") {
            return Ok(docker::NOT_FOUND.to_vec());
        }
        let server = vector.header("server").unwrap_or_default();
        docker::answer(credential, server).map(|bytes| bytes.to_vec()).map_err(refusal)
    };
    run(("docker", &vectors("docker").expect("the folder is there")), answer, "\n");
}
