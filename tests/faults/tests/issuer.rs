//! An issuer that is down, slow, full, sealed, lying or talks nonsense: told in words, in time, and forgotten when it is well.

use std::time::{Duration, Instant};

use credmint_faults::fake::{Act, Fake};
use credmint_faults::{HELPER, HOST, JOB, REFUSED, UNREACHABLE, User, host, unix_now, unsigned_jwt, vault};
use credmint_test_kit::home::executable;
use credmint_test_kit::{OpenBao, OpenIdProvider, random};
use serde_json::json;

/// A user whose route ends at a fake Vault that grants client tokens.
fn user_of(fake: &Fake) -> User {
    let mut user = User::move_in();
    user.token(&unsigned_jwt(&json!({ "sub": "alice", "email": "alice@corp.example", "exp": unix_now() + 900 })));
    user.settings(JOB.to_owned() + &vault::token(&fake.address(), "") + &host("vault", ""));
    user
}

fn well(_: &credmint_faults::fake::Received) -> Act {
    vault::login()
}

/// Lets the issuer do this once and for all, sees the failure, makes it well and sees the answer.
fn act(act: Act, status: i32, words: &[&str]) {
    let fake = Fake::always(act);
    let user = user_of(&fake);
    let output = user.fails(status, &[&["issuer vault", "127.0.0.1:"], words].concat());
    assert!(output.took < Duration::from_secs(5), "it took {:?}", output.took);
    assert!(fake.received().len() <= 2, "it is not asked over and over: {}", fake.received().len());
    fake.then(well);
    user.recovers();
    user.check();
}

/// The same with several, at once: most of the time each waits until its failure is forgotten.
fn acts(all: &[(Act, i32, &[&str])]) {
    std::thread::scope(|scope| {
        for (one, status, words) in all {
            scope.spawn(move || act(one.clone(), *status, words));
        }
    });
}

fn refusal(status: u16, text: &str) -> Act {
    Act::json(status, &json!({ "errors": [text] }))
}

#[test]
fn an_issuer_that_is_down_is_told_at_once_and_found_again() {
    let fake = Fake::always(Act::Silence);
    let (user, port) = (user_of(&fake), fake.port());
    drop(fake);
    let output = user.fails(UNREACHABLE, &["issuer vault", &format!("no connection to 127.0.0.1:{port}"), "refused"]);
    assert!(output.took < Duration::from_secs(3), "it took {:?}", output.took);
    let up = Fake::start(well);
    user.settings(JOB.to_owned() + &vault::token(&up.address(), "") + &host("vault", ""));
    user.succeeds();
    user.check();
}

#[test]
fn an_issuer_that_never_answers_ends_with_the_deadline() {
    let fake = Fake::always(Act::Silence);
    let user = user_of(&fake);
    user.fails(UNREACHABLE, &["issuer vault", "127.0.0.1:", "did not answer in time"]);
    // The deadline of a `get` is ours: nobody waits for the next one either, while the failure is remembered.
    fake.then(well);
    user.recovers();
    user.check();
}

#[test]
fn an_issuer_that_is_slow_is_waited_for() {
    let fake = Fake::always(Act::Later(Duration::from_secs(3), Box::new(vault::login())));
    let user = user_of(&fake);
    let output = user.succeeds();
    assert!(output.took > Duration::from_secs(2) && fake.received().len() == 1, "it is asked once");
    user.check();
}

#[test]
fn a_person_is_told_what_is_waited_for() {
    let fake = Fake::always(Act::Later(Duration::from_secs(3), Box::new(vault::login())));
    let user = user_of(&fake);
    // Like Terraform, which keeps what the helper says on standard error to itself.
    let get = format!("{} get {HOST} 2>/dev/null", executable(HELPER).display());
    let run = || user.home.run("/bin/sh").args(["-c", &get]).answer().terminal().output().success().stdout;
    let shown = run();
    let line = format!("{HELPER}: waiting for a credential for {HOST}");
    assert_eq!(shown.matches(&line).count(), 1, "{} bytes on the terminal", shown.len());
    assert!(!run().contains("waiting"), "who is quick says nothing");
    user.check();
}

