//! One agent for many callers: what one of them wants or does is never another's trouble.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test arranges the machine by hand, and fails by panicking"
)]

use std::net::TcpStream;
use std::time::{Duration, Instant};

use credmint_faults::fake::{Act, Fake};
use credmint_faults::{HOST, JOB, PASS_ON, User, host, raw, vault};
use credmint_test_kit::random;
use serde_json::json;

/// Settings that keep nothing, for a host of their own.
const ONCE: &str = "[agent]\nmode = \"once\"\n\n[identity.job]\nkind = \"file\"\npath = \"~/token\"\n\n\
    [issuer.pass]\nkind = \"oidc\"\n\n[host.\"once.example\"]\nidentity = \"job\"\nissuer = \"pass\"\n";

fn behind_the_bridge() -> String {
    format!("{JOB}[issuer.pass]\nkind = \"oidc\"\n\n{}", host("pass", "deliver = \"bridge\""))
}

/// Logs in with a token that can be revoked.
fn revocable() -> Act {
    let auth = json!({ "client_token": random::secret("hvs"), "lease_duration": 300, "token_type": "service" });
    Act::json(200, &json!({ "auth": auth }))
}

/// Waits until a process has ended.
fn ends_within(pid: u32, patience: Duration) -> bool {
    let start = Instant::now();
    while start.elapsed() < patience {
        if std::fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.contains(") Z ")) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    false
}

#[test]
fn another_port_of_the_bridge_counts_at_once() {
    let mut user = User::move_in();
    user.token(&random::secret("subject"));
    user.settings(behind_the_bridge());
    let _first = user.bearer();
    let port = raw::free_port();
    user.home.write(".config/credmint/config.d/bridge.toml", format!("[bridge]\nport = {port}\n"));
    let session = user.bearer();
    assert!(TcpStream::connect(("127.0.0.1", port)).is_ok(), "the bridge listens where the settings say");
    user.canary.watch("session token", session);
    user.check();
}

#[test]
fn settings_that_keep_nothing_do_not_end_the_agent_of_those_that_do() {
    let user = User::with_a_route_that_works();
    user.succeeds();
    let agent = user.home.agent().pid;
    let once = user.home.write("once.toml", ONCE);
    let output = user.helper(&["get", "once.example"]).env("CREDMINT_CONFIG", &once).output();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(!ends_within(agent, Duration::from_secs(12)), "the agent of another caller has gone");
    user.check();
}

#[test]
fn what_is_forgotten_while_it_is_made_is_neither_kept_nor_given() {
    let fake = Fake::start(|_| Act::Later(Duration::from_secs(2), revocable().into()));
    let mut user = User::move_in();
    user.token(&random::secret("subject"));
    let settings = format!("{JOB}{}{}", vault::token(&fake.address(), ""), host("vault", "deliver = \"token\""));
    user.settings(settings);
    let told = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| user.get());
        while fake.count("/login") == 0 {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(user.helper(&["forget", HOST]).output().code, Some(0));
        waiting.join().expect("an end")
    });
    assert!(told.stderr.contains("forgotten"), "{}", told.stderr);
    let start = Instant::now();
    while fake.count("/revoke-self") == 0 {
        assert!(start.elapsed() < Duration::from_secs(5), "what nobody got is revoked");
        std::thread::sleep(Duration::from_millis(50));
    }
    user.check();
}

#[test]
fn the_next_agent_has_the_port_while_the_last_one_still_ends() {
    let fake = Fake::start(|request| if request.path.ends_with("/login") { revocable() } else { Act::Silence });
    let mut user = User::move_in();
    user.token(&random::secret("subject"));
    user.settings(format!("{JOB}{}{}", vault::token(&fake.address(), ""), host("vault", "deliver = \"bridge\"")));
    let first = user.bearer();
    let agent = user.home.agent().pid;
    user.home.run("credmint").args(["agent", "stop"]).output().success();
    // The first agent has two seconds to revoke its token; the next one needs its port now.
    let start = Instant::now();
    let second = user.succeeds().json()["token"].as_str().expect("a token").to_owned();
    assert!(start.elapsed() < Duration::from_secs(2) && !ends_within(agent, Duration::ZERO), "it came too late");
    user.canary.watch("session token", first);
    user.canary.watch("session token of the second", second);
    user.check();
}

