//! A git repository that is fetched by https: `git upload-pack`, the real one, over the smart protocol (gitprotocol-http).
//!
//! Files come in, the lines go out by which an nginx leads to it; it answers on loopback, without TLS and to everybody, until the test process ends.
//! Carries what git says and decides nothing: who is let in is nginx's to say.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use tempfile::TempDir;

use crate::arrived::Arrived;
use crate::peer;

/// A repository with one commit.
pub struct Repository {
    _directory: TempDir,
    port: u16,
}

impl Repository {
    /// Makes one with this file.
    pub fn with(name: &str, text: &str) -> Self {
        let directory = peer::directory();
        let source = directory.path().join("source");
        std::fs::create_dir(&source).expect("a directory");
        std::fs::write(source.join(name), text).expect("a file");
        for words in [&["init", "--quiet"][..], &["add", "."], &["commit", "--quiet", "-m", "one"]] {
            let status = git(&source).args(words).status().expect("git starts");
            assert!(status.success(), "git {words:?}");
        }
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a loopback port");
        let port = listener.local_addr().expect("its address").port();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let source = source.clone();
                thread::spawn(move || answer(stream, &source));
            }
        });
        Self { _directory: directory, port }
    }

    /// Gives the lines of a `location` that lead to it.
    pub fn nginx(&self) -> String {
        format!("proxy_pass http://127.0.0.1:{}; proxy_http_version 1.1;", self.port)
    }
}

fn git(directory: &Path) -> Command {
    let mut command = Command::new("git");
    let home = PathBuf::from("/nonexistent");
    command.current_dir(directory).env("HOME", home).env("GIT_CONFIG_NOSYSTEM", "1");
    command.args(["-c", "user.name=A", "-c", "user.email=a@corp.example", "-c", "init.defaultBranch=main"]);
    command
}

fn answer(mut stream: TcpStream, source: &Path) -> std::io::Result<()> {
    let arrived = Arrived::read(&stream)?;
    let is_first = arrived.method == "GET";
    let mut command = git(source);
    command.args(["upload-pack", "--stateless-rpc"]).args(is_first.then_some("--advertise-refs")).arg(".");
    command.env("GIT_PROTOCOL", arrived.header("git-protocol"));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    child.stdin.take().expect("its input").write_all(&arrived.body)?;
    let said = child.wait_with_output()?.stdout;
    let (kind, before) = match is_first {
        true => ("advertisement", &b"001e# service=git-upload-pack\n0000"[..]),
        false => ("result", &b""[..]),
    };
    let length = before.len() + said.len();
    let head =
        format!("Content-Type: application/x-git-upload-pack-{kind}\r\nCache-Control: no-cache\r\nConnection: close");
    write!(stream, "HTTP/1.1 200 OK\r\n{head}\r\nContent-Length: {length}\r\n\r\n")?;
    stream.write_all(before)?;
    stream.write_all(&said)
}
