//! An EST server (RFC 7030) for the tests, because none is to be had from the registries: a real nginx in front, which speaks
//! TLS and asks for client certificates as far as somebody has one, and behind it a few lines that sign.
//!
//! A password, a token and an authority come in; an address goes out, and a list of what was asked. What it signs is of an
//! intermediate authority, and it answers with the leaf alone in PKCS #7 made by `openssl`, as small servers do: the client
//! has to complete the path from `/cacerts`. It believes every bearer token that it was told, and knows no other policy.

mod backend;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::certificates::{Authority, Identity};
use crate::peer::{self, Peer};
use crate::random;

/// What the server does with a request that it has believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Signs it.
    Sign,
    /// Lets it wait: 202, and so many seconds in `Retry-After`.
    Wait(u64),
    /// Refuses it: 403, with a sentence.
    Refuse,
}

/// One request, as the server saw it.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// The path.
    pub path: String,
    /// The Authorization header, empty if there was none.
    pub authorization: String,
    /// The subject of the client certificate, empty if there was none.
    pub certificate: String,
    /// The body: a certification request in Base64.
    pub body: String,
    /// The status of the answer.
    pub status: u16,
}

/// A server that the test started.
pub struct EstServer {
    nginx: Peer,
    address: String,
    state: Arc<Mutex<State>>,
}

/// What the lines behind nginx know.
struct State {
    root: Authority,
    below: Authority,
    bearer: Vec<String>,
    policy: Policy,
    renews: bool,
    life: u64,
    asked: Vec<Asked>,
}

impl EstServer {
    /// Starts one that signs what comes with one of these Authorization headers, for so many seconds.
    pub fn start(authorizations: &[&str], life: u64) -> Self {
        let root = Authority::new("Corp EST Root");
        let below = root.subordinate("Corp EST Clients");
        let bearer = authorizations.iter().map(|&value| value.to_owned()).collect();
        let state = State { root, below, bearer, policy: Policy::Sign, renews: true, life, asked: Vec::new() };
        let state = Arc::new(Mutex::new(state));
        let backend = backend::start(Arc::clone(&state));
        let started = (0..5).find_map(|_| attempt(backend, &lock(&state)));
        let (nginx, address) = started.expect("nginx starts on one of five free ports");
        Self { nginx, address, state }
    }

    /// Gives its address, without the path of EST.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Gives the file with the authority of its server certificate.
    pub fn ca_file(&self) -> PathBuf {
        self.nginx.path().join("ca.pem")
    }

    /// Gives the root of what it signs, in PEM form: what a registry trusts.
    pub fn root(&self) -> String {
        lock(&self.state).root.certificate().to_owned()
    }

    /// Makes a certificate that the server believes: of the same root.
    pub fn machine(&self, name: &str) -> Identity {
        lock(&self.state).root.client(name)
    }

    /// Believes one more Authorization header.
    pub fn believe(&self, authorization: &str) {
        lock(&self.state).bearer.push(authorization.to_owned());
    }

    /// Believes no Authorization header any more.
    pub fn believe_nobody(&self) {
        lock(&self.state).bearer.clear();
    }

    /// Changes what it does.
    pub fn policy(&self, policy: Policy) {
        lock(&self.state).policy = policy;
    }

    /// Says whether a certificate may renew itself.
    pub fn renews(&self, renews: bool) {
        lock(&self.state).renews = renews;
    }

    /// Lists what was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        lock(&self.state).asked.clone()
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().expect("no test panics while it holds this")
}

fn attempt(backend: u16, state: &State) -> Option<(Peer, String)> {
    let (directory, port) = (peer::directory(), random::free_port());
    let servers = Authority::new("Corp EST Servers");
    let server = servers.server(&["127.0.0.1", "localhost"]);
    let configuration = include_str!("nginx.conf").replace("@port@", &port.to_string());
    let configuration = configuration.replace("@backend@", &backend.to_string());
    let files = [
        ("ca.pem", servers.certificate()),
        ("server.pem", &server.certificate),
        ("server.key", &server.key),
        ("clients.pem", state.root.certificate()),
        ("nginx.conf", &configuration),
    ];
    for (name, text) in files {
        fs::write(directory.path().join(name), text).expect("a file of nginx");
    }
    let path = directory.path().display().to_string();
    let mut command = Command::new("nginx");
    command.args(["-p", &path, "-c", "nginx.conf", "-e", "error.log"]);
    let mut nginx = Peer::start("nginx before EST", directory, &mut command);
    nginx.wait_for_listener(port).then(|| (nginx, format!("https://127.0.0.1:{port}")))
}

/// Puts certificates into a PKCS #7 "certs-only" message by the program `openssl`; gives its DER in Base64, with line ends.
pub fn pkcs7(certificates: &str) -> String {
    let directory = peer::directory();
    let file = |name: &str| directory.path().join(name);
    fs::write(file("in.pem"), certificates).expect("the certificates");
    openssl(&["crl2pkcs7", "-nocrl", "-certfile", "in.pem", "-out", "out.pem"], directory.path());
    let pem = fs::read_to_string(file("out.pem")).expect("what openssl wrote");
    pem.lines().filter(|line| !line.starts_with("-----")).flat_map(|line| [line, "\r\n"]).collect()
}

fn openssl(arguments: &[&str], directory: &Path) {
    let mut command = Command::new("openssl");
    command.args(arguments).current_dir(directory).stdin(Stdio::null());
    let output = command.output().expect("the program openssl");
    assert!(output.status.success(), "openssl {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}
