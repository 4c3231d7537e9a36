//! The guard is guarded: the canary finds what a story plants, wherever it lies, and the home leaves nothing running.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and starts programs in place of a user"
)]

use std::time::Duration;

use credmint_test_kit::encoding::base64;
use credmint_test_kit::{Canary, Home, certificates, memory, processes, random};

/// A home, a canary, and a secret that it watches.
fn planted() -> (Home, Canary, String) {
    let mut canary = Canary::new();
    let secret = canary.watch("the secret", random::secret("planted"));
    (Home::new(), canary, secret)
}

#[track_caller]
fn assert_seen(canary: &Canary, home: &Home, place: &str) {
    let sightings = canary.sightings(home);
    assert!(sightings.iter().any(|sighting| sighting.contains(place)), "{sightings:?}");
}

fn shell<'home>(home: &'home Home, script: &str) -> credmint_test_kit::Run<'home> {
    home.run("sh").args(["-c", script])
}

#[test]
fn a_home_without_secrets_passes() {
    let (home, canary, secret) = planted();
    shell(&home, "cat; echo harmless >&2; echo harmless >$HOME/file").input(secret).answer().output().success();
    canary.check(&home);
}

#[test]
fn stderr_is_looked_at_and_stdout_unless_it_is_the_answer() {
    let (home, canary, secret) = planted();
    shell(&home, "cat >&2").input(secret.clone()).output();
    assert_seen(&canary, &home, "stderr of");
    let (home, canary, _) = (Home::new(), canary, ());
    shell(&home, "cat").input(secret).output();
    assert_seen(&canary, &home, "stdout of");
}

#[test]
fn files_are_looked_at_unless_they_are_the_input() {
    let (home, mut canary, secret) = planted();
    let input = home.write("token", &secret);
    assert_seen(&canary, &home, "the file home/token");
    canary.allow_file(input);
    canary.check(&home);
    shell(&home, "cat >$TMPDIR/draft; cp $TMPDIR/draft $XDG_RUNTIME_DIR/x").input(format!("a{secret}b")).output();
    assert_seen(&canary, &home, "the file tmp/draft");
    assert_seen(&canary, &home, "the file run/x");
}

#[test]
fn base64_does_not_hide_a_secret() {
    for before in ["", "a", "ab", "abc"] {
        let (home, canary, secret) = planted();
        home.write("header", base64(format!("{before}{secret}:x").as_bytes()));
        assert_seen(&canary, &home, "the file home/header");
    }
}

#[test]
fn arguments_and_environments_are_looked_at() {
    let (home, canary, secret) = planted();
    shell(&home, "sh -c 'sleep 0.1; :' name $(cat)").input(secret.clone()).output();
    assert_seen(&canary, &home, "the arguments of");
    let mut canary = canary;
    let home = Home::new();
    shell(&home, "sleep 0.1; :").env("WORKLOAD_TOKEN", &secret).output();
    assert_seen(&canary, &home, "the variable WORKLOAD_TOKEN of");
    canary.allow_variable("WORKLOAD_TOKEN");
    canary.check(&home);
}

#[test]
fn an_agent_may_not_even_have_a_variable_that_its_caller_may() {
    let (home, mut canary, secret) = planted();
    canary.allow_variable("WORKLOAD_TOKEN");
    let agent = home.path().join("credmint-agent");
    std::fs::copy("/bin/sleep", &agent).unwrap();
    home.run(agent).arg("0.1").env("WORKLOAD_TOKEN", secret).output();
    assert_seen(&canary, &home, "the variable WORKLOAD_TOKEN of credmint-agent");
}

#[test]
fn a_private_key_is_seen_without_being_told() {
    let (_, key) = certificates::request("someone");
    let home = Home::new();
    home.write("key.pem", &key);
    assert_seen(&Canary::new(), &home, "the file home/key.pem");
    let mut canary = Canary::new();
    canary.watch_pem("the key", &key);
    home.write("key.pem", key.lines().nth(2).unwrap());
    assert_seen(&canary, &home, "the key in the file home/key.pem");
}

#[test]
fn memory_is_searched() {
    let (home, canary, secret) = planted();
    let running = shell(&home, "read secret; sleep 5; echo $secret").input(format!("{secret}\n")).start();
    let pid = running.pid();
    let deadline = std::time::Instant::now() + Duration::from_secs(5);
    while !memory::holds(pid, secret.as_bytes()) {
        assert!(std::time::Instant::now() < deadline, "the secret is not found in the memory of a process that has it");
    }
    let found = std::panic::catch_unwind(|| canary.memory_lacks(pid, "the secret"));
    assert!(found.is_err());
    memory::lacks(pid, "another", random::secret("another").as_bytes());
}

#[test]
fn a_deadline_ends_a_program_and_what_it_started() {
    let home = Home::new();
    let output = shell(&home, "sleep 60 & sleep 60").deadline(Duration::from_millis(200)).output();
    assert!(output.timed_out && output.took < Duration::from_secs(10));
    assert!(home.processes().is_empty());
}

#[test]
fn a_pipe_that_is_kept_open_is_noticed() {
    let home = Home::new();
    let output = shell(&home, "echo answer; sleep 60 &").output();
    assert!(output.pipe_held);
    assert_eq!(output.stdout, "answer\n");
}

#[test]
fn a_home_ends_what_was_left_running() {
    let home = Home::new();
    let output = shell(&home, "setsid sleep 60 </dev/null >/dev/null 2>&1 & echo $!").output();
    assert!(!output.pipe_held);
    let left = home.processes();
    assert_eq!(left.len(), 1);
    drop(home);
    assert!(!processes::is_alive(left[0].pid));
}

#[test]
fn a_home_is_empty_and_short() {
    let home = Home::new();
    let output = shell(&home, "env | cut -d= -f1 | sort | tr '\\n' ' '; ls -A").output();
    assert_eq!(output.stdout, "CHECKPOINT_DISABLE HOME PATH PWD TMPDIR XDG_RUNTIME_DIR ");
    assert!(home.runtime_directory().join("credmint/agent.sock").as_os_str().len() < 60);
}

#[test]
fn a_terminal_shows_what_is_written_to_it() {
    let home = Home::new();
    let script = "echo \"it's why\" >/dev/tty; exit 3";
    let output = shell(&home, script).terminal().output();
    assert_eq!((output.stdout.trim_end(), output.code), ("it's why", Some(3)));
    assert!(!shell(&home, script).output().stdout.contains("why"));
}
