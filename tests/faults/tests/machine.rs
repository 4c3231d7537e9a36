//! The machine around us: sockets of others, directories that are open, missing, full of rights or read-only, and agents
//! that hang, die, or speak another version.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test arranges the machine by hand, and fails by panicking"
)]

use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use credmint_faults::fake_agent::{Act, FakeAgent, private_directory};
use credmint_faults::other_user::Somebody;
use credmint_faults::{
    FOREIGN, HELPER, HOST, INTERNAL, PASS_ON, REFUSED, SETTINGS, UNREACHABLE, USAGE, User, is_a_failure,
};
use credmint_test_kit::home::executable;
use credmint_test_kit::{Output, processes};

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("its rights");
}

fn socket_directory(user: &User) -> PathBuf {
    user.home.runtime_directory().join("credmint")
}

/// Asks with one variable set.
fn get_with(user: &User, name: &str, value: impl Into<std::ffi::OsString>) -> Output {
    user.helper(&["get", HOST]).env(name, value).output()
}

/// A foreign host needs no healthy agent, whatever is wrong with ours.
/// Asks for a host that nobody configured; gives how long that took.
fn foreign_hosts_do_not_care(user: &User) -> Duration {
    let output = user.helper(&["get", FOREIGN]).output().success();
    assert_eq!(output.stdout, "{}\n");
    output.took
}

/// hashicorp/vault-class fault: who owns the socket gets the secret.
#[test]
fn an_agent_of_another_user_is_not_spoken_to() {
    let user = User::with_a_route_that_works();
    let Some(other) = Somebody::moves_in() else { return };
    // The other user's real agent, on a socket in our directory: as if it had been there first.
    other.settings(PASS_ON);
    other.write("home/token", "a-token-of-somebody-else", 0o600);
    other.get().success();
    let theirs = other.home().sockets().remove(0);
    private_directory(&socket_directory(&user));
    let path = socket_directory(&user).join("agent.sock");
    std::fs::rename(&theirs, &path).expect("their socket in our place");
    user.stops(&["another user", "65534", "CREDMINT_SOCKET"]);
    foreign_hosts_do_not_care(&user);
    std::fs::remove_file(&path).expect("their socket");
    user.succeeds();
    user.check();
}

#[test]
fn an_agent_speaks_to_nobody_but_its_user() {
    let user = User::with_a_route_that_works();
    let Some(other) = Somebody::moves_in() else { return };
    user.succeeds();
    // Their helper, let in to our socket by root's mistake with the rights.
    let path = user.home.sockets().remove(0);
    for directory in [user.home.root().to_owned(), user.home.runtime_directory(), socket_directory(&user)] {
        mode(&directory, 0o711);
    }
    mode(&path, 0o666);
    let script = r#"socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, sockaddr_un($ARGV[0])) or die "no connection"; alarm 5;
        $SIG{PIPE} = "IGNORE"; syswrite S, pack("N/a*", '{"version":1,"ask":"status"}'); sysread S, $b, 9; print "got:$b";"#;
    let output = other.run("perl", &["-MSocket", "-e", script, &path.display().to_string()]).output().success();
    assert_eq!(output.stdout, "got:", "a stranger gets nothing: {}", output.stderr);
    mode(&socket_directory(&user), 0o700);
    user.succeeds();
    user.check();
}

#[test]
fn a_socket_path_that_is_too_long_is_told() {
    let user = User::with_a_route_that_works();
    let long = user.home.root().join("x".repeat(120));
    private_directory(&long);
    let output = get_with(&user, "CREDMINT_SOCKET", long.join("agent.sock"));
    is_a_failure(&output, SETTINGS, &[HOST, "too long", "CREDMINT_SOCKET"]);
    let output = get_with(&user, "XDG_RUNTIME_DIR", &long);
    is_a_failure(&output, SETTINGS, &[HOST, "too long", "XDG_RUNTIME_DIR"]);
    user.succeeds();
    user.check();
}

#[test]
fn a_socket_path_that_is_none_is_told() {
    let user = User::with_a_route_that_works();
    for wrong in ["agent.sock", "/", "./run/agent.sock"] {
        let output = get_with(&user, "CREDMINT_SOCKET", wrong);
        is_a_failure(&output, SETTINGS, &[HOST, "CREDMINT_SOCKET"]);
    }
    user.succeeds();
    user.check();
}

#[test]
fn a_socket_directory_that_others_can_enter_is_refused() {
    let user = User::with_a_route_that_works();
    let directory = socket_directory(&user);
    private_directory(&directory);
    for open in [0o770, 0o707, 0o701, 0o777] {
        mode(&directory, open);
        user.stops(&["open to other users", "0700"]);
        foreign_hosts_do_not_care(&user);
    }
    mode(&directory, 0o700);
    user.succeeds();
    user.check();
}

