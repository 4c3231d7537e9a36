//! `credmint login`, `logout` and `needs-login` against a stand-in for the agent, which says what a real one cannot be
//! made to say at will. What the real one does with a real OpenID Provider is in `tests/stories`.
#![cfg(unix)]
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    reason = "a test runs the program, looks at its files and fails by panicking"
)]

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use credmint_agent_protocol::{
    Approve, Ask, FailureOnWire, Frame, Pasted, Reply, Request, SessionStatus, Status, Visit, decode, decode_length,
};
use serde::de::DeserializeOwned;

const URL: &str = "https://id.corp.example/auth?client_id=terraform&scope=openid%20email&state=x";

/// An empty home with settings for one person, and a socket; gone at the end.
struct Home(PathBuf);

impl Home {
    fn new(name: &str) -> Self {
        let home = std::env::temp_dir().join(format!("credmint-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&home));
        fs::create_dir_all(&home).expect("made");
        fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).expect("private");
        let browser = home.join("browser");
        fs::write(&browser, format!("#!/bin/sh\nprintf '%s|' \"$#\" \"$@\" > {}\n", home.join("opened").display()))
            .expect("written");
        fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).expect("executable");
        let home = Self(home);
        home.settings(&format!("browser = [\"{}\", \"--new\"]\n", browser.display()));
        home
    }

    fn settings(&self, more: &str) {
        let person =
            "[identity.me]\nkind = \"oidc\"\nissuer = \"https://id.corp.example\"\nclient_id = \"terraform\"\n";
        fs::write(self.0.join("config.toml"), format!("{person}{more}")).expect("written");
    }

