//! What the stories have in common: a company with an OpenID Provider, an OpenBao, a registry behind mutual TLS, and a
//! user with an empty home directory.
//! Peers are real; the kit starts and ends them. Nothing here decides whether a story succeeds.

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use credmint_test_kit::home::executable;
use credmint_test_kit::openbao::Pki;
use credmint_test_kit::{Canary, Gate, Home, OpenBao, OpenIdProvider, Output, Registry, Terraform};
use serde_json::json;

/// The host of all stories.
pub const HOST: &str = "registry.corp.example";

/// A company whose registry wants a client certificate of its own PKI.
pub struct Company {
    /// Signs the tokens of its people and jobs.
    pub provider: OpenIdProvider,
    /// Signs their certificates.
    pub bao: OpenBao,
    /// The engine that the registry trusts.
    pub pki: Pki,
    /// The registry.
    pub registry: Registry,
}

impl Company {
    /// Founds it: JWT login at OpenBao for tokens of the provider, a PKI role, a registry that trusts the PKI.
    #[must_use]
    pub fn found() -> Self {
        let (provider, bao) = (OpenIdProvider::start(), OpenBao::start());
        let pki = bao.pki("pki");
        pki.role("registry-client", json!({ "max_ttl": "2h" }));
        bao.jwt_auth("jwt", provider.issuer());
        bao.jwt_role("jwt", "terraform", "vault", &[&pki.policy_for("registry-client")]);
        let registry = Registry::behind(Gate::ClientCertificate(pki.path())).start();
        Self { provider, bao, pki, registry }
    }

    /// Gives the issuer table of the settings.
    #[must_use]
    pub fn issuer(&self) -> String {
        format!(
            "[issuer.registry-cert]\nkind = \"vault-pki\"\naddress = \"{}\"\n\
             auth = {{ method = \"jwt\", role = \"terraform\" }}\nrole = \"registry-client\"\n\
             common_name = \"{{email}}\"\nttl = \"1h\"\n\n",
            self.bao.address()
        )
    }

    /// Gives the host table of the settings: `identity` and more lines as they are.
    #[must_use]
    pub fn host(&self, identity: &str, more: &str) -> String {
        format!(
            "[host.\"{HOST}\"]\nidentity = \"{identity}\"\nissuer = \"registry-cert\"\nca = \"{}\"\n{more}\n",
            self.registry.ca_file().display()
        )
    }
}

/// A user with an empty home, the canary and a port for the bridge.
pub struct User {
    /// The home.
    pub home: Home,
    /// What must not be seen anywhere.
    pub canary: Canary,
    /// Port of the bridge.
    pub port: u16,
    /// Where the configuration of one module and one provider is.
    pub work: PathBuf,
}

impl User {
    /// Moves in; nothing is configured but a port for the bridge that nobody else has.
    #[must_use]
    pub fn move_in() -> Self {
        let home = Home::new();
        let (work, port) = (Terraform::write_configuration(&home, "work"), free_port());
        // The usual port follows from the user's number; stories that run side by side share that.
        home.write(".config/credmint/config.d/bridge.toml", format!("[bridge]\nport = {port}\n"));
        Self { home, canary: Canary::new(), port, work }
    }

    /// Writes the settings.
    pub fn settings(&self, text: &str) {
        self.home.write_settings(text);
    }

    /// Runs `credmint` and expects it to succeed.
    pub fn credmint(&self, arguments: &[&str]) -> Output {
        let output = self.home.run(executable("credmint")).args(arguments).output();
        assert_eq!(output.code, Some(0), "credmint {arguments:?}: {}{}", output.stdout, output.stderr);
        output
    }

    /// Lets `credmint setup` write the CLI configuration.
    pub fn setup(&self, upstream: &str) {
        self.credmint(&["setup", HOST, "--upstream", upstream, "--yes"]);
    }

    /// Puts a token into a file and shows it to the canary.
    pub fn token_file(&mut self, token: &str) -> PathBuf {
        let token = self.canary.watch("subject token", token);
        let file = self.home.write("token", format!("{token}\n"));
        self.canary.allow_file(&file);
        file
    }
}

/// Finds the real terraform; with none the story says so and ends (CI makes that an error).
#[must_use]
pub fn terraform() -> Option<Terraform> {
    Terraform::find()
}

/// Gives the text of an identity that reads a file.
#[must_use]
pub fn file_identity(path: &Path) -> String {
    format!("[identity.job]\nkind = \"file\"\npath = \"{}\"\n\n", path.display())
}

/// Gives a port that is free on both loopback families.
#[must_use]
pub fn free_port() -> u16 {
    for _ in 0..20 {
        let Ok(v4) = TcpListener::bind("127.0.0.1:0") else { continue };
        let Ok(address) = v4.local_addr() else { continue };
        if TcpListener::bind(("::1", address.port())).is_ok() {
            return address.port();
        }
    }
    0
}
