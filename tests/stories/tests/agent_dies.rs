//! The agent dies: between two runs, with its socket left behind, and in the middle of a request.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::time::Duration;

use credmint_stories::{Company, HOST, User, file_identity, terraform, wait_until};
use credmint_test_kit::processes::{self, is_connected, signal, wait_for_end};
use rustix::process::Signal;

fn user_of(company: &Company) -> User {
    let mut user = User::move_in();
    user.setup(company.registry.address());
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    user.settings(&(file_identity(&token) + &company.issuer() + &company.host("job", "")));
    user
}

fn kill(pid: u32) {
    signal(pid, Signal::KILL);
    assert!(wait_for_end(pid, Duration::from_secs(5)));
}

#[test]
fn an_agent_killed_between_two_runs_is_replaced_on_the_same_port() {
    let Some(terraform) = terraform() else { return };
    let company = Company::found();
    let user = user_of(&company);

    // 1. A run, and the end of its agent without a chance to tidy up: the socket's file stays.
    terraform.init(&user.home, &user.work).success();
    let first = user.home.agent().pid;
    kill(first);
    assert_eq!((user.home.agents().len(), user.home.sockets().len()), (0, 1));
    // 2. The next run starts another, which mints anew and listens where the `host` block leads.
    terraform.init(&user.home, &user.work).success();
    let second = user.home.agent().pid;
    assert!(second != first && processes::listens(second, user.port));
    assert_eq!(company.pki.minted(), 2);
    // 3. Six at once after another death still make one agent and one certificate.
    kill(second);
    let running: Vec<_> = (0..6).map(|_| user.get().start()).collect();
    running.into_iter().for_each(|running| drop(running.output().success()));
    assert_eq!((user.home.agents().len(), company.pki.minted()), (1, 3));
    user.canary.check(&user.home);
}

#[test]
fn a_stale_socket_file_is_no_agent() {
    let company = Company::found();
    let user = user_of(&company);

    // 1. A socket that nobody listens on, as a machine that lost its power leaves it.
    let directory = user.home.runtime_directory().join("credmint");
    std::fs::create_dir(&directory).expect("a directory");
    std::fs::set_permissions(&directory, Permissions::from_mode(0o700)).expect("a private one");
    drop(UnixListener::bind(directory.join("agent.sock")).expect("a socket"));
    // 2. Status and `forget` see that nobody is there; `get` starts an agent in its place.
    assert!(user.credmint(&["status"]).stdout.contains("not running"));
    user.home.run("terraform-credentials-credmint").args(["forget", HOST]).output().success();
    assert!(user.home.agents().is_empty());
    assert!(!user.got("token").is_empty());
    assert_eq!(user.home.sockets(), [directory.join("agent.sock")]);
    user.canary.check(&user.home);
}

#[test]
fn an_agent_that_dies_during_a_get_is_asked_again_in_the_person_of_another() {
    let company = Company::found();
    let user = user_of(&company);
    let port = company.bao.address().rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");

    // 1. OpenBao takes the connection and says nothing; the agent waits for it.
    company.bao.freeze();
    let running = user.get().start();
    wait_until("the agent talks to OpenBao", || user.home.agents().iter().any(|agent| is_connected(agent.pid, port)));
    // 2. The agent dies, OpenBao goes on.
    kill(user.home.agent().pid);
    company.bao.go_on();
    // 3. The helper asks once more, of an agent that it starts, and Terraform never hears of it.
    assert!(running.output().success().json()["token"].is_string());
    user.home.agent();
    user.canary.check(&user.home);
}