#[test]
fn a_socket_directory_that_is_a_link_or_a_file_is_refused() {
    let user = User::with_a_route_that_works();
    let directory = socket_directory(&user);
    let elsewhere = user.home.make_directory("elsewhere");
    mode(&elsewhere, 0o700);
    symlink(&elsewhere, &directory).expect("a link");
    user.stops(&["is no directory", "CREDMINT_SOCKET"]);
    assert!(std::fs::read_dir(&elsewhere).expect("it").next().is_none(), "nothing may appear behind the link");
    std::fs::remove_file(&directory).expect("the link");
    std::fs::write(&directory, "").expect("a file");
    user.stops(&["is no directory"]);
    std::fs::remove_file(&directory).expect("the file");
    user.succeeds();
    user.check();
}

#[test]
fn a_socket_directory_of_another_user_is_refused() {
    let user = User::with_a_route_that_works();
    let Some(_) = Somebody::moves_in() else { return };
    let directory = socket_directory(&user);
    private_directory(&directory);
    std::os::unix::fs::chown(&directory, Some(65_534), Some(65_534)).expect("another owner");
    user.stops(&["another user", "CREDMINT_SOCKET"]);
    std::fs::remove_dir(&directory).expect("it");
    user.succeeds();
    user.check();
}

#[test]
fn a_file_in_the_place_of_the_socket_is_not_touched() {
    let user = User::with_a_route_that_works();
    private_directory(&socket_directory(&user));
    let path = socket_directory(&user).join("agent.sock");
    std::fs::write(&path, "mine").expect("a file");
    let output = user.get();
    assert!(matches!(output.code, Some(SETTINGS | UNREACHABLE)), "{}", output.stderr);
    is_a_failure(&output, output.code.expect("a code"), &[HOST]);
    assert_eq!(std::fs::read_to_string(&path).expect("the file"), "mine");
    std::fs::remove_file(&path).expect("the file");
    user.succeeds();
    user.check();
}

#[test]
fn a_socket_that_a_dead_agent_left_behind_is_replaced() {
    let user = User::with_a_route_that_works();
    private_directory(&socket_directory(&user));
    drop(UnixListener::bind(socket_directory(&user).join("agent.sock")).expect("a stale socket"));
    user.succeeds();
    let agent = user.home.agent();
    processes::signal(agent.pid, processes::Signal::KILL);
    assert!(processes::wait_for_end(agent.pid, Duration::from_secs(5)));
    user.succeeds();
    user.check();
}

#[test]
fn a_read_only_home_loses_nothing_but_the_last_failure() {
    // Root may write everywhere: the test is run as somebody else.
    let Some(other) = Somebody::moves_in() else { return };
    other.settings(PASS_ON);
    other.write("home/token", "a-token-of-somebody-else", 0o600);
    mode(&other.home().path(), 0o555);
    other.get().success();
    std::fs::remove_file(other.home().path().join("token")).expect("the token");
    is_a_failure(&other.get(), REFUSED, &[HOST, "token is not there"]);
    assert!(!other.home().path().join(".local").exists());
    mode(&other.home().path(), 0o700);
    other.write("home/token", "a-token-of-somebody-else", 0o600);
    other.get().success();
}

#[test]
fn no_home_at_all_is_told_where_one_is_needed() {
    let user = User::with_a_route_that_works();
    let file = user.home.path().join(".config/credmint/config.toml");
    // Nothing says where settings are: nothing is configured, and nothing is started.
    let without = |name: &str| user.helper(&["get", HOST]).without_env("HOME").env("CREDMINT_CONFIG", name).output();
    let nothing = user.helper(&["get", HOST]).without_env("HOME").output().success();
    assert_eq!(nothing.stdout, "{}\n");
    assert!(user.home.agents().is_empty());
    // The settings are named, but their `~/token` is nowhere.
    let output = without(&file.display().to_string());
    is_a_failure(&output, SETTINGS, &[HOST, "token", "home"]);
    // With absolute paths a home is not needed.
    let absolute = PASS_ON.replace("~/token", &user.home.path().join("token").display().to_string());
    user.settings(absolute);
    without(&file.display().to_string()).success();
    user.settings(PASS_ON);
    user.succeeds();
    user.check();
}

