//! `[host."…"]`, `[bridge]` and `[agent]`: which host gets what, and how it is delivered.
//! Tables of the file become plain structs.
//! Opens no port and reads no certificate itself.

use std::path::PathBuf;
use std::time::Duration;

use credmint_vocabulary::Hostname;

use crate::channel::Channel;
use crate::issuer::Peer;
use crate::policy::Policy;

/// `[host."registry.corp.example"]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Host {
    /// `identity`: names in order; the first that has an answer counts. Empty only where [`crate::Issuer::asks_who`] says no.
    pub identities: Vec<String>,
    /// `issuer`: name of the issuer.
    pub issuer: String,
    /// `token_issuer`: name of the issuer of a bearer token, for a host that wants one besides the certificate.
    pub token_issuer: Option<String>,
    /// `deliver` (default `bridge` for certificates, `token` for tokens).
    pub deliver: Deliver,
    /// `upstream`: where the bridge goes (default `https://<the host>`); SNI, name check and `Host` stay the host's.
    pub upstream: Option<String>,
    /// `ca`, `ca_only`, `proxy` for that upstream.
    pub peer: Peer,
    /// `minimum_life`: what is handed out lives at least this long (default 10 min, or a third of a shorter life).
    pub minimum_life: Option<Duration>,
    /// `store`: what `terraform login` may bring (default `sign-in`).
    pub store: Store,
    /// `confirm`: a person is asked before each use.
    pub confirm: bool,
    /// Who may ask, when, and what becomes of who may not.
    pub policy: Policy,
}

/// `[provider.NAME]`: what the AWS SDKs, kubectl, git and their like ask for, by the name or by a host.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Provider {
    /// What it has in common with a host: identities, issuers, `minimum_life`, `confirm`. All of it is handed out.
    pub host: Host,
    /// `username`: goes with the token where a client wants one (default `oauth2`).
    pub username: Option<String>,
    /// `hosts`: for which hosts git, docker, `gh` and `vault` take it, which know a host alone.
    pub hosts: Vec<Hostname>,
    /// `exec`: how a program of `credmint exec` gets it (default by the kind of the issuer).
    pub exec: Option<Channel>,
}

/// What is kept of what `terraform login` brings for a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Store {
    /// `sign-in`: what the agent's own sign-in came to; a token of anybody else is refused.
    #[default]
    SignIn,
    /// `memory`: any token, in the agent's memory.
    Memory,
    /// `refuse`: nothing.
    Refuse,
}

/// How a credential reaches Terraform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Deliver {
    /// `bridge`: the answer is the bridge's session token; the credential stays in the agent.
    Bridge,
    /// `token`: the answer is the bearer token.
    Token,
    /// `inline`: the answer carries PEM properties, and the token if there is one.
    Inline,
}

/// `[bridge]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bridge {
    /// `port`: loopback port of the `host` blocks; without it one that follows from the user's number.
    pub port: Option<u16>,
    /// `audit`: what gets one line a request; without it none is written.
    pub audit: Option<Audit>,
    /// `metrics_port`: loopback port where numbers are read; without it nobody listens.
    pub metrics_port: Option<u16>,
}

/// Where the bridge's audit goes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Audit {
    /// A file.
    File(PathBuf),
    /// The system's log: `syslog`, or by a socket of one's own, `syslog:/path`.
    Syslog(Option<PathBuf>),
}

impl Bridge {
    /// Gives the port: the configured one, else 20000 plus the last four digits of the user's number, so that users of
    /// one machine do not meet.
    #[must_use]
    pub fn port_for(&self, user_number: u32) -> u16 {
        let own = u16::try_from(user_number % 10_000).unwrap_or(0);
        self.port.unwrap_or(20_000 + own)
    }
}

/// `[agent]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AgentSettings {
    /// `mode`: `auto` keeps what it got; `once` keeps nothing and leaves a second after the last request.
    pub once: bool,
    /// `idle_exit`: how long an agent without entries in use stays (default 30 min).
    pub idle_exit: Duration,
    /// `after_renewal`: argument vector of what is run after an entry or a session was renewed.
    pub after_renewal: Option<Vec<String>>,
    /// `ask`: argument vector of what asks the person for `confirm`, in place of the terminal.
    pub ask: Option<Vec<String>>,
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self { once: false, idle_exit: Duration::from_secs(30 * 60), after_renewal: None, ask: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_of_one_machine_have_ports_of_their_own() {
        let bridge = Bridge::default();
        assert_eq!(bridge.port_for(0), 20_000);
        assert_eq!(bridge.port_for(1_000), 21_000);
        assert_eq!(bridge.port_for(u32::MAX), 27_295);
    }

    #[test]
    fn a_configured_port_is_the_port() {
        assert_eq!(Bridge { port: Some(7_777), ..Bridge::default() }.port_for(1_000), 7_777);
    }
}
