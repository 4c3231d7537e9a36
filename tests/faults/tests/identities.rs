//! Identities that have no answer, or one that cannot be used: absent is passed over, broken never is.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test arranges the machine by hand, and fails by panicking"
)]

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use credmint_faults::fake::Fake;
use credmint_faults::{HOST, JOB, PASS_ON, REFUSED, SETTINGS, UNREACHABLE, User, host, unix_now, unsigned_jwt, vault};
use credmint_test_kit::random;
use serde_json::json;

/// Passes on the token of whoever has one of these identities.
fn pass_on(identities: &str, order: &str) -> String {
    format!(
        "{identities}\n[issuer.pass]\nkind = \"oidc\"\n\n[host.\"{HOST}\"]\nidentity = {order}\nissuer = \"pass\"\n"
    )
}

fn command(program: &std::path::Path, more: &str) -> String {
    pass_on(&format!("[identity.job]\nkind = \"command\"\ncommand = [\"{}\"]\n{more}\n", program.display()), "\"job\"")
}

fn script(user: &User, text: &str) -> std::path::PathBuf {
    let file = user.home.write("bin/print-token", format!("#!/bin/sh\n{text}\n"));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o700)).expect("an executable");
    file
}

#[test]
fn no_answer_from_any_identity_is_refused_and_never_anonymous() {
    let mut user = User::move_in();
    user.settings(pass_on(
        &format!("{JOB}[identity.builder]\nkind = \"env\"\nvariable = \"WORKLOAD_TOKEN\"\n"),
        "[\"builder\", \"job\"]",
    ));
    user.fails(REFUSED, &["builder", "WORKLOAD_TOKEN is not set", "job", "token is not there"]);
    user.token(&random::secret("subject"));
    user.succeeds();
    user.check();
}

#[test]
fn an_empty_variable_counts_as_absent() {
    let mut user = User::move_in();
    let secret = user.canary.watch("token of the variable", random::secret("workload"));
    user.canary.allow_variable("WORKLOAD_TOKEN");
    user.settings(pass_on("[identity.job]\nkind = \"env\"\nvariable = \"WORKLOAD_TOKEN\"\n", "\"job\""));
    let get = |value: &str| user.helper(&["get", HOST]).env("WORKLOAD_TOKEN", value).output();
    for empty in ["", "\n"] {
        let output = get(empty);
        credmint_faults::is_a_failure(&output, REFUSED, &[HOST, "WORKLOAD_TOKEN"]);
    }
    assert_eq!(get(&secret).success().json()["token"], secret);
    user.check();
}

#[test]
fn a_token_that_has_expired_is_refused_before_it_is_sent() {
    let mut user = User::move_in();
    user.settings(PASS_ON);
    user.token(&unsigned_jwt(&json!({ "sub": "alice", "exp": unix_now() - 90 })));
    user.fails(REFUSED, &["issuer pass", "expired", "s ago", "clock"]);
    user.token(&unsigned_jwt(&json!({ "sub": "alice", "exp": unix_now() + 900 })));
    user.succeeds();
    user.check();
}

#[test]
fn a_token_for_another_audience_is_refused_before_it_is_sent() {
    let mut user = User::move_in();
    let settings = PASS_ON.replace("\"oidc\"", "\"oidc\"\naudience = \"registry\"");
    user.settings(&settings);
    let token = |audience: serde_json::Value| unsigned_jwt(&json!({ "aud": audience, "exp": unix_now() + 900 }));
    user.token(&token(json!(["vault", "somewhere"])));
    user.fails(REFUSED, &["vault", "\"registry\""]);
    user.token(&unsigned_jwt(&json!({ "sub": "alice", "exp": unix_now() + 900 })));
    user.fails(REFUSED, &["no audience", "\"registry\""]);
    user.token(&token(json!(["vault", "registry"])));
    user.succeeds();
    user.check();
}

#[test]
fn an_opaque_token_where_an_audience_is_wanted_is_refused() {
    let mut user = User::move_in();
    user.token(&random::secret("opaque"));
    user.settings(PASS_ON.replace("\"oidc\"", "\"oidc\"\naudience = \"registry\""));
    user.fails(REFUSED, &["opaque", "\"registry\""]);
    user.settings(PASS_ON);
    user.succeeds();
    user.check();
}

#[test]
fn an_opaque_token_where_claims_are_wanted_is_refused_before_anybody_is_asked() {
    let mut user = User::move_in();
    let fake = Fake::start(vault::signing(vault::Lie::default()));
    user.token(&random::secret("opaque"));
    user.settings(JOB.to_owned() + &vault::certificate(&fake.address(), "") + &host("cert", "deliver = \"inline\""));
    user.fails(REFUSED, &["issuer cert", "email"]);
    user.token(&unsigned_jwt(&json!({ "sub": "alice", "exp": unix_now() + 900 })));
    user.fails(REFUSED, &["email"]);
    assert_eq!(fake.received().len(), 0, "nobody is asked for a certificate that cannot be had");
    user.token(&unsigned_jwt(&json!({ "email": "alice@corp.example", "exp": unix_now() + 900 })));
    user.succeeds();
    user.check();
}