#[test]
fn without_a_runtime_directory_the_socket_is_in_a_private_place() {
    let mut user = User::with_a_route_that_works();
    user.home.unset("XDG_RUNTIME_DIR");
    user.succeeds();
    let uid = std::fs::metadata(user.home.path()).map(|data| std::os::unix::fs::MetadataExt::uid(&data)).expect("ours");
    let directory = user.home.root().join(format!("tmp/credmint-{uid}"));
    if directory.exists() {
        let rights = std::fs::metadata(&directory).expect("it").permissions().mode() & 0o777;
        assert_eq!(rights, 0o700);
    }
    for wrong in ["/no/such/directory", "relative"] {
        user.home.set("XDG_RUNTIME_DIR", wrong);
        user.succeeds();
    }
    user.home.run("credmint").args(["agent", "stop"]).output().success();
    user.home.set("XDG_RUNTIME_DIR", user.home.runtime_directory());
    user.check();
}

#[test]
fn an_agent_that_is_missing_is_told_with_where_it_should_be() {
    let user = User::with_a_route_that_works();
    let alone = user.home.make_directory("bin").join(HELPER);
    std::fs::copy(executable(HELPER), &alone).expect("a copy of the helper");
    let get = |name: &str, value: &str| {
        user.home.run(&alone).args(["get", HOST]).env(name, value).env("PATH", "/no/such/directory").answer().output()
    };
    is_a_failure(&get("X", "x"), SETTINGS, &[HOST, "credmint-agent", "CREDMINT_AGENT_PROGRAM"]);
    is_a_failure(&get("CREDMINT_AGENT", "once"), SETTINGS, &[HOST, "credmint-agent"]);
    is_a_failure(&get("CREDMINT_AGENT_PROGRAM", "/no/such/agent"), SETTINGS, &[HOST, "CREDMINT_AGENT_PROGRAM"]);
    let file = user.home.write("no-program", "no program");
    is_a_failure(&get("CREDMINT_AGENT_PROGRAM", &file.display().to_string()), SETTINGS, &[HOST, "executable"]);
    mode(&file, 0o700);
    let output = get("CREDMINT_AGENT_PROGRAM", &file.display().to_string());
    is_a_failure(&output, output.code.expect("a code"), &[HOST]);
    let agent = executable("credmint-agent").display().to_string();
    assert_eq!(get("CREDMINT_AGENT_PROGRAM", &agent).code, Some(0));
    user.check();
}

#[test]
fn an_agent_program_that_ends_hangs_or_talks_is_told() {
    let user = User::with_a_route_that_works();
    let program = user.home.write("agent", "");
    let run = |text: &str, mode_of_agent: &str| {
        std::fs::write(&program, format!("#!/bin/sh\n{text}\n")).expect("the program");
        mode(&program, 0o700);
        let run = user.helper(&["get", HOST]).env("CREDMINT_AGENT_PROGRAM", &program);
        run.env("CREDMINT_AGENT", mode_of_agent).output()
    };
    is_a_failure(&run("exit 3", "auto"), UNREACHABLE, &[HOST, "ended as soon as", "3"]);
    is_a_failure(&run("exit 0", "auto"), UNREACHABLE, &[HOST]);
    is_a_failure(&run("exec sleep 20", "auto"), UNREACHABLE, &[HOST, "does not answer"]);
    is_a_failure(&run("exit 3", "once"), UNREACHABLE, &[HOST, "ended before it answered"]);
    is_a_failure(&run("exec sleep 20", "once"), UNREACHABLE, &[HOST, "did not answer in time"]);
    is_a_failure(&run("head -c 4 >&2; echo this is no frame; cat >&2", "once"), INTERNAL, &[HOST, "not understood"]);
    is_a_failure(&run("exec cat", "once"), INTERNAL, &[HOST]);
    is_a_failure(&run("exit 0", "never"), SETTINGS, &[HOST, "CREDMINT_AGENT"]);
    // What hangs was started by a script of this test.
    user.home.processes().iter().for_each(|process| processes::end(process.pid));
    user.succeeds();
    user.check();
}

