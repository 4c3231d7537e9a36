//! A private registry: a real nginx with one module and one provider, behind client certificates or a bearer token.
//!
//! Who may come in is told by a [`Gate`]; a server on loopback goes out that calls itself `registry.corp.example` and keeps
//! one line for each request: who came, over what, for what. It writes below a directory of its own only.

mod content;
mod site;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

pub use content::{VERSION, platform};

use crate::certificates::Authority;
use crate::peer::{self, Peer};
use crate::random;

/// The host that the registry says it is; no name service knows it.
pub const HOST: &str = "registry.corp.example";

/// Who may come in.
pub enum Gate {
    /// Whoever has a client certificate of these authorities, in PEM form.
    ClientCertificate(String),
    /// Whoever has this bearer token; archives, check sums and signature are open, because Terraform sends no token there.
    Bearer(String),
    /// Whoever has a bearer token at all, for tokens that are not known beforehand; the test looks at those that came.
    AnyBearer,
    /// Everybody.
    Open,
}

/// How the registry's answers name its archives.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// `https://registry.corp.example/archives/…`, which only a client that knows the upstream can reach.
    Host,
    /// `https://127.0.0.1:<port>/archives/…`.
    Address,
    /// `/archives/…`.
    Relative,
}

/// A registry that is about to start.
pub struct Plan {
    gate: Gate,
    links: Links,
    names: Vec<String>,
    is_expired: bool,
    speaks_http2: bool,
    location: String,
}

/// A registry that the test started.
pub struct Registry {
    peer: Peer,
    address: String,
    port: u16,
}

/// One request, as the registry saw it.
#[derive(Debug, Clone)]
pub struct Request {
    /// `HTTP/1.1` or `HTTP/2.0`.
    pub protocol: String,
    /// The method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The status of the answer.
    pub status: u64,
    /// `SUCCESS`, `NONE`, or `FAILED:` and why.
    pub verify: String,
    /// The subject of the client certificate (RFC 2253).
    pub subject: String,
    /// The serial number of the client certificate, in hexadecimal.
    pub serial: String,
    /// The name that the client asked for in the TLS handshake.
    pub sni: String,
    /// The host in the request.
    pub host: String,
    /// The Authorization header, empty if there was none.
    pub authorization: String,
    /// Whether the connection took up a TLS session of an earlier one.
    pub is_resumed: bool,
}

impl Plan {
    /// Sets how archives are named; [`Links::Host`] if not set.
    #[must_use]
    pub fn links(mut self, links: Links) -> Self {
        self.links = links;
        self
    }

    /// Sets the names in the server certificate; the host and both loopback addresses if not set.
    #[must_use]
    pub fn names(mut self, names: &[&str]) -> Self {
        self.names = names.iter().map(|&name| name.to_owned()).collect();
        self
    }

    /// Lets the server certificate have expired.
    #[must_use]
    pub fn expired(mut self) -> Self {
        self.is_expired = true;
        self
    }

    /// Lets it speak HTTP/1.1 alone.
    #[must_use]
    pub fn http1(mut self) -> Self {
        self.speaks_http2 = false;
        self
    }

    /// Adds lines of nginx configuration to the server, for example a `location` that misbehaves.
    #[must_use]
    pub fn nginx(mut self, lines: &str) -> Self {
        self.location.push_str(lines);
        self
    }

    /// Starts it.
    pub fn start(self) -> Registry {
        (0..5).find_map(|_| self.attempt()).expect("nginx starts on one of five free ports")
    }

    fn attempt(&self) -> Option<Registry> {
        let directory = peer::directory();
        let port = random::free_port();
        let address = format!("https://127.0.0.1:{port}");
        self.write_certificates(directory.path());
        let content = content::Content::get();
        site::write(&directory.path().join("site"), &content, self.links, &address);
        fs::write(directory.path().join("nginx.conf"), self.configuration(port, &address)).expect("the configuration");
        let mut command = Command::new("nginx");
        let path = directory.path().display().to_string();
        command.args(["-p", &path, "-c", "nginx.conf", "-e", "error.log"]);
        let mut peer = Peer::start("nginx", directory, &mut command);
        peer.wait_for_listener(port).then_some(Registry { peer, address, port })
    }

