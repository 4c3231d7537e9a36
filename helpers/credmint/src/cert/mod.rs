//! `credmint cert HOST`: the certificate that a host gets, and whether its upstream accepts it.
//! A hostname as people type it goes to the agent, a report comes back as text, PEM or JSON, with an exit status.
//! Never sees the private key: the agent sends public data alone.

mod text;

use std::process::ExitCode;

use clap::Args;
use credmint_agent_protocol::{Answer, CertificateReport, CertificateWanted, SelfCheck};
use credmint_vocabulary::{Failure, FailureKind, Hostname};
use serde_json::json;

use crate::out::Style;
use crate::{agent, out, people_host};

/// `credmint cert`.
#[derive(Debug, Args)]
pub(crate) struct CertArguments {
    /// Hostname as it stands in a module or provider address.
    #[arg(value_name = "HOST")]
    host: String,
    /// Print the certificates that are presented, in PEM, and nothing else.
    #[arg(long, conflicts_with = "json")]
    pem: bool,
    /// Present it to the host's upstream, and say whether it is accepted.
    #[arg(long, conflicts_with = "pem")]
    self_check: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(arguments: &CertArguments) -> Result<ExitCode, Failure> {
    let host = people_host::read(&arguments.host)?;
    let report = ask(&host.hostname, arguments.self_check)?;
    if arguments.json {
        out::json(&json!({ "hostname": host.hostname.as_str(), "note": host.note, "certificate": report }));
    } else if arguments.pem {
        out::text(&report.certificate_pem);
    } else {
        host.note.iter().for_each(|note| out::text(&format!("note: {note}")));
        out::text(&text::of(&host.hostname, &report, agent::now(), Style::of_stdout()));
    }
    Ok(ExitCode::from(report.self_check.as_ref().map_or(0, status)))
}

fn ask(hostname: &Hostname, self_check: bool) -> Result<CertificateReport, Failure> {
    match agent::ask_for_certificate(CertificateWanted { got: agent::about(hostname), self_check })? {
        Answer::Certificate(report) => Ok(report),
        Answer::None => Err(Failure::new(FailureKind::Settings, format!("the settings name no route for {hostname}"))
            .hint(format!("credmint explain {hostname}"))),
        other => Err(agent::unexpected(&other)),
    }
}

/// Gives the exit status that says what the upstream made of the certificate.
fn status(check: &SelfCheck) -> u8 {
    match check.outcome.as_str() {
        "accepted" => 0,
        "not-asked" => 1,
        _ => FailureKind::from_word(check.kind.as_deref().unwrap_or_default()).exit_status(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_status_says_what_the_upstream_made_of_it() {
        let check = |outcome: &str, kind: Option<&str>| {
            status(&SelfCheck { outcome: outcome.into(), kind: kind.map(Into::into), ..SelfCheck::default() })
        };
        assert_eq!((check("accepted", None), check("not-asked", None)), (0, 1));
        assert_eq!((check("refused", Some("refused")), check("failed", Some("unreachable"))), (77, 69));
        assert_eq!((check("failed", Some("settings")), check("of a later version", None)), (78, 70));
    }
}
