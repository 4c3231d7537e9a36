//! A fake of the SPIFFE Workload API on a Unix socket; `server.py` beside this file says what it fakes and why.
//!
//! SVIDs that the test prepared come in, a socket and what was asked there go out; it ends with the test.

mod signer;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::peer::{self, Peer};

pub use signer::JwtSigner;

/// The SPIFFE agent of a machine.
pub struct WorkloadApi {
    peer: Peer,
}

impl WorkloadApi {
    /// Starts one that knows nobody.
    pub fn start() -> Self {
        let directory = peer::directory();
        let (socket, prepared) = (directory.path().join("api.sock"), directory.path().join("prepared.json"));
        fs::write(&prepared, json!({ "jwt": [], "x509": [] }).to_string()).expect("what it hands out");
        let python = [
            peer::installed("pypi/grpcio-1.85.3"),
            peer::installed("pypi/protobuf-7.36.2"),
            peer::installed("pypi/typing_extensions-4.16.0"),
        ];
        let mut command = Command::new("python3");
        command.args(["-c", include_str!("server.py")]).arg(socket).arg(prepared);
        command.env("PYTHONPATH", std::env::join_paths(python).expect("a path"));
        let mut peer = Peer::start("workload-api", directory, &mut command);
        let ready = peer.wait_until(|peer| peer.log().contains("ready").then_some(()));
        if ready.is_none() {
            peer.fail("it does not start");
        }
        Self { peer }
    }

    /// Gives the path of the socket.
    pub fn socket(&self) -> PathBuf {
        self.peer.path().join("api.sock")
    }

    /// Gives its address, as the variable has it.
    pub fn address(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    /// Says what is handed out from now on, or refused: `{"jwt": […], "x509": […]}` or `{"status": …, "words": …}`.
    pub fn hands_out(&self, prepared: &Value) {
        let new = self.peer.path().join("new.json");
        fs::write(&new, prepared.to_string()).expect("what it hands out");
        fs::rename(new, self.peer.path().join("prepared.json")).expect("in its place");
    }

    /// Lists what was asked.
    pub fn asked(&self) -> Vec<String> {
        self.peer.log().lines().filter(|line| line.starts_with("jwt") || *line == "x509").map(str::to_owned).collect()
    }
}
