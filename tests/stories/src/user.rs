//! A user with an empty home, the canary, and the few commands that stories begin with.
//! Settings and tokens come in, what the programs did goes out.
//! Writes below the home alone.

use std::path::PathBuf;

use credmint_test_kit::home::executable;
use credmint_test_kit::http::{Answer, Request};
use credmint_test_kit::random::free_port;
use credmint_test_kit::{Canary, Home, Output, Registry, Run, Terraform};

use crate::HOST;

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
        let user = Self::without_settings();
        // The usual port follows from the user's number; stories that run side by side share that.
        user.home.write(".config/credmint/config.d/bridge.toml", format!("[bridge]\nport = {}\n", user.port));
        user
    }

    /// Moves in without any settings file.
    #[must_use]
    pub fn without_settings() -> Self {
        let home = Home::new();
        let (work, port) = (Terraform::write_configuration(&home, "work"), free_port());
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

    /// Puts a helper where Terraform looks, and a CLI configuration that sends the host's services straight to a registry
    /// on loopback, whose authority Terraform trusts.
    pub fn use_helper(&mut self, name: &str, arguments: &[&str], registry: &Registry) {
        self.home.install_helper(name);
        self.home.set("SSL_CERT_FILE", registry.ca_file());
        Terraform::write_cli_configuration(&self.home, Some((name, arguments)), Some(registry.address()));
    }

    /// Puts a token into a file and shows it to the canary.
    pub fn token_file(&mut self, token: &str) -> PathBuf {
        self.secret_file("token", "subject token", token)
    }

    /// Puts a secret into a file below the home and shows it to the canary.
    pub fn secret_file(&mut self, file: &str, name: &str, secret: &str) -> PathBuf {
        let secret = match secret.starts_with("-----") {
            true => self.canary.watch_pem(name, secret),
            false => self.canary.watch(name, secret),
        };
        let file = self.home.write(file, format!("{}\n", secret.trim_end()));
        self.canary.allow_file(&file);
        file
    }

    /// Puts a secret into a variable of everything that the user starts, and shows it to the canary.
    pub fn secret_variable(&mut self, variable: &str, name: &str, secret: &str) {
        let secret = self.canary.watch(name, secret);
        self.canary.allow_variable(variable);
        self.home.set(variable, secret);
    }

    /// Begins what Terraform runs: `terraform-credentials-credmint get` for the host.
    #[must_use]
    pub fn get(&self) -> Run<'_> {
        self.home.run("terraform-credentials-credmint").args(["get", HOST]).answer()
    }

    /// Runs it, and gives one property of the answer.
    ///
    /// # Panics
    /// When the helper fails or the answer does not have it.
    #[must_use]
    #[track_caller]
    pub fn got(&self, property: &str) -> String {
        let output = self.get().output().success();
        assert!(!output.pipe_held, "Terraform would wait for whoever holds the pipe");
        let object = output.json();
        let text = object.get(property).and_then(serde_json::Value::as_str);
        assert!(text.is_some(), "the answer has no {property}");
        text.unwrap_or_default().to_owned()
    }

    /// Asks the bridge for a path of the host, with a bearer token.
    #[must_use]
    pub fn ask_bridge(&self, name: &str, path: &str, bearer: &str) -> Answer {
        let url = format!("http://{name}:{}/{HOST}/{path}", self.port);
        Request::new("GET", &url).header("Authorization", &format!("Bearer {bearer}")).send()
    }
}
