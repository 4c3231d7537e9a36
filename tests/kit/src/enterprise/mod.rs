//! A Terraform Enterprise in the small, for `cloud` and `remote`: it fakes organisation, workspace, uploads, one run with its
//! log, and the state, because the real one is not to be had.
//!
//! Requests come in over plain http on loopback, where an nginx with client certificates is put in front; JSON:API documents
//! go out, whose addresses of logs, uploads and states are absolute ones of the host, as those of the real one are.

mod documents;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

/// The one organisation.
pub const ORGANISATION: &str = "corp";
/// Its one workspace.
pub const WORKSPACE: &str = "network";
/// A line of the log of every run.
pub const LOGGED: &str = "Plan: 7 to add, 0 to change, 0 to destroy.";

/// The running server.
pub struct Enterprise {
    port: u16,
    seen: Arc<Mutex<Seen>>,
}

/// One request, as it arrived.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// The method.
    pub method: String,
    /// The path, with its query.
    pub path: String,
    /// The `Authorization` header field.
    pub authorization: String,
    /// The status of the answer.
    pub status: u16,
    /// How long the body was.
    pub length: usize,
    body: Vec<u8>,
}

#[derive(Default)]
struct Seen {
    asked: Vec<Asked>,
    /// The configuration of the run has arrived.
    uploaded: bool,
    /// The state, once there is one.
    state: Option<Vec<u8>>,
    locked: bool,
    local: bool,
}

impl Enterprise {
    /// Starts one that runs plans itself.
    pub fn start() -> Self {
        Self::serve(Seen::default())
    }

    /// Starts one that keeps the state alone: runs happen at the client.
    pub fn of_states() -> Self {
        Self::serve(Seen { local: true, ..Seen::default() })
    }

    fn serve(seen: Seen) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its number").port();
        let seen = Arc::new(Mutex::new(seen));
        let shared = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || visit(stream, &shared));
            }
        });
        Self { port, seen }
    }

    /// Gives the lines that put an nginx in front of it.
    pub fn nginx(&self) -> String {
        let to = format!("proxy_pass http://127.0.0.1:{}; client_max_body_size 64m; proxy_buffering off;", self.port);
        format!("location /api/v2/ {{ {to} }}\nlocation /_archivist/ {{ {to} }}\n")
    }

    /// Lists what was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        lock(&self.seen).asked.clone()
    }

    /// Lists what it has no answer to.
    pub fn missing(&self) -> Vec<String> {
        let missing = self.asked().into_iter().filter(|one| one.status == 404);
        missing.map(|one| format!("{} {}", one.method, one.path)).collect()
    }

    /// Gives the state that it keeps.
    pub fn state(&self) -> Option<String> {
        lock(&self.seen).state.clone().map(|state| String::from_utf8_lossy(&state).into_owned())
    }
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn visit(stream: TcpStream, seen: &Mutex<Seen>) {
    let mut stream = BufReader::new(stream);
    let Some(mut asked) = read(&mut stream) else { return };
    let (status, kind, body) = documents::answer(&asked, &mut lock(seen));
    asked.status = status;
    asked.body.clear();
    lock(seen).asked.push(asked);
    let length = if status == 204 { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
    let head = format!(
        "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Type: {kind}\r\nTFP-API-Version: 2.6\r\n\
         X-RateLimit-Limit: 30\r\n{length}\r\n"
    );
    // The client may have gone away.
    drop(stream.get_mut().write_all(&[head.as_bytes(), &body].concat()));
}

fn read(stream: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut line = String::new();
    stream.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut words = line.split_whitespace().map(ToOwned::to_owned);
    let mut asked = Asked { method: words.next()?, path: words.next()?, ..Asked::default() };
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "authorization" => value.clone_into(&mut asked.authorization),
            "content-length" => asked.length = value.parse().ok()?,
            _ => {}
        }
    }
    asked.body = vec![0; asked.length];
    stream.read_exact(&mut asked.body).ok()?;
    Some(asked)
}