#[test]
fn an_issuer_that_stops_in_the_middle_of_its_answer_is_told() {
    acts(&[
        (
            Act::Bytes(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{\"auth\":".to_vec(),
            ),
            UNREACHABLE,
            &[],
        ),
        (Act::Bytes(Vec::new()), UNREACHABLE, &[]),
    ]);
}

#[test]
fn an_answer_that_is_no_http_is_told() {
    acts(&[
        (Act::Bytes(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec()), UNREACHABLE, &[]),
        (Act::Bytes(vec![0xff; 4000]), UNREACHABLE, &[]),
    ]);
}

#[test]
fn an_answer_that_is_no_json_is_told_without_its_text() {
    let html = "<html><title>Corporate Proxy</title>\x1b[31m</html>".repeat(20).into_bytes();
    acts(&[
        (Act::Answer(200, vec![("Content-Type".into(), "text/html".into())], html), UNREACHABLE, &["no JSON"]),
        (Act::json(200, &json!({ "auth": null })), UNREACHABLE, &["without `auth`"]),
        (Act::json(200, &json!({ "auth": { "client_token": "" } })), UNREACHABLE, &["without client token"]),
        (Act::json(200, &json!({ "auth": { "client_token": 7 } })), UNREACHABLE, &["another type"]),
        (Act::json(200, &json!([])), UNREACHABLE, &[]),
        (Act::Answer(204, Vec::new(), Vec::new()), UNREACHABLE, &[]),
    ]);
}

#[test]
fn an_answer_that_is_too_large_is_not_read() {
    let body = format!("{{\"auth\":{{\"client_token\":\"{}\"}}}}", "x".repeat(8 << 20)).into_bytes();
    let head = format!("HTTP/1.1 200 OK\r\nX-Filler: {}\r\n\r\n", "x".repeat(4 << 20));
    acts(&[
        (Act::Answer(200, Vec::new(), body), UNREACHABLE, &["larger than"]),
        (Act::Bytes(head.into_bytes()), UNREACHABLE, &[]),
    ]);
}

#[test]
fn refusals_are_told_with_their_status_and_the_servers_words() {
    acts(&[
        (refusal(400, "error validating token: invalid audience (aud) claim"), REFUSED, &["400", "audience"]),
        (refusal(400, "role \"terraform\" could not be found"), REFUSED, &["400", "role"]),
        (refusal(403, "permission denied"), REFUSED, &["403", "auth"]),
        (refusal(404, "no handler for route \"auth/jwt/login\""), REFUSED, &["404", "auth"]),
        (refusal(418, "something of a later version"), REFUSED, &["418", "later version"]),
    ]);
}

#[test]
fn a_refusal_that_repeats_what_we_sent_does_not_show_it() {
    let fake = Fake::start(|request| {
        let body: serde_json::Value = serde_json::from_slice(&request.body).expect("JSON");
        refusal(400, &format!("cannot log in with {}\x1b[31m\nand more", body["jwt"].as_str().expect("a token")))
    });
    let user = user_of(&fake);
    user.fails(REFUSED, &["400"]);
    fake.then(well);
    user.recovers();
    user.check();
}

#[test]
fn trouble_on_the_other_side_is_told_apart_from_a_no() {
    acts(&[
        (refusal(500, "internal error"), UNREACHABLE, &["500", "internal error"]),
        (Act::Answer(502, Vec::new(), b"<html>Bad Gateway</html>".to_vec()), UNREACHABLE, &["502"]),
        (refusal(503, "Vault is sealed"), UNREACHABLE, &["is sealed", "unseal"]),
        (Act::Answer(503, Vec::new(), b"<html>no backend</html>".to_vec()), UNREACHABLE, &["503"]),
        (Act::Answer(472, Vec::new(), Vec::new()), UNREACHABLE, &["standby", "472", "address"]),
        (Act::Answer(473, Vec::new(), Vec::new()), UNREACHABLE, &["standby", "473", "address"]),
        (refusal(412, "required index state not present"), UNREACHABLE, &["less often"]),
    ]);
}

#[test]
fn a_rate_limit_is_told_remembered_and_kept() {
    let fake = Fake::always(Act::status(429, "Retry-After", "5"));
    let user = user_of(&fake);
    let start = Instant::now();
    user.fails(UNREACHABLE, &["less often", "5 s"]);
    for _ in 0..4 {
        user.fails(UNREACHABLE, &["less often"]);
    }
    assert_eq!(fake.received().len(), 1, "an issuer that wants to be left alone is left alone");
    fake.then(well);
    user.recovers_within(Duration::from_secs(10));
    assert!(start.elapsed() >= Duration::from_secs(5), "it is asked again after {:?}", start.elapsed());
    assert_eq!(fake.received().len(), 2);
    user.check();
}

#[test]
fn a_rate_limit_of_an_hour_is_not_kept_for_an_hour_and_ends_with_a_new_token() {
    let fake = Fake::always(Act::status(429, "Retry-After", "3600"));
    let mut user = user_of(&fake);
    user.fails(UNREACHABLE, &["3600 s"]);
    fake.then(well);
    user.token(&random::secret("another"));
    user.succeeds();
    user.check();
}

#[test]
fn a_redirect_to_another_host_gets_no_token() {
    let elsewhere = Fake::start(well);
    let location = format!("{}/v1/auth/jwt/login", elsewhere.address().replace("127.0.0.1", "localhost"));
    let redirect = |status| Act::status(status, "Location", &location);
    acts(&[301, 302, 303, 307, 308].map(|status| -> (Act, i32, &[&str]) {
        (redirect(status), UNREACHABLE, &["redirects to localhost:", "address"])
    }));
    assert_eq!(elsewhere.received().len(), 0, "nothing may arrive there");
}

#[test]
fn five_gets_in_a_row_ask_a_failing_issuer_once() {
    let fake = Fake::always(Act::Later(Duration::from_millis(300), Box::new(refusal(500, "internal error"))));
    let user = user_of(&fake);
    let start = Instant::now();
    for _ in 0..5 {
        user.fails(UNREACHABLE, &["500"]);
    }
    assert!(start.elapsed() < Duration::from_secs(3), "five gets took {:?}", start.elapsed());
    assert_eq!(fake.received().len(), 1);
    fake.then(well);
    user.recovers();
    user.check();
}

#[test]
fn a_sealed_openbao_is_told_and_found_again_openbao_api_client() {
    let (provider, bao) = (OpenIdProvider::start(), OpenBao::start());
    bao.jwt_auth("jwt", provider.issuer());
    bao.jwt_role("jwt", "terraform", "vault", &["default"]);
    let mut user = User::move_in();
    user.token(&provider.token_for("alice", "vault", 300));
    user.settings(JOB.to_owned() + &vault::token(bao.address(), "") + &host("vault", ""));
    bao.seal();
    user.fails(UNREACHABLE, &["is sealed", "bao operator unseal"]);
    bao.unseal();
    user.recovers();

    // A real one that is frozen takes connections and answers none; what is kept is still handed out.
    bao.freeze();
    let kept = user.succeeds();
    assert!(kept.took < Duration::from_secs(2), "it took {:?}", kept.took);
    user.token(&provider.token_for("alice", "vault", 299));
    user.fails(UNREACHABLE, &["127.0.0.1:"]);
    bao.go_on();
    user.recovers();
    user.check();
}

#[test]
fn a_real_openbao_refuses_in_its_own_words() {
    let (provider, bao) = (OpenIdProvider::start(), OpenBao::start());
    bao.jwt_auth("jwt", provider.issuer());
    bao.jwt_role("jwt", "terraform", "vault", &["default"]);
    let mut user = User::move_in();
    let settings = |user: &User, path: &str| {
        user.settings(JOB.to_owned() + &vault::token(bao.address(), path) + &host("vault", ""));
    };
    settings(&user, "");
    user.token(&provider.token_for("alice", "registry", 300));
    user.fails(REFUSED, &["400", "audience", "bound_audiences"]);
    user.token(&random::secret("opaque"));
    user.fails(REFUSED, &["400", "JWT"]);
    user.token(&provider.token_for("alice", "vault", 300));
    settings(&user, "namespace = \"nowhere\"");
    user.fails(REFUSED, &["namespace"]);
    settings(&user, "");
    user.succeeds();
    user.check();
}
