//! A real TLS server that refuses unknown client certificates in the handshake: `openssl s_server`.
//!
//! Nothing comes in; an upstream and routes to it go out, one with a certificate that it knows and one with another. The
//! certificates come from a real OpenBao. It writes below a directory of its own.

use std::path::PathBuf;
use std::process::Command;

use credmint_test_kit::peer::{self, Peer};
use credmint_test_kit::{Authority, OpenBao, random};
use serde_json::json;

/// The server with both authorities.
pub struct StrictServer {
    _server: Peer,
    bao: OpenBao,
    port: u16,
    ca: PathBuf,
    token: PathBuf,
}

impl StrictServer {
    /// Starts it; `None` where there is no `openssl`.
    #[must_use]
    pub fn start() -> Option<Self> {
        Command::new("openssl").arg("version").output().ok()?;
        let bao = OpenBao::start();
        let known = bao.pki("known");
        let policies = [&known, &bao.pki("unknown")].map(|pki| {
            pki.role("registry-client", json!({}));
            pki.policy_for("registry-client")
        });
        let (directory, port) = (peer::directory(), random::free_port());
        let authority = Authority::new("Strict Servers");
        let own = authority.server(&[crate::HOST, "127.0.0.1"]);
        let write = |name: &str, text: &str| {
            let file = directory.path().join(name);
            std::fs::write(&file, text).expect("a file");
            file
        };
        write("server.pem", &own.certificate);
        write("server.key", &own.key);
        write("clients.pem", &known.path());
        let (ca, token) = (
            write("ca.pem", authority.certificate()),
            write("token", &bao.make_token(&policies.each_ref().map(String::as_str), "5m")),
        );
        let mut command = Command::new("openssl");
        command.current_dir(directory.path()).args(["s_server", "-accept", &format!("127.0.0.1:{port}"), "-www"]);
        command.args(["-cert", "server.pem", "-key", "server.key", "-CAfile", "clients.pem"]);
        command.args(["-Verify", "4", "-verify_return_error", "-quiet"]);
        let mut server = Peer::start("openssl s_server", directory, &mut command);
        assert!(server.wait_for_listener(port), "{}", server.log());
        Some(Self { _server: server, bao, port, ca, token })
    }

    /// Gives settings that go there with a certificate of one authority.
    #[must_use]
    pub fn route(&self, mount: &str, host: &str) -> String {
        let Self { bao, port, ca, token, .. } = self;
        format!(
            "[issuer.cert]\nkind = \"vault-pki\"\naddress = \"{}\"\nmount = \"{mount}\"\nrole = \"registry-client\"\n\
             auth = {{ method = \"token\", token = {{ file = \"{}\" }} }}\ncommon_name = \"build-07\"\n\n\
             [host.\"{host}\"]\nissuer = \"cert\"\nupstream = \"https://127.0.0.1:{port}\"\nca = \"{}\"\n",
            bao.address(),
            token.display(),
            ca.display()
        )
    }
}
