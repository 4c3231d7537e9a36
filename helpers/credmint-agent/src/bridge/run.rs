//! A run of `credmint exec` at the bridge: a port of its own, session tokens that are valid there and nowhere else.
//! An agent comes in, an open run goes out; when that is dropped, the port, the sessions and the addresses of the run are gone.
//! Binds loopback and nothing else. `protocol-spec/bridge-protocol.md` §9.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::time::Instant;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use credmint_agent_protocol::RunStatus;
use credmint_settings::Channel;
use credmint_vocabulary::{Failure, FailureKind, Hostname, Secret};
use tokio::sync::Notify;
use zeroize::Zeroizing;

use super::Bridge;
use super::carrier::{Carrier, WayOut};
use super::endpoint;
use super::listen::{self, Listening};
use super::mirror::{Mirror, Mirrors};
use crate::agent::Agent;
use crate::end_of_run;
use crate::recipe::Recipe;

/// Tells runs apart.
pub(crate) type RunNumber = u64;

/// Holds what the requests of a run have in common.
pub(super) struct Run {
    number: RunNumber,
    /// What may be said of it.
    facts: RefCell<RunStatus>,
    /// What was refused, each once: told to the person when the run is over.
    failures: RefCell<Vec<Noted>>,
    /// The mirrors that stand for registries in it.
    pub(super) mirrors: Mirrors,
    /// The other carrier, where it is wanted.
    pub(super) carrier: OnceCell<Carrier>,
    over: Notify,
    is_over: Cell<bool>,
}

/// A failure, and whether it met somebody who had a right: others may be strangers.
type Noted = (Failure, bool);

impl Run {
    fn new(number: RunNumber, facts: RunStatus, mirrors: Mirrors) -> Self {
        let (carrier, over, is_over) = (OnceCell::new(), Notify::new(), Cell::new(false));
        Self { number, facts: facts.into(), failures: RefCell::default(), mirrors, carrier, over, is_over }
    }

    /// Gives its number.
    pub(super) fn number(&self) -> RunNumber {
        self.number
    }

    /// Waits for its end, which ends its connections.
    pub(super) async fn ended(&self) {
        let over = self.over.notified();
        if !self.is_over.get() {
            over.await;
        }
    }

    /// Counts a request.
    pub(super) fn count(&self) {
        self.facts.borrow_mut().requests += 1;
    }

    /// Notes what was refused. What strangers were makes room for what the run was.
    pub(super) fn note(&self, failure: &Failure, has_right: bool) {
        note(&mut self.failures.borrow_mut(), failure, has_right);
    }
}

fn note(noted: &mut Vec<Noted>, failure: &Failure, has_right: bool) {
    if noted.iter().any(|(known, _)| known == failure) {
        return;
    }
    if noted.len() >= MOST_FAILURES
        && let Some(stranger) = noted.iter().position(|(_, had_right)| has_right && !had_right)
    {
        noted.remove(stranger);
    }
    if noted.len() < MOST_FAILURES {
        noted.push((failure.clone(), has_right));
    }
}

/// How a request came in.
#[derive(Clone)]
pub(super) struct Way {
    /// Our port.
    pub(super) port: u16,
    /// The run whose port that is.
    pub(super) run: Option<Rc<Run>>,
}

impl Way {
    /// Gives the number of the run.
    pub(super) fn number(&self) -> Option<RunNumber> {
        self.run.as_ref().map(|run| run.number)
    }
}

/// Reads the session token of an `Authorization` field. Terraform's `http` backend knows Basic alone (RFC 7617): there the
/// token is the password, and whose name stands before it does not matter. Only runs have it.
pub(super) fn token_of(field: &[u8], run: Option<RunNumber>) -> Option<Zeroizing<Vec<u8>>> {
    if let Some(token) = field.strip_prefix(b"Bearer ") {
        return Some(Zeroizing::new(token.to_vec()));
    }
    let encoded = field.strip_prefix(b"Basic ").filter(|_| run.is_some())?;
    let pair = Zeroizing::new(BASE64_STANDARD.decode(encoded).ok()?);
    let colon = pair.iter().position(|byte| *byte == b':')?;
    Some(Zeroizing::new(pair.get(colon + 1..)?.to_vec()))
}

impl Bridge {
    /// Describes the runs that are open, the oldest first.
    pub(crate) fn runs(&self) -> Vec<RunStatus> {
        self.open_runs.borrow().iter().map(|run| run.facts.borrow().clone()).collect()
    }
}

/// Keeps a run open.
pub(crate) struct OpenRun {
    agent: Rc<Agent>,
    run: Rc<Run>,
    listening: Vec<Listening>,
}

