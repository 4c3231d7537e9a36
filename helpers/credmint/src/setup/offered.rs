//! What a host offers, by its own discovery document, as the agent reads it with the host's credential.
//! A hostname and what the settings say of it come in; services, and a note where they could not be had, go out.
//! Asks the agent that runs, or a child that answers this question and ends; an answer that is missing stops no setup.

use credmint_agent_protocol::{Answer, Ask, ServicesOffered};
use credmint_local_machine::own_uid;
use credmint_settings::Bridge;
use credmint_vocabulary::{Failure, Hostname};

use super::host_settings::HostSettings;
use super::services::Services;
use crate::agent;

/// Gives the services of a host on the bridge, and what people should know of them.
pub(crate) fn services(host: &Hostname, settings: &HostSettings, asks: bool) -> (Services, Option<String>) {
    let port = Bridge { port: settings.port, ..Bridge::default() }.port_for(own_uid());
    if !asks || !settings.complete {
        return (Services::on_bridge(host, port), None);
    }
    match ask(host) {
        Ok(Some(offered)) => (Services::offered(host, port, &offered.services), None),
        Ok(None) => (Services::on_bridge(host, port), None),
        Err(failure) => (Services::on_bridge(host, port), Some(note(host, &failure))),
    }
}

fn ask(host: &Hostname) -> Result<Option<ServicesOffered>, Failure> {
    match agent::ask_or_once(&|| Ask::Services(agent::about(host)))? {
        Answer::Services(offered) => Ok(Some(offered)),
        Answer::None => Ok(None),
        other => Err(agent::unexpected(&other)),
    }
}

fn note(host: &Hostname, failure: &Failure) -> String {
    format!(
        "{host} was not asked which services it has ({}): modules and providers are taken to be where they usually are; \
         run `credmint setup {host}` again when it can be asked",
        failure.what
    )
}
