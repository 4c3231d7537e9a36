//! Numbers for whoever looks after many agents: what the bridge does, what is kept, what failed.
//! Settings that name a port come in; where it listens, or why it does not, goes out.
//! Opens loopback alone, and stops nothing: a port that somebody else has is told in the status, and tried again.

mod counts;
mod listener;
mod page;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use credmint_settings::Settings;
use credmint_vocabulary::RouteName;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::agent::Agent;
use crate::loopback;
pub(crate) use counts::Counts;
use listener::Listening;

/// Holds what is counted, and where it is read.
#[derive(Default)]
pub(crate) struct Metrics {
    /// What is counted.
    pub(crate) counts: Counts,
    ports: RefCell<BTreeMap<u16, Port>>,
    wanted: Notify,
}

/// A port that settings name.
#[derive(Default)]
struct Port {
    /// The hosts and providers of these settings, by name: of others nothing is told here.
    names: BTreeSet<String>,
    listening: Vec<Listening>,
    trouble: Option<String>,
}

impl Metrics {
    /// Notes which port settings name, for their own hosts and providers.
    pub(crate) fn want(&self, settings: &Settings) {
        let Some(port) = settings.bridge.metrics_port.filter(|_| !settings.agent.once) else { return };
        let mut ports = self.ports.borrow_mut();
        let own = ports.entry(port).or_default();
        own.names.extend(settings.hosts.keys().map(ToString::to_string));
        own.names.extend(settings.providers.keys().map(|name| RouteName::Provider(name.clone()).to_string()));
        if own.listening.is_empty() {
            self.wanted.notify_one();
        }
    }

    /// Lists the addresses it listens on.
    pub(crate) fn addresses(&self) -> Vec<String> {
        let ports = self.ports.borrow();
        ports.values().flat_map(|port| &port.listening).map(|listening| listening.address.to_string()).collect()
    }

    /// Says which ports it could not have, and why.
    pub(crate) fn trouble(&self) -> Option<String> {
        let told: Vec<String> = self.ports.borrow().values().filter_map(|port| port.trouble.clone()).collect();
        (!told.is_empty()).then(|| told.join("; "))
    }

    /// Gives the ports back.
    pub(crate) fn withdraw(&self) {
        self.ports.take();
    }

    fn page(&self, agent: &Agent, port: u16) -> String {
        let names = self.ports.borrow().get(&port).map(|port| port.names.clone()).unwrap_or_default();
        page::page(agent, &names)
    }

    fn unheard(&self) -> Vec<u16> {
        self.ports.borrow().iter().filter(|(_, port)| port.listening.is_empty()).map(|(port, _)| *port).collect()
    }

    fn settle(&self, agent: &Rc<Agent>, number: u16, bound: Bound) {
        let mut ports = self.ports.borrow_mut();
        let Some(port) = ports.get_mut(&number).filter(|port| port.listening.is_empty()) else { return };
        match bound {
            Ok(bound) => (port.listening, port.trouble) = (listener::serve(agent, bound), None),
            Err((address, error)) => port.trouble = Some(taken(address, &error)),
        }
    }
}

type Bound = Result<Vec<(SocketAddr, TcpListener)>, (SocketAddr, io::Error)>;

/// Listens wherever settings want it and nothing listens yet.
pub(crate) async fn listen(agent: &Rc<Agent>) {
    if agent.bridge.is_none() {
        return;
    }
    for port in agent.metrics.unheard() {
        let bound = loopback::bind(port).await;
        agent.metrics.settle(agent, port, bound);
    }
}

/// Listens for as long as the agent lives; what could not be had is tried again.
pub(crate) async fn run(agent: Rc<Agent>) {
    loop {
        listen(&agent).await;
        let again = async {
            if agent.metrics.unheard().is_empty() {
                std::future::pending::<()>().await;
            }
            sleep(BETWEEN_TRIES).await;
        };
        tokio::select! {
            () = agent.metrics.wanted.notified() => {}
            () = again => {}
        }
    }
}

fn taken(address: SocketAddr, error: &io::Error) -> String {
    let why = if loopback::is_taken(error) { "another program holds it".to_owned() } else { error.to_string() };
    format!("nobody can read them at {address}: {why}; set another `metrics_port` in [bridge]")
}

const BETWEEN_TRIES: Duration = Duration::from_secs(5);
