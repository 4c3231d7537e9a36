//! The rivals: `git credential-cache` and `oidc-token`, each with its secret in its own agent's memory.
//! A home comes in, cases that get a cached secret go out.
//! `oidc-agent` gets its token from a stand-in of the OpenID Provider: the real one is not part of a cached read.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use credmint_test_kit::home::Home;

use crate::measure::Case;

/// Agents that run.
pub(crate) struct Rivals {
    home: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    oidc_socket: String,
    oidc_pid: String,
}

impl Rivals {
    /// Starts both agents and gives each a secret.
    pub(crate) fn start(home: &Home) -> Self {
        let mut rivals = Self {
            home: home.environment().iter().map(|(n, v)| (n.clone(), v.clone())).collect(),
            oidc_socket: String::new(),
            oidc_pid: String::new(),
        };
        let secret = "protocol=https\nhost=token.corp.example\nusername=u\npassword=p\n\n";
        rivals.run(rivals.command("git").args(["credential-cache", "--timeout=3600", "store"]), secret);
        let issuer = provider();
        let agent = rivals.run(&mut rivals.command("oidc-agent"), "");
        let value = |name: &str| {
            let line = agent.split(';').find_map(|part| part.trim().strip_prefix(name)).unwrap_or_default();
            line.trim_start_matches('=').to_owned()
        };
        rivals.oidc_socket = value("OIDC_SOCK");
        rivals.oidc_pid = value("OIDCD_PID");
        let account = [
            "--client-id=bench",
            "--client-secret=",
            "--rt=r",
            "--no-save",
            "-m",
            "--prompt=none",
            "--confirm-default",
            "--pw-cmd=echo x",
            "--scope=openid offline_access",
            "bench",
        ];
        rivals.run(rivals.command("oidc-gen").arg(format!("--iss={issuer}")).args(account), "\n");
        rivals
    }

    /// `git credential-cache get`.
    pub(crate) fn git(&self, home: &Home) -> Case {
        Case::new("git credential-cache get", home, Path::new("git"), &["credential-cache", "get"])
            .fed("protocol=https\nhost=token.corp.example\n\n")
    }

    /// `oidc-token`.
    pub(crate) fn oidc_token(&self, home: &Home) -> Case {
        Case::new("oidc-token", home, Path::new("oidc-token"), &["bench"]).with("OIDC_SOCK", &self.oidc_socket)
    }

    /// Ends both agents.
    pub(crate) fn stop(&mut self) {
        self.run(self.command("git").args(["credential-cache", "exit"]), "");
        self.run(self.command("oidc-agent").arg("-k"), "");
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.env_clear().envs(self.home.iter().cloned());
        command.env("OIDC_SOCK", &self.oidc_socket).env("OIDCD_PID", &self.oidc_pid);
        command
    }

    fn run(&self, command: &mut Command, input: &str) -> String {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("input");
        let mut text = String::new();
        child.stdout.take().expect("a pipe").read_to_string(&mut text).expect("text");
        assert!(child.wait().expect("a child").success(), "{command:?}");
        text
    }
}

/// Answers discovery and refresh as an OpenID Provider would, until the bench ends.
fn provider() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let issuer = format!("http://{}", listener.local_addr().expect("an address"));
    let own = issuer.clone();
    thread::spawn(move || {
        for mut stream in listener.incoming().take(64).flatten() {
            let mut request = [0; 8192];
            let count = stream.read(&mut request).unwrap_or_default();
            let discovery = request.get(..count).is_some_and(|bytes| bytes.starts_with(b"GET"));
            let body = if discovery { metadata(&own) } else { token() };
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n";
            let _ = write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len());
        }
    });
    issuer
}

fn metadata(issuer: &str) -> String {
    serde_json::json!({
        "issuer": issuer, "authorization_endpoint": format!("{issuer}/a"), "token_endpoint": format!("{issuer}/token"),
        "jwks_uri": format!("{issuer}/jwks"), "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "scopes_supported": ["openid", "offline_access"],
    })
    .to_string()
}

fn token() -> String {
    let token = crate::settings::token();
    serde_json::json!({ "access_token": token, "token_type": "Bearer", "expires_in": 3600, "refresh_token": "r" })
        .to_string()
}
