//! The bridge: HTTP on loopback in, mutual TLS to the hosts of the settings out.
//! A client's request with a session token or a capability URL comes in, the upstream's answer goes out, streamed.
//! Goes nowhere but to upstreams that the settings fix. `protocol-spec/bridge-protocol.md`.

mod again;
mod arriving;
mod audit;
mod capability;
mod carrier;
mod endpoint;
mod forward;
mod head;
mod incoming;
mod json_api;
mod listen;
mod mirror;
mod places;
pub(crate) mod refusal;
mod reply;
mod rewrite;
mod room;
mod run;
mod sending;
mod session;
mod target;
mod visit;
mod watched;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use credmint_vocabulary::{Failure, FailureKind, Secret, Timestamp};
use tokio::time::sleep;
use zeroize::Zeroizing;

use crate::agent::Agent;
use crate::entries::Entries;
use crate::lock::SealingKey;
use crate::recipe::{EntryKey, Recipe};
use audit::Audit;
use capability::Capabilities;
pub(crate) use carrier::WayOut;
use endpoint::Endpoints;
pub(crate) use forward::{authorize, connections_of, unreachable};
pub(crate) use head::is_of_a_program;
pub(crate) use listen::Ends;
use listen::Listening;
pub(crate) use mirror::Mirror;
use places::Pool;
pub(crate) use rewrite::ours;
use room::Room;
pub(crate) use run::{OpenRun, RunNumber};
use session::Sessions;

/// Holds what the bridge knows: where it listens, who may come in, and which URLs it made up.
#[derive(Default)]
pub(crate) struct Bridge {
    listening: RefCell<BTreeMap<u16, Vec<Listening>>>,
    sessions: Sessions,
    capabilities: Capabilities,
    /// Where programs of runs ask for credentials of providers.
    endpoints: Endpoints,
    audit: Audit,
    places: Rc<Pool>,
    /// For documents that are held as a whole.
    room: Room,
    open_runs: RefCell<Vec<Rc<run::Run>>>,
    /// How many runs of `credmint exec` there were.
    runs: Cell<run::RunNumber>,
}

impl Bridge {
    /// Listens on the port of the settings, unless it does. Before anything else is tried: if that fails, Terraform asks
    /// here without a session and is told why, and nobody else can have the port. It may be the agent before us that still ends.
    pub(crate) async fn listen(&self, agent: &Rc<Agent>, recipe: &Recipe) -> Result<(), Failure> {
        let port = recipe.settings.bridge.port_for(credmint_local_machine::own_uid());
        let began = Instant::now();
        while !self.listening.borrow().contains_key(&port) {
            match listen::listen(agent, port, None).await {
                Ok(addresses) => drop(self.listening.borrow_mut().insert(port, addresses)),
                Err(failure) if failure.usurped && began.elapsed() < AN_AGENT_ENDS => sleep(BETWEEN_TRIES).await,
                Err(failure) => return Err(failure),
            }
        }
        Ok(())
    }

    /// Lets one more run in.
    pub(crate) fn open_session(&self, recipe: &Rc<Recipe>) -> Result<Secret<String>, Failure> {
        self.sessions.open(recipe.host()?, recipe, None, Instant::now())
    }

    /// Lists the addresses it listens on.
    pub(crate) fn addresses(&self) -> Vec<String> {
        self.listening.borrow().values().flatten().map(|listening| listening.address.to_string()).collect()
    }

    /// Says which lines of the audit are lost, in words.
    pub(crate) fn audit_trouble(&self) -> Option<String> {
        self.audit.trouble()
    }

    /// Counts the lines of the audit that are lost.
    pub(crate) fn lost_lines(&self) -> u64 {
        self.audit.lost()
    }

    /// Gives the ports back, so that the next agent may have them while this one still ends.
    pub(crate) async fn withdraw(&self) {
        drop(self.listening.take());
        tokio::task::yield_now().await;
    }

    /// Ends what is over: capabilities by the clock, sessions with their entry.
    pub(crate) fn sweep(&self, is_kept: impl Fn(EntryKey) -> bool) {
        self.capabilities.sweep(Instant::now());
        self.sessions.close_unused(is_kept, Instant::now());
    }

    /// Keeps in use what the endpoints of open runs may be asked for.
    pub(crate) fn keep_in_use(&self, entries: &Entries, now: Timestamp) {
        self.endpoints.keep_in_use(entries, now);
    }

    /// Encrypts the sessions, and withdraws the capabilities: their runs are broken off.
    pub(crate) fn seal(&self, key: &SealingKey) {
        self.capabilities.withdraw();
        self.sessions.seal(key);
        self.endpoints.seal(key);
    }

    /// Brings the sessions back.
    pub(crate) fn unseal(&self, key: &SealingKey) {
        self.sessions.unseal(key);
        self.endpoints.unseal(key);
    }

    /// Ends all sessions of an entry.
    pub(crate) fn close(&self, recipe: &Recipe) {
        self.sessions.close(recipe.key);
        self.capabilities.close(recipe.key);
        self.endpoints.close(recipe.key);
    }
}

/// Makes 256 random bits, in base64url: a session token, or the secret part of an address.
pub(crate) fn random_token() -> Result<Secret<String>, Failure> {
    let mut bits = Zeroizing::new([0; 32]);
    let broken = |_| Failure::new(FailureKind::Internal, "the system gives no random bits");
    SystemRandom::new().fill(&mut *bits).map_err(broken)?;
    // Straight to where it is wiped: `encode_string` goes by way of a buffer on the stack.
    let text = Zeroizing::new(BASE64_URL_SAFE_NO_PAD.encode(bits.as_slice()));
    Ok(Secret::from(text.as_str()))
}

/// How long an agent that was told to end may still hold its port.
const AN_AGENT_ENDS: Duration = Duration::from_millis(500);
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

#[cfg(test)]
pub(crate) use target::tests::recipe as recipe_for_tests;

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::task::LocalSet;

    #[tokio::test]
    async fn a_port_that_an_ending_agent_gives_back_in_a_moment_is_waited_for_and_another_programs_is_not_for_long() {
        let test = async {
            let held = crate::loopback::bind(0).await.expect("a port");
            let port = held.first().map(|(address, _)| address.port()).expect("bound");
            let recipe = target::tests::recipe_with("https://127.0.0.1:8443", &format!("[bridge]\nport = {port}\n"));
            let agent = Agent::new(false, Vec::new());
            let bridge = agent.bridge.as_ref().expect("one that stays");
            let began = Instant::now();
            assert!(bridge.listen(&agent, &recipe).await.is_err_and(|failure| failure.usurped));
            assert!(began.elapsed() < 4 * AN_AGENT_ENDS);
            let ends = async {
                sleep(AN_AGENT_ENDS / 4).await;
                drop(held);
            };
            let (first, second, ()) =
                tokio::join!(bridge.listen(&agent, &recipe), bridge.listen(&agent, &recipe), ends);
            assert!(first.is_ok() && second.is_ok(), "whoever asks at the same time waits for the same port");
        };
        LocalSet::new().run_until(test).await;
    }
}
