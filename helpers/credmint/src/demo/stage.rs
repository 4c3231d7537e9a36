//! What the steps of the demo share: the home, the registry, the workload's token, the client.
//! A client comes in; the steps ask it to run `credmint` and to print.
//! Stops the agent and removes the home when it goes, whatever happened.

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;

use credmint_vocabulary::{Failure, FailureKind, Secret};

use super::client::Client;
use super::home::Home;
use super::registry::Registry;
use super::tls::ServerIdentity;
use super::{HOST, command, module, token};
use crate::out::{Style, Tone};
use crate::{agent, out};

/// Holds what the steps share.
pub(crate) struct Stage {
    /// The throw-away home.
    pub(crate) home: Home,
    /// Who asks the registry.
    pub(crate) client: Client,
    /// The registry, and what it has seen.
    pub(crate) registry: Registry,
    /// Where it listens.
    pub(crate) registry_port: u16,
    /// Until it is opened: its socket and its own certificate.
    pub(crate) closed: Option<(TcpListener, ServerIdentity)>,
    /// Its trust anchor.
    pub(crate) anchor_pem: String,
    /// Where the bridge is to listen.
    pub(crate) bridge_port: u16,
    /// The workload's token.
    pub(crate) token: Secret<String>,
    credmint: PathBuf,
    step: usize,
}

impl Stage {
    /// Prepares all that needs no agent.
    pub(crate) fn prepare(client: Client, keep: bool) -> Result<Self, Failure> {
        let now = agent::now();
        let (listener, registry_port) = listen()?;
        let (_, bridge_port) = listen()?;
        let identity = ServerIdentity::new(HOST, now)?;
        let credmint = std::env::current_exe().map_err(|error| internal(&error))?;
        Ok(Self {
            home: Home::new(keep)?,
            client,
            registry: Registry::new(module::archive()),
            registry_port,
            anchor_pem: identity.anchor_pem.clone(),
            closed: Some((listener, identity)),
            bridge_port,
            token: token::make(now)?,
            credmint,
            step: 0,
        })
    }

    /// Says who plays and where.
    pub(crate) fn introduce(&self) {
        out::text("One module from a registry that demands a client certificate.");
        out::text(&format!("  client  {}", self.client.words(&self.home)));
        out::text(&format!("  home    {} (thrown away at the end)", self.home.path().display()));
    }

    /// Begins a step.
    pub(crate) fn heading(&mut self, text: &str) {
        self.step += 1;
        let heading = Style::of_stdout().paint(Tone::Heading, &format!("{}. {text}", self.step));
        out::text(&format!("\n{heading}"));
    }

    /// Prints lines that belong to the step.
    pub(crate) fn say<T: AsRef<str>>(&self, lines: impl IntoIterator<Item = T>) {
        let home = self.home.path().display().to_string();
        for line in lines {
            out::text(format!("   {}", line.as_ref().replace(&home, "~")).trim_end());
        }
    }

    /// Runs `credmint` as the person whose home this is.
    pub(crate) fn credmint(&self, arguments: &[&str]) -> Result<String, Failure> {
        let output = command::run(&self.home, &self.credmint, arguments, Some(&self.token))?;
        Ok(output.expose().clone())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        drop(self.credmint(&["agent", "stop"]));
    }
}

fn listen() -> Result<(TcpListener, u16), Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| internal(&error))?;
    let port = listener.local_addr().map_err(|error| internal(&error))?.port();
    Ok((listener, port))
}

fn internal(error: &dyn std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Internal, format!("the demo: {error}"))
}
