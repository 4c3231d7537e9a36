//! A run at the agent, as its owner sees it: begun, held by an open connection, ended.
//! The environment's settings come in, a port and session tokens go out; at the end, what was refused.
//! When the agent goes away meanwhile, somebody stands in for it at the port, and says so.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use credmint_agent_protocol::{
    Answer, Reply, RunEnd, RunHost, RunOpen, RunProvider, RunProxy, RunWanted, receive, say,
};
use credmint_local_machine::{Connection, HeldRunDirectory, RunDirectory};
use credmint_vocabulary::{Deadline, Failure, FailureKind, Hostname, Secret, printable};
use serde_json::Value;

use super::carrier::Ways;
use super::{configuration, providers, proxy, show, stand_in};
use crate::agent;

/// One host of a run.
pub(crate) struct Served {
    /// Its name.
    pub(crate) hostname: Hostname,
    /// What the bridge accepts for it.
    pub(crate) token: Secret<String>,
    /// What it says it offers, if it was asked.
    pub(crate) services: Option<BTreeMap<String, Value>>,
    /// Why it could not be asked.
    pub(crate) unasked: Option<String>,
}

/// The proxy of a run.
pub(crate) struct OpenProxy {
    /// What it takes for a password.
    pub(crate) token: Secret<String>,
    /// Certificate of its authority, in PEM form.
    pub(crate) certificate: String,
}

/// Keeps a run open.
pub(crate) struct OpenRun {
    /// Port of the bridge.
    pub(crate) port: u16,
    /// Who can be reached there.
    pub(crate) hosts: Vec<Served>,
    /// Registries that a mirror stands for and that are no hosts of the run themselves.
    pub(crate) registries: Vec<Served>,
    /// Who cannot, because a person allows each use.
    pub(crate) confirm: Vec<Hostname>,
    /// The proxy at that port, if the run has one.
    pub(crate) proxy: Option<OpenProxy>,
    /// What the program gets of the providers that were wanted.
    pub(crate) providers: Vec<RunProvider>,
    directory: RunDirectory,
    _held: HeldRunDirectory,
}

/// Watches over the connection that a run lasts as long as.
pub(crate) struct Watch {
    writing: Connection,
    over: Receiver<Over>,
}

/// How a run was over.
pub(crate) enum Over {
    /// In good order; this was refused, and that could not be revoked.
    Ended(Vec<Failure>, Vec<Failure>),
    /// The agent went away before.
    AgentGone,
}

impl OpenRun {
    /// Begins one, and starts an agent if there is none.
    pub(crate) fn begin(program: &OsStr, ways: &Ways, wanted: RunWanted) -> Result<(Self, Connection), Failure> {
        let name = Path::new(program).file_name().unwrap_or(program).to_string_lossy();
        // Who reaches them by their names reads their documents, too.
        let described = if ways.has_blocks { configuration::described(program)? } else { show::names_of_run()? };
        let (mirrors, proxy) = (ways.mirrors.wanted(), ways.has_proxy.then(proxy::wanted));
        let (settings, program) = (agent::settings(), printable(&name, 60));
        let names = wanted.providers.clone();
        let wanted = RunWanted { settings, program, described, mirrors, proxy, ..wanted };
        let (open, connection) = providers::waiting_for(&names, || agent::open_run(wanted))?;
        let RunOpen { port, directory, hosts, confirm, registries, proxy, providers } = open;
        if providers.is_empty() && !names.is_empty() {
            return Err(providers::unknown_to_agent());
        }
        if ways.has_proxy && proxy.is_none() && !hosts.is_empty() {
            return Err(proxy::unknown_to_agent());
        }
        let (directory, held) = RunDirectory::hold(PathBuf::from(directory));
        let hosts = hosts.into_iter().map(served).collect::<Result<_, _>>()?;
        let registries = registries.into_iter().map(served).collect::<Result<_, _>>()?;
        let confirm = confirm.iter().map(|name| hostname(name)).collect::<Result<_, _>>()?;
        let proxy = proxy.map(|RunProxy { token, certificate }| OpenProxy { token: token.into_secret(), certificate });
        Ok((Self { port, hosts, registries, confirm, proxy, providers, directory, _held: held }, connection))
    }

    /// Gives the directory for its files.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Removes its files; the agent has done so, if it was there to the end.
    pub(crate) fn remove(self) {
        self.directory.remove();
    }
}

impl Watch {
    /// Begins to watch, from a thread of its own.
    pub(crate) fn over(connection: Connection, port: u16) -> Result<Self, Failure> {
        let (reading, writing) = connection.split().map_err(|error| broken(&error))?;
        Ok(Self { writing, over: watch(reading, port) })
    }

    /// Ends the run, and gives the agent's last words.
    pub(crate) fn end(mut self) -> Over {
        // Whether it was heard shows in what comes.
        drop(say(&mut self.writing, &RunEnd { end: true }));
        self.over.recv_timeout(LAST_WORDS).unwrap_or(Over::AgentGone)
    }
}

fn served(host: RunHost) -> Result<Served, Failure> {
    let RunHost { hostname: name, token, services, unasked } = host;
    Ok(Served { hostname: hostname(&name)?, token: token.into_secret(), services, unasked })
}

fn hostname(name: &str) -> Result<Hostname, Failure> {
    Hostname::from_comparison_form(name).map_err(|error| broken(&std::io::Error::other(error.to_string())))
}

/// Waits for the end of the run on a thread of its own.
fn watch(mut reading: Connection, port: u16) -> Receiver<Over> {
    let (sender, receiver) = channel();
    reading.wait_until(Deadline::after(Instant::now(), FOR_EVER));
    thread::spawn(move || {
        if let Ok(Reply::RunOver(over)) = receive::<Answer>(&mut reading) {
            let all = |failures: Vec<_>| failures.into_iter().map(Into::into).collect();
            return sender.send(Over::Ended(all(over.failures), all(over.not_revoked))).unwrap_or_default();
        }
        sender.send(Over::AgentGone).unwrap_or_default();
        stand_in::serve(port);
    });
    receiver
}

fn broken(error: &std::io::Error) -> Failure {
    Failure::new(FailureKind::Internal, format!("the run with the agent: {error}")).hint("credmint agent status")
}

/// Longer than anything runs.
const FOR_EVER: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);
/// How long the agent may take to say what became of a run: it revokes before.
const LAST_WORDS: Duration = Duration::from_secs(5);
