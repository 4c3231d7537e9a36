//! A keeper of states for Terraform's `http` backend, for a place behind nginx: reads, writes and locks one state a path.
//!
//! A connection on loopback comes in, what is kept in memory goes out. Whoever reaches it by another way than nginx could
//! read it all; it listens on loopback for the length of a test.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Keeps states, and listens.
pub struct States {
    port: u16,
    states: Arc<Mutex<BTreeMap<String, State>>>,
}

/// One state.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// What was written last.
    pub body: Option<Vec<u8>>,
    /// Who holds the lock, as they said it.
    pub lock: Option<Vec<u8>>,
    /// Methods of all requests, in order.
    pub methods: Vec<String>,
}

impl States {
    /// Starts it.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its number").port();
        let states: Arc<Mutex<BTreeMap<String, State>>> = Arc::default();
        let kept = Arc::clone(&states);
        std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| serve(stream, &kept)));
        Self { port, states }
    }

    /// Gives the lines of nginx that lead to it below a path, for example `/state/`.
    pub fn location(&self, path: &str) -> String {
        format!("location {path} {{ proxy_pass http://127.0.0.1:{}; }}", self.port)
    }

    /// Gives what is kept under a path.
    pub fn state(&self, path: &str) -> State {
        self.states.lock().expect("states").get(path).cloned().unwrap_or_default()
    }
}

fn serve(stream: TcpStream, states: &Mutex<BTreeMap<String, State>>) {
    let mut stream = BufReader::new(stream);
    let Some((method, path, body)) = read(&mut stream) else { return };
    let (status, answer) = {
        let mut states = states.lock().expect("states");
        let state = states.entry(path).or_default();
        state.methods.push(method.clone());
        answer(state, &method, body)
    };
    let head = format!("HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", answer.len());
    // The client may have gone away.
    drop(stream.get_mut().write_all(head.as_bytes()).and_then(|()| stream.get_mut().write_all(&answer)));
}

fn answer(state: &mut State, method: &str, body: Vec<u8>) -> (u16, Vec<u8>) {
    match (method, state.lock.clone()) {
        ("GET", _) => state.body.clone().map_or((404, Vec::new()), |body| (200, body)),
        ("LOCK", Some(holder)) => (423, holder),
        ("LOCK", None) => {
            state.lock = Some(body);
            (200, Vec::new())
        }
        ("UNLOCK", _) => {
            state.lock = None;
            (200, Vec::new())
        }
        ("POST", _) => {
            state.body = Some(body);
            (200, Vec::new())
        }
        _ => (405, Vec::new()),
    }
}

fn read(stream: &mut BufReader<TcpStream>) -> Option<(String, String, Vec<u8>)> {
    let mut line = String::new();
    stream.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut words = line.split_whitespace().map(ToOwned::to_owned);
    let (method, target, mut length) = (words.next()?, words.next()?, 0);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    let path = target.split('?').next().unwrap_or_default().to_owned();
    Some((method, path, body))
}