#[test]
fn a_child_for_one_request_does_not_wait_for_a_caller_that_says_nothing() {
    let user = User::with_a_route_that_works();
    let agent = credmint_test_kit::home::executable("credmint-agent");
    let mut child = std::process::Command::new(agent)
        .arg("--once")
        .env_clear()
        .envs(user.home.environment())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("an agent");
    // The pipe stays open and nothing comes.
    let _silent = child.stdin.take();
    let ended = ends_within(child.id(), Duration::from_secs(9));
    let _ = child.kill();
    let _ = child.wait();
    assert!(ended, "it waits for ever");
    user.settings(PASS_ON);
    user.check();
}

#[test]
fn a_caller_with_another_home_has_its_own_settings() {
    let mut user = User::with_a_route_that_works();
    user.succeeds();
    // 1. Another home, the same system user, and therefore the same agent; here the host gets something else.
    let token = user.canary.watch("token of the other home", random::secret("other"));
    let file = user.home.write("other/token", token.clone());
    user.canary.allow_file(&file);
    let theirs = PASS_ON.replace(&format!("[host.\"{HOST}\"]"), "[host.\"theirs.example\"]");
    user.home.write("other/config/credmint/config.toml", theirs);
    let other = |arguments: &[&str]| {
        let home = user.home.path().join("other");
        let run = user.helper(arguments).env("XDG_CONFIG_HOME", home.join("config")).env("HOME", home);
        run.output()
    };
    assert_eq!(other(&["get", "theirs.example"]).json()["token"], token);
    // 2. What the first home's settings say is nothing to it, nor the other way round.
    assert_eq!(other(&["get", HOST]).json(), json!({}));
    assert_eq!(user.helper(&["get", "theirs.example"]).output().json(), json!({}));
    assert_eq!(user.home.agents().len(), 1);
    user.check();
}

#[test]
fn no_program_of_the_working_directory_is_run() {
    use std::os::unix::fs::PermissionsExt;
    let user = User::move_in();
    let planted = user.home.write("repository/get-token", "#!/bin/sh\necho planted\n");
    std::fs::set_permissions(&planted, std::fs::Permissions::from_mode(0o755)).expect("executable");
    let repository = planted.parent().expect("a directory");
    for command in ["get-token", "./get-token"] {
        let job = format!("[identity.job]\nkind = \"command\"\ncommand = [\"{command}\"]\n");
        user.settings(PASS_ON.replace("[identity.job]\nkind = \"file\"\npath = \"~/token\"\n", &job));
        for mode in ["once", "auto"] {
            let get = user.helper(&["get", HOST]).in_directory(repository);
            let output = get.env("CREDMINT_AGENT", mode).env("PATH", ".:/usr/bin:/bin").output();
            assert_ne!(output.code, Some(0), "{mode}: {command} was run");
            assert!(output.stderr.contains("does not start"), "{}", output.stderr);
        }
    }
    user.check();
}

#[test]
fn an_entry_is_shown_to_its_owner_though_another_file_of_the_route_cannot_be_read() {
    let user = User::with_a_route_that_works();
    let second = "[identity.second]\nkind = \"file\"\npath = \"~/directory\"\n\n";
    user.home.make_directory("directory");
    user.settings(format!("{second}{}", PASS_ON.replace("= \"job\"", "= [\"job\", \"second\"]")));
    user.succeeds();
    let status = user.home.run("credmint").arg("status").output().success().stdout;
    assert!(status.contains(HOST) && status.contains("kept"), "{status}");
    user.check();
}

#[test]
fn an_agent_that_nobody_needs_leaves_alone_what_a_run_may_hold() {
    let fake =
        Fake::start(|request| if request.path.ends_with("/login") { revocable() } else { Act::json(200, &json!({})) });
    for (deliver, revoked) in [("token", 0), ("bridge", 1)] {
        let mut user = User::move_in();
        user.token(&random::secret("subject"));
        let route = host("vault", &format!("deliver = \"{deliver}\""));
        let vault = vault::token(&fake.address(), "");
        user.settings(format!("[agent]\nidle_exit = \"1s\"\n\n{JOB}{vault}{route}"));
        let _answer = user.bearer();
        let agent = user.home.agent().pid;
        assert!(ends_within(agent, Duration::from_secs(15)), "it stays");
        assert_eq!(fake.count("/revoke-self"), revoked, "{deliver}");
        user.check();
    }
}