#[test]
fn a_token_file_that_cannot_be_used_is_told_and_not_passed_over() {
    let mut user = User::move_in();
    let second = user.home.write("second", random::secret("second"));
    let two = format!("{JOB}[identity.second]\nkind = \"file\"\npath = \"{}\"\n", second.display());
    user.settings(pass_on(&two, "[\"job\", \"second\"]"));
    let file = user.home.path().join("token");

    std::fs::create_dir(&file).expect("a directory in its place");
    user.fails(SETTINGS, &["identity job", "token cannot be read", "no regular file"]);
    std::fs::remove_dir(&file).expect("the directory");
    user.home.write("token", b"\xff\xfe\x00");
    user.fails(SETTINGS, &["identity job", "token cannot be read", "UTF-8"]);
    user.home.write("token", "two words");
    user.fails(REFUSED, &["identity job", "position 3"]);
    user.home.write("token", "x".repeat(17_000));
    user.fails(REFUSED, &["identity job", "16 KiB"]);
    user.home.write("token", "x".repeat(1 << 20));
    user.fails(SETTINGS, &["identity job", "cannot be read"]);

    user.token(&random::secret("subject"));
    user.succeeds();
    user.check();
}

#[test]
fn a_token_file_that_is_not_for_us_is_told() {
    // Root may read everything: the test is run as somebody else.
    let user = User::move_in();
    let Some(other) = credmint_faults::other_user::Somebody::moves_in() else { return };
    other.settings(PASS_ON);
    other.write("home/token", "no-matter-what-stands-here", 0o000);
    let output = other.get();
    credmint_faults::is_a_failure(&output, SETTINGS, &[HOST, "token cannot be read"]);
    other.write("home/token", "no-matter-what-stands-here", 0o600);
    assert_eq!(other.get().success().json()["token"], "no-matter-what-stands-here");
    user.check();
}

#[test]
fn a_command_that_hangs_is_ended_with_all_that_it_started() {
    let user = User::move_in();
    let program = script(&user, "sleep 61 & echo $! > \"$0.pid\"; wait");
    user.settings(command(&program, "timeout = \"1s\""));
    let output = user.fails(UNREACHABLE, &["identity job", "print-token", "within 1 s"]);
    assert!(output.took < Duration::from_secs(4), "it took {:?}", output.took);
    let pid = std::fs::read_to_string(program.with_extension("pid")).expect("the id of what it started");
    let pid = pid.trim().parse().expect("a number");
    assert!(credmint_test_kit::processes::wait_for_end(pid, Duration::from_secs(2)), "what it started still runs");
    script(&user, "echo a-token-of-the-command");
    user.recovers();
    user.check();
}

#[test]
fn a_command_that_hangs_for_longer_than_our_deadline_ends_with_it() {
    let user = User::move_in();
    let program = script(&user, "exec sleep 61");
    user.settings(command(&program, "timeout = \"1m\""));
    user.fails(UNREACHABLE, &["identity job", "print-token", "did not end"]);
    script(&user, "echo a-token-of-the-command");
    user.recovers();
    user.check();
}

#[test]
fn a_command_that_floods_is_cut_off() {
    let user = User::move_in();
    let program = script(&user, "yes flood");
    user.settings(command(&program, ""));
    let output = user.fails(SETTINGS, &["print-token", "64 KiB"]);
    assert!(output.took < Duration::from_secs(4), "it took {:?}", output.took);
    script(&user, "yes flood >&2 & sleep 0.2; kill $!; echo a-token-of-the-command");
    user.recovers();
    user.check();
}

#[test]
fn a_command_that_fails_shows_nothing_of_what_it_printed() {
    let mut user = User::move_in();
    let secret = user.canary.watch("what the command printed", random::secret("printed"));
    let program = script(&user, &format!("echo {secret}; echo {secret} >&2; exit 3"));
    user.canary.allow_file(&program);
    user.settings(command(&program, ""));
    user.fails(REFUSED, &["identity job", "print-token", "exit status: 3", "by hand"]);
    script(&user, "printf '\\377'");
    user.recovers_from(SETTINGS, "UTF-8");
    std::fs::remove_file(&program).expect("the command");
    user.recovers_from(SETTINGS, "does not start");
    script(&user, "echo a-token-of-the-command");
    user.recovers();
    user.check();
}
