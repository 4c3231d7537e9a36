//! A real OpenBao in development mode: storage in memory, loopback only, a random root token, unsealed at start.
//!
//! Nothing comes in; a server and a client with its root token go out. It binds a port that was free a moment ago and is
//! not written to before the kernel says that the listener is our child.

mod auth;
mod client;
mod pki;

use std::ops::Deref;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::json;

pub use auth::AppRole;
pub use client::Client;
pub use pki::{Pki, RoleOptions};

use crate::peer::{self, Peer};
use crate::{processes, random};

/// A server, and by dereference the client that holds its root token.
pub struct OpenBao {
    peer: Peer,
    client: Client,
}

impl Deref for OpenBao {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl OpenBao {
    /// Starts one that speaks http.
    pub fn start() -> Self {
        Self::with(false)
    }

    /// Starts one that speaks https, as its `cert` auth method needs; [`OpenBao::ca_file`] has its authority.
    pub fn start_tls() -> Self {
        Self::with(true)
    }

    fn with(tls: bool) -> Self {
        (0..5).find_map(|_| Self::attempt(tls)).expect("OpenBao starts on one of five free ports")
    }

    fn attempt(tls: bool) -> Option<Self> {
        let directory = peer::directory();
        let (port, token) = (random::free_port(), random::secret("root"));
        let mut command = Command::new(peer::installed("bin/bao"));
        command.args(["server", "-dev", "-dev-no-store-token", "-log-level=debug"]);
        command.arg(format!("-dev-root-token-id={token}")).arg(format!("-dev-listen-address=127.0.0.1:{port}"));
        if tls {
            command.arg("-dev-tls").arg(format!("-dev-tls-cert-dir={}", directory.path().display()));
        }
        let ca = tls.then(|| directory.path().join("vault-ca.pem"));
        let scheme = if tls { "https" } else { "http" };
        let client = Client::new(&format!("{scheme}://127.0.0.1:{port}"), &token, ca);
        let mut peer = Peer::start("OpenBao", directory, &mut command);
        if !peer.wait_for_listener(port) {
            return None;
        }
        let is_ready = |_: &Peer| client.is_ready().then_some(());
        peer.wait_until(is_ready).unwrap_or_else(|| peer.fail("ended while it started"));
        Some(Self { peer, client })
    }

    /// Gives its process id.
    pub fn pid(&self) -> u32 {
        self.peer.pid()
    }

    /// Gives the port that it listens on.
    pub fn port(&self) -> u16 {
        self.client.address().rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port")
    }

    /// Gives the file with the authority of its https certificate; only after [`OpenBao::start_tls`].
    pub fn ca_file(&self) -> PathBuf {
        self.client.ca().expect("a server started with TLS").to_owned()
    }

    /// Gives the client with the root token.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Reads what it printed so far.
    pub fn log(&self) -> String {
        self.peer.log()
    }

    /// Seals it: every request is answered with 503 until [`OpenBao::unseal`].
    pub fn seal(&self) {
        self.client.must("PUT", "sys/seal", None);
    }

    /// Unseals it with the key that it printed at its start.
    pub fn unseal(&self) {
        let log = self.peer.log();
        let line = log.lines().find_map(|line| line.strip_prefix("Unseal Key: "));
        self.client.must("PUT", "sys/unseal", Some(json!({ "key": line.expect("the key in the log").trim() })));
    }

    /// Stops the process in its place, so that it takes connections and answers none, until [`OpenBao::go_on`].
    pub fn freeze(&self) {
        processes::signal(self.pid(), rustix::process::Signal::STOP);
    }

    /// Lets a frozen process go on.
    pub fn go_on(&self) {
        processes::signal(self.pid(), rustix::process::Signal::CONT);
    }

    /// Ends it; its address answers no more.
    pub fn stop(&mut self) {
        self.go_on();
        self.peer.stop();
    }

    /// Waits until a count that the server gives is what the test expects.
    pub fn wait_for(&self, what: &str, mut is_so: impl FnMut(&Client) -> bool) {
        for _ in 0..250 {
            if is_so(&self.client) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.peer.fail(&format!("waited five seconds in vain: {what}"));
    }
}

impl Drop for OpenBao {
    fn drop(&mut self) {
        self.go_on();
    }
}
