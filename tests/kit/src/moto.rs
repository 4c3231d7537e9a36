//! moto's server: it answers in the shape of AWS, and verifies nothing.
//!
//! Nothing comes in, an address goes out; it runs on loopback until it is dropped. Installed by `tests/peers/setup`.

use std::process::Command;

use crate::peer::{self, Peer, installed};
use crate::random;

/// A server that the test started.
pub struct Moto {
    address: String,
    _peer: Peer,
}

impl Default for Moto {
    fn default() -> Self {
        Self::start()
    }
}

impl Moto {
    /// Starts one.
    pub fn start() -> Self {
        (0..5).find_map(|_| Self::attempt()).expect("moto starts on one of five free ports")
    }

    fn attempt() -> Option<Self> {
        let port = random::free_port();
        let mut command = Command::new("python3");
        command.args(["-m", "moto.server", "-H", "127.0.0.1", "-p", &port.to_string()]);
        command.env("PYTHONPATH", installed("python-clients"));
        let mut peer = Peer::start("moto", peer::directory(), &mut command);
        let address = format!("http://127.0.0.1:{port}");
        peer.wait_for_listener(port).then_some(Self { address, _peer: peer })
    }

    /// Gives its address.
    pub fn address(&self) -> &str {
        &self.address
    }
}