    fn write_certificates(&self, directory: &Path) {
        let authority = Authority::new("Corp Servers");
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let server = if self.is_expired { authority.expired_server(&names) } else { authority.server(&names) };
        let clients = match &self.gate {
            Gate::ClientCertificate(pem) => pem,
            Gate::Bearer(_) | Gate::AnyBearer | Gate::Open => "",
        };
        let files = [
            ("ca.pem", authority.certificate()),
            ("server.pem", &server.certificate),
            ("server.key", &server.key),
            ("clients.pem", clients),
        ];
        for (name, text) in files {
            fs::write(directory.join(name), text).expect("a certificate file");
        }
    }

    fn configuration(&self, port: u16, address: &str) -> String {
        let link = site::link(self.links, address, "network-1.0.0.zip");
        let (server, api) = match &self.gate {
            Gate::ClientCertificate(_) => {
                let lines = "ssl_verify_client on; ssl_verify_depth 4; ssl_client_certificate clients.pem;";
                (lines.to_owned(), String::new())
            }
            Gate::Bearer(token) => {
                (String::new(), format!("if ($http_authorization != \"Bearer {token}\") {{ return 401; }}"))
            }
            Gate::AnyBearer => (String::new(), "if ($http_authorization !~ \"^Bearer .\") { return 401; }".to_owned()),
            Gate::Open => (String::new(), String::new()),
        };
        include_str!("nginx.conf")
            .replace("@port@", &port.to_string())
            .replace("@http2@", if self.speaks_http2 { "http2" } else { "" })
            .replace("@server@", &server)
            .replace("@api@", &api)
            .replace("@module@", &link)
            .replace("@more@", &self.location)
    }
}

impl Registry {
    /// Begins to plan one.
    pub fn behind(gate: Gate) -> Plan {
        let names = [HOST, "localhost", "127.0.0.1", "::1"].map(ToOwned::to_owned).to_vec();
        Plan { gate, links: Links::Host, names, is_expired: false, speaks_http2: true, location: String::new() }
    }

    /// Gives its address, `https://127.0.0.1:<port>`: the upstream of the settings.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Gives its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Gives the file with the authority of its server certificate: the trust for the upstream.
    pub fn ca_file(&self) -> PathBuf {
        self.peer.path().join("ca.pem")
    }

    /// Gives the directory whose files it serves, for a test that wants more there.
    pub fn site(&self) -> PathBuf {
        self.peer.path().join("site")
    }

    /// Lists the requests so far, connections that ended before a request left out.
    pub fn requests(&self) -> Vec<Request> {
        let log = fs::read_to_string(self.peer.path().join("access.log")).unwrap_or_default();
        log.lines().filter_map(|line| serde_json::from_str(line).ok()).map(|value| request(&value)).collect()
    }

    /// Waits until so many requests are in the log; nginx writes a line after it sent the answer.
    pub fn wait_for_requests(&self, count: usize) -> Vec<Request> {
        for _ in 0..100 {
            let requests = self.requests();
            if requests.len() >= count {
                return requests;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        self.requests()
    }

    /// Reads nginx's error log: why a certificate was refused, among others.
    pub fn error_log(&self) -> String {
        fs::read_to_string(self.peer.path().join("error.log")).unwrap_or_default()
    }

    /// Gives its process id.
    pub fn pid(&self) -> u32 {
        self.peer.pid()
    }

    /// Ends it; its address answers no more.
    pub fn stop(&mut self) {
        self.peer.stop();
    }
}

fn request(line: &Value) -> Request {
    let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
    Request {
        protocol: text("protocol"),
        method: text("method"),
        path: text("path"),
        status: line["status"].as_u64().unwrap_or_default(),
        verify: text("verify"),
        subject: text("subject"),
        serial: text("serial"),
        sni: text("sni"),
        host: text("host"),
        authorization: text("authorization"),
        is_resumed: text("resumed") == "r",
    }
}