impl OpenRun {
    /// Listens on a port that nobody has, on both loopback families.
    pub(crate) async fn listen(agent: &Rc<Agent>, facts: RunStatus, mirrors: Vec<Mirror>) -> Result<Self, Failure> {
        let bridge = agent.bridge.as_ref().ok_or_else(none)?;
        let number = bridge.runs.get() + 1;
        bridge.runs.set(number);
        let run = Rc::new(Run::new(number, facts, Mirrors::of(mirrors)));
        let mut listening = listen::listen(agent, 0, Some(&run)).await;
        for _ in 0..TRIES {
            // Free on one family and taken on the other.
            if listening.is_ok() {
                break;
            }
            listening = listen::listen(agent, 0, Some(&run)).await;
        }
        let open = Self { agent: Rc::clone(agent), run, listening: listening? };
        open.run.facts.borrow_mut().port = open.port();
        bridge.open_runs.borrow_mut().push(Rc::clone(&open.run));
        Ok(open)
    }

    /// Gives its number.
    pub(crate) fn number(&self) -> RunNumber {
        self.run.number
    }

    /// Gives its port.
    pub(crate) fn port(&self) -> u16 {
        self.listening.first().map_or(0, |listening| listening.address.port())
    }

    /// Lets the run in for a host: its own route's, or a registry that a mirror with that route stands for.
    pub(crate) fn open_session(&self, hostname: &Hostname, recipe: &Rc<Recipe>) -> Result<Secret<String>, Failure> {
        let bridge = self.agent.bridge.as_ref().ok_or_else(none)?;
        bridge.sessions.open(hostname, recipe, Some(self.run.number), Instant::now())
    }

    /// Lists the registries that mirrors stand for, each with the route of its mirror.
    pub(crate) fn registries(&self) -> impl Iterator<Item = (&Hostname, &Rc<Recipe>)> {
        self.run.mirrors.registries()
    }

    /// Makes its port a proxy, too: gives what that takes for a password, and the certificate of its authority.
    pub(crate) fn carry(&self, hosts: Vec<Hostname>, way_out: WayOut) -> Result<(Secret<String>, String), Failure> {
        let bridge = self.agent.bridge.as_ref().ok_or_else(none)?;
        let carrier = Carrier::new(hosts, way_out, self.port())?;
        let certificate = carrier.certificate_pem().to_owned();
        // Nobody has set it: a run is opened once.
        drop(self.run.carrier.set(carrier));
        Ok((bridge.sessions.open_proxy(self.run.number)?, certificate))
    }

    /// Opens an endpoint, and gives what it accepts.
    pub(crate) fn open_endpoint(&self, channel: Channel, recipe: &Rc<Recipe>) -> Result<Secret<String>, Failure> {
        let bridge = self.agent.bridge.as_ref().ok_or_else(none)?;
        bridge.endpoints.open(self.run.number, channel, recipe)
    }

    /// Says where that is.
    pub(crate) fn endpoint(&self, channel: Channel) -> String {
        format!("http://127.0.0.1:{}{}{}", self.port(), endpoint::PATH, channel.word())
    }

    /// Lists what was refused.
    pub(crate) fn failures(&self) -> Vec<Failure> {
        self.run.failures.borrow().iter().map(|(failure, _)| failure.clone()).collect()
    }
}

impl Drop for OpenRun {
    fn drop(&mut self) {
        self.listening.clear();
        if let Some(bridge) = &self.agent.bridge {
            bridge.open_runs.borrow_mut().retain(|run| run.number != self.run.number);
            bridge.sessions.close_run(self.run.number);
            bridge.capabilities.close_run(self.run.number);
            bridge.endpoints.close_run(self.run.number);
        }
        end_of_run::drop_left(&self.agent, self.run.number);
        self.run.is_over.set(true);
        self.run.over.notify_waiters();
    }
}

fn none() -> Failure {
    Failure::new(FailureKind::Internal, "there is no bridge")
}

const MOST_FAILURES: usize = 8;
const TRIES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_strangers_are_refused_leaves_room_for_what_a_run_is_refused() {
        let (mut noted, failure) = (Vec::new(), |what: usize| Failure::new(FailureKind::Refused, what.to_string()));
        (0..20).for_each(|what| note(&mut noted, &failure(what), false));
        (20..23).for_each(|what| note(&mut noted, &failure(what), true));
        note(&mut noted, &failure(22), true);
        let left: Vec<_> = noted.iter().map(|(failure, _)| failure.what.as_str()).collect();
        assert_eq!(left, ["3", "4", "5", "6", "7", "20", "21", "22"]);
        (30..50).for_each(|what| note(&mut noted, &failure(what), true));
        assert_eq!((noted.len(), noted[0].0.what.as_str()), (MOST_FAILURES, "20"));
    }

    #[test]
    fn a_token_is_a_bearer_or_for_a_run_the_password_of_basic() {
        let basic = format!("Basic {}", BASE64_STANDARD.encode("credmint:to:ken"));
        let of = |field: &str, run| token_of(field.as_bytes(), run).map(|token| token.to_vec());
        assert_eq!(of("Bearer token", None), Some(b"token".to_vec()));
        assert_eq!(of(&basic, Some(1)), Some(b"to:ken".to_vec()));
        assert_eq!(of(&basic, None), None);
        for wrong in ["Basic", "Basic !", "Basic dG9rZW4=", "Digest x", ""] {
            assert_eq!(of(wrong, Some(1)), None, "{wrong}");
        }
    }
}