    /// Serves as many connections as there are parts to play.
    fn agent(&self, parts: Vec<fn(&mut Peer)>) -> JoinHandle<()> {
        let listener = UnixListener::bind(self.0.join("agent.sock")).expect("listens");
        thread::spawn(move || {
            for part in parts {
                part(&mut Peer(listener.accept().expect("a caller").0));
            }
        })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_credmint"));
        command.args(arguments).env_clear().env("HOME", &self.0).env("PATH", "/usr/bin:/bin");
        command.env("CREDMINT_CONFIG", self.0.join("config.toml")).env("CREDMINT_SOCKET", self.0.join("agent.sock"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str]) -> Said {
        Said::of(self.command(arguments).output().expect("runs"))
    }

    fn opened(&self) -> Option<String> {
        fs::read_to_string(self.0.join("opened")).ok()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

#[derive(Debug)]
struct Said {
    out: String,
    err: String,
    code: Option<i32>,
}

impl Said {
    fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Self { out: text(output.stdout), err: text(output.stderr), code: output.status.code() }
    }
}

/// The caller, as the agent sees it.
struct Peer(UnixStream);

impl Peer {
    fn receive<M: DeserializeOwned>(&mut self) -> M {
        let mut head = [0; 4];
        self.0.read_exact(&mut head).expect("a frame");
        let mut json = vec![0; decode_length(head).expect("a length")];
        self.0.read_exact(&mut json).expect("the whole frame");
        decode(&json).expect("a message")
    }

    fn asked_to_sign_in(&mut self, flow: &str) {
        let Ask::Login(login) = self.receive::<Request>().ask else { panic!("no login") };
        assert_eq!((login.identity.as_str(), login.flow.as_str()), ("me", flow));
        assert!(login.settings.is_some_and(|path| path.ends_with("config.toml")));
    }

    fn say(&mut self, reply: &Reply) {
        self.0.write_all(Frame::encode(reply).expect("encodes").bytes()).expect("the caller is there");
    }

    fn is_gone(&mut self) -> bool {
        self.0.set_read_timeout(Some(Duration::from_secs(10))).expect("set");
        matches!(self.0.read(&mut [0]), Ok(0))
    }
}

fn session() -> SessionStatus {
    let (identity, issuer) = ("me".into(), "https://id.corp.example".into());
    SessionStatus { identity, issuer, subject: Some("ada@corp.example".into()), ..SessionStatus::default() }
}

fn visit(paste: bool) -> Reply {
    Reply::Visit(Visit { url: URL.into(), who: "id.corp.example".into(), expires_in_seconds: 60, paste })
}

#[test]
fn the_settings_browser_gets_the_address_as_one_argument() {
    let home = Home::new("browser");
    let agent = home.agent(vec![|peer| {
        peer.asked_to_sign_in("browser");
        peer.say(&Reply::Waiting);
        peer.say(&visit(false));
        thread::sleep(Duration::from_millis(300));
        peer.say(&Reply::SignedIn(session()));
    }]);
    let said = home.run(&["login"]);
    agent.join().expect("played");
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(said.out, "Signed in as ada@corp.example at https://id.corp.example.\n");
    assert!(said.err.contains(&format!("\n{URL}\n")) && said.err.contains("Waiting for the browser"), "{said:?}");
    assert_eq!(home.opened(), Some(format!("2|--new|{URL}|")));
}

#[test]
fn json_is_one_object_and_the_rest_is_on_standard_error() {
    let home = Home::new("json");
    let agent = home.agent(vec![|peer| {
        peer.asked_to_sign_in("browser");
        peer.say(&visit(false));
        peer.say(&Reply::SignedIn(session()));
    }]);
    let said = home.run(&["login", "--no-browser", "--json"]);
    agent.join().expect("played");
    let object: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!(object.pointer("/subject").and_then(serde_json::Value::as_str), Some("ada@corp.example"));
    assert!(said.err.contains(URL) && home.opened().is_none(), "{said:?}");
}

/// Known cases: smallstep/cli#132, #293 (no browser on a remote host); hashicorp/vault#15421.
#[test]
fn over_ssh_a_code_is_shown_and_no_browser_opened_smallstep_cli_132() {
    let home = Home::new("ssh");
    let agent = home.agent(vec![|peer| {
        peer.asked_to_sign_in("device");
        peer.say(&Reply::Approve(Approve {
            user_code: "WDJB-MJHT".into(),
            verification_uri: "https://id.corp.example/device".into(),
            expires_in_seconds: 60,
            ..Approve::default()
        }));
        peer.say(&Reply::SignedIn(session()));
    }]);
    let mut command = home.command(&["login", "me"]);
    command.env("SSH_CONNECTION", "192.0.2.1 5 192.0.2.2 22").env("BROWSER", home.0.join("browser"));
    let said = Said::of(command.output().expect("runs"));
    agent.join().expect("played");
    assert_eq!((said.code, home.opened()), (Some(0), None), "{said:?}");
    assert!(said.err.starts_with("Signing in with a code, because this session came over ssh."), "{said:?}");
    assert!(said.err.contains("\n    WDJB-MJHT\n") && said.err.contains("Nobody else should have sent you"));
}

fn type_into(mut command: Command, text: &str) -> Said {
    let mut child = command.stdin(Stdio::piped()).spawn().expect("runs");
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("typed");
    Said::of(child.wait_with_output().expect("ends"))
}

#[test]
fn a_pasted_address_goes_to_the_agent_and_is_shown_nowhere() {
    let home = Home::new("paste");
    let agent = home.agent(vec![|peer| {
        peer.asked_to_sign_in("paste");
        peer.say(&visit(true));
        assert!(peer.receive::<Pasted>().url.secret().same_as(b"http://127.0.0.1/?code=wrong"));
        peer.say(&Reply::Again { why: "the state is another".into() });
        assert!(peer.receive::<Pasted>().url.secret().same_as(b"http://127.0.0.1/?code=c0de&state=x"));
        peer.say(&Reply::SignedIn(session()));
    }]);
    let text = "\n  http://127.0.0.1/?code=wrong\r\n<http://127.0.0.1/?code=c0de&state=x>\n";
    let said = type_into(home.command(&["login", "--paste"]), text);
    agent.join().expect("played");
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.err.contains("not the address of this sign-in: the state is another"), "{said:?}");
    assert!(!format!("{said:?}").contains("code="), "{said:?}");
    assert_eq!(home.opened(), None);
}

#[test]
fn nothing_pasted_ends_the_sign_in() {
    let home = Home::new("nothing");
    let agent = home.agent(vec![|peer| {
        peer.asked_to_sign_in("paste");
        peer.say(&visit(true));
        assert!(peer.is_gone());
    }]);
    let said = home.run(&["login", "--paste"]);
    agent.join().expect("played");
    assert_eq!(said.code, Some(64));
    assert!(
        said.err.contains("no address was pasted") && said.err.contains("hint: credmint login --paste"),
        "{said:?}"
    );
}

#[test]
fn interrupting_leaves_nothing_for_the_agent_to_go_on_with() {
    let home = Home::new("interrupt");
    let agent = home.agent(vec![|peer| {
        peer.asked_to_sign_in("device");
        peer.say(&Reply::Approve(Approve { expires_in_seconds: 60, ..Approve::default() }));
        assert!(peer.is_gone());
    }]);
    let mut child: Child = home.command(&["login", "--device"]).spawn().expect("runs");
    let mut shown = [0; 32];
    child.stderr.as_mut().expect("a pipe").read_exact(&mut shown).expect("the code is shown");
    let kill = Command::new("/bin/kill").args(["-INT", &child.id().to_string()]).status().expect("runs");
    assert!(kill.success());
    let said = Said::of(child.wait_with_output().expect("ends"));
    agent.join().expect("the connection was closed");
    assert_eq!((said.code, said.out.as_str()), (None, ""));
}

#[test]
fn what_the_issuer_refuses_is_two_lines_and_status_77() {
    let home = Home::new("refused");
    let agent = home.agent(vec![|peer| {
        peer.asked_to_sign_in("browser");
        peer.say(&Reply::Failure(FailureOnWire {
            kind: "refused".into(),
            what: "me: id.corp.example refused the sign-in".into(),
            hint: Some("credmint login me".into()),
            usurped: false,
        }));
    }]);
    let said = home.run(&["login", "--no-browser"]);
    agent.join().expect("played");
    assert_eq!(said.code, Some(77));
    assert_eq!(said.err, "credmint: me: id.corp.example refused the sign-in\nhint: credmint login me\n");
}

#[test]
fn signing_out_says_what_was_revoked_and_what_was_not() {
    let home = Home::new("logout");
    assert_eq!(home.run(&["logout"]).out, "nobody is signed in: no agent is running\n");
    let agent = home.agent(vec![
        |peer| {
            let Ask::Logout(logout) = peer.receive::<Request>().ask else { panic!("no logout") };
            assert_eq!(logout.identity.as_deref(), Some("me"));
            let done = vec!["me: the refresh token is revoked at id.corp.example".into()];
            peer.say(&Reply::LoggedOut { done, failed: Vec::new(), remains: Vec::new() });
        },
        |peer| {
            let Ask::Logout(logout) = peer.receive::<Request>().ask else { panic!("no logout") };
            assert_eq!(logout.identity, None);
            let failed = vec!["me: the issuer cannot revoke".into()];
            peer.say(&Reply::LoggedOut { done: Vec::new(), failed, remains: Vec::new() });
        },
        |peer| {
            let Ask::Logout(_) = peer.receive::<Request>().ask else { panic!("no logout") };
            let (failed, remains) = (vec!["me: not revoked".into()], vec!["me: not deleted: it is locked".into()]);
            peer.say(&Reply::LoggedOut { done: Vec::new(), failed, remains });
        },
    ]);
    let said = home.run(&["logout"]);
    assert_eq!((said.code, said.out.as_str()), (Some(0), "me: the refresh token is revoked at id.corp.example\n"));
    // It works without settings that could be read.
    fs::write(home.0.join("config.toml"), "[identity").expect("written");
    let said = home.run(&["logout", "--all"]);
    assert_eq!(said.code, Some(69));
    assert!(said.err.contains("credmint: me: the issuer cannot revoke\nhint: revoke it"), "{said:?}");
    // What a locked store still has is not over.
    let said = home.run(&["logout", "--all"]);
    agent.join().expect("played");
    assert_eq!(said.code, Some(77));
    let told = "credmint: me: not deleted: it is locked; me: not revoked\nhint: then credmint logout --all: until then";
    assert!(said.err.contains(told), "{said:?}");
}

#[test]
fn the_exit_status_says_whether_somebody_has_to_sign_in() {
    let home = Home::new("needs");
    assert_eq!(home.run(&["needs-login"]).code, Some(0), "no agent");
    let agent = home.agent(vec![
        |peer| {
            drop(peer.receive::<Request>());
            peer.say(&Reply::Status(Status { sessions: vec![session()], ..Status::default() }));
        },
        |peer| {
            drop(peer.receive::<Request>());
            let over = SessionStatus { over: true, ..session() };
            peer.say(&Reply::Status(Status { sessions: vec![over], ..Status::default() }));
        },
    ]);
    let answers = [home.run(&["needs-login", "me"]), home.run(&["needs-login"])];
    agent.join().expect("played");
    assert_eq!(answers.each_ref().map(|said| said.code), [Some(1), Some(0)]);
    assert!(answers.iter().all(|said| said.out.is_empty() && said.err.is_empty()));
    assert_eq!(home.run(&["needs-login", "nobody"]).code, Some(64));
    fs::write(home.0.join("config.toml"), "").expect("written");
    assert_eq!(home.run(&["needs-login"]).code, Some(78));
}