#[test]
fn an_agent_of_another_version_is_told() {
    let user = User::with_a_route_that_works();
    let failure = r#"{"reply":"failure","kind":"usage","what":"the agent speaks version 2 of the agent protocol","hint":"credmint agent stop"}"#;
    for (act, status, word) in [
        (Act::Reply(failure.into()), USAGE, "version 2"),
        (Act::Reply(r#"{"reply":"poem","lines":3}"#.into()), INTERNAL, "not understood"),
        (Act::Reply(r#"{"reply":"done"}"#.into()), INTERNAL, "not understood"),
        (Act::Reply("[]".into()), INTERNAL, "not understood"),
        (Act::Reply(r#"{"reply":"credential"}"#.into()), INTERNAL, ""),
        (Act::Reply(r#"{"reply":"credential","token":"with a\nline end"}"#.into()), INTERNAL, ""),
        (Act::Bytes(vec![0xff; 64]), INTERNAL, "not understood"),
        (Act::Bytes(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()), INTERNAL, "not understood"),
    ] {
        let agent = FakeAgent::of(&user.home, act);
        user.fails_for_all(status, &[word]);
        assert_eq!(agent.count(), 1, "it is asked once");
        // One that hands out a credential for whatever host is no agent of ours, and its word is taken.
        if status != INTERNAL || word == "not understood" {
            foreign_hosts_do_not_care(&user);
        }
    }
    user.succeeds();
    user.check();
}

#[test]
fn the_real_agent_tells_callers_of_another_version() {
    let user = User::with_a_route_that_works();
    user.succeeds();
    let socket = user.home.sockets().remove(0);
    let ask = |message: &str| {
        use std::io::{Read, Write};
        let mut stream = std::os::unix::net::UnixStream::connect(&socket).expect("the agent");
        stream.set_read_timeout(Some(Duration::from_secs(8))).expect("a limit");
        let length = u32::try_from(message.len()).expect("short").to_be_bytes();
        // An agent that sees too long a frame hangs up before it has come.
        let _ = stream.write_all(&[&length, message.as_bytes()].concat());
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all);
        String::from_utf8_lossy(&all).into_owned()
    };
    let answer = ask(r#"{"version":9,"ask":"get","hostname":"registry.corp.example"}"#);
    assert!(answer.contains("version 1") && answer.contains("version 9") && answer.contains("agent stop"), "{answer}");
    let answer = ask(r#"{"version":1,"ask":"dance"}"#);
    assert!(answer.contains("does not know this request"), "{answer}");
    for nonsense in
        ["", "{}", "[]", "null", "{\"version\":1}", "{\"version\":\"1\",\"ask\":\"get\"}", &"x".repeat(90_000)]
    {
        assert!(!ask(nonsense).contains("token"), "{nonsense:.40}");
    }
    let answer = ask(r#"{"version":1,"ask":"get","hostname":"registry.corp.example\nhost=evil"}"#);
    assert!(answer.contains("control character"), "{answer}");
    user.succeeds();
    user.check();
}

#[test]
fn an_agent_that_hangs_ends_with_the_deadline() {
    let user = User::with_a_route_that_works();
    let agent = FakeAgent::of(&user.home, Act::Hang);
    user.fails(UNREACHABLE, &["did not answer in time"]);
    assert_eq!(agent.count(), 1, "one that hangs is not asked again");
    // Terraform asks for others, too: those ask no agent, and wait for none.
    assert!(foreign_hosts_do_not_care(&user) < Duration::from_secs(5), "a foreign host waited for the agent");
    drop(agent);
    user.succeeds();
    user.check();
}

#[test]
fn an_agent_that_takes_nobody_ends_with_the_deadline() {
    let user = User::with_a_route_that_works();
    user.succeeds();
    let agent = user.home.agent();
    processes::signal(agent.pid, processes::Signal::STOP);
    user.fails(UNREACHABLE, &["did not answer in time"]);
    processes::signal(agent.pid, processes::Signal::CONT);
    user.succeeds();
    user.check();
}

#[test]
fn an_agent_that_dies_is_asked_once_more_and_then_given_up() {
    let user = User::with_a_route_that_works();
    let agent = FakeAgent::of(&user.home, Act::Close);
    let output = user.fails(UNREACHABLE, &["ended before it answered"]);
    assert!(output.took < Duration::from_secs(2), "it took {:?}", output.took);
    assert_eq!(agent.count(), 2, "once more, and not over and over");
    assert!(agent.requests().iter().all(|request| request.contains(HOST)));
    // An agent of another build makes way once. The one that comes then may be of that build, too: it must serve, not make way.
    let says_build: Vec<bool> = agent.requests().iter().map(|request| request.contains("\"build\":")).collect();
    assert_eq!(says_build, [true, false]);
    foreign_hosts_do_not_care(&user);
    drop(agent);
    user.succeeds();
    user.check();
}

#[test]
fn an_agent_that_is_killed_while_it_works_is_replaced() {
    let mut user = User::move_in();
    let first = credmint_faults::fake::Fake::always(credmint_faults::fake::Act::Silence);
    user.token(&credmint_test_kit::random::secret("subject"));
    let vault = credmint_faults::vault::token(&first.address(), "");
    user.settings(credmint_faults::JOB.to_owned() + &vault + &credmint_faults::host("vault", ""));
    let running = user.helper(&["get", HOST]).start();
    while first.received().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let agent = user.home.agent();
    first.then(|_| credmint_faults::vault::login());
    processes::signal(agent.pid, processes::Signal::KILL);
    let output = running.output().success();
    assert!(output.json()["token"].is_string(), "another agent answered the same get");
    assert_ne!(user.home.agent().pid, agent.pid);
    user.check();
}
