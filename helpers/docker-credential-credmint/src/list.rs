//! `docker-credential-credmint list`: which servers, and with which user names.
//! Nothing comes in; one JSON object without any secret goes out.
//! Asks the agent what the settings say: nobody else is asked, and nothing is minted.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use credmint_agent_protocol::{Answer, Ask, Brief, Status};
use credmint_local_machine::{ask_agent, hardening, knock, report};
use credmint_protocols::docker;
use credmint_vocabulary::{Deadline, Failure, FailureKind};

/// Serves the call.
pub(crate) fn run(program: &'static str) -> ExitCode {
    report::quiet_panics(program);
    hardening::harden_helper();
    match status(Deadline::after(Instant::now(), PATIENCE)) {
        Ok(status) => report::answer(program, None, &listed(&status)),
        Err(failure) => report::failure(program, None, &failure),
    }
}

fn listed(status: &Status) -> Vec<u8> {
    let with_token = status.providers.iter().filter(|provider| provider.token);
    docker::list(
        with_token.flat_map(|provider| provider.hosts.iter().map(|host| (host.as_str(), provider.username.as_deref()))),
    )
}

fn status(deadline: Deadline) -> Result<Status, Failure> {
    let ask = Ask::Status { settings: None, usual_settings: None };
    match ask_agent::<Brief>(ask, knock(deadline), deadline).map_err(|error| error.failure("the list"))? {
        Answer::Status(status) => Ok(status),
        Answer::Failure(failure) => Err(failure.into()),
        _ => {
            let what = "no list: the agent's answer was not understood";
            Err(Failure::new(FailureKind::Internal, what).hint("credmint agent stop"))
        }
    }
}

const PATIENCE: Duration = Duration::from_secs(10);
