//! One run of a program that hands a provider's credential to a foreign client: one question to the agent, one answer.
//! What was asked comes in; the client's own form of the credential, or a failure that a person can act on, goes out.
//! Shared by the programs of the providers, which differ in that form. Nothing is written before it is whole.

#[path = "form.rs"]
mod form;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use credmint_agent_protocol::{Answer, Ask, Brief, Credential, Got};
use credmint_local_machine::{ask_agent, clock, hardening, knock, last_failure, report};
use credmint_protocols::{Asked, CallError};
use credmint_vocabulary::{Deadline, Failure, FailureKind, Phase, RouteName};
use form::{Form, written};

/// Describes a program.
pub(crate) struct Program {
    /// Name of its executable.
    pub(crate) name: &'static str,
    /// What `--help` prints.
    pub(crate) help: &'static str,
    /// What is printed, and the exit status, when no settings name the provider; `None`: that is a failure.
    pub(crate) absent: Option<(&'static [u8], u8)>,
    /// How the client is told a failure on standard output, with exit status 0; `None`: on standard error.
    pub(crate) failed: Option<fn(&Failure) -> Vec<u8>>,
}

impl Program {
    /// Serves one call.
    pub(crate) fn run(&self, asked: impl FnOnce() -> Result<Asked, CallError>, form: Form<'_>) -> ExitCode {
        report::quiet_panics(self.name);
        hardening::harden_helper();
        let deadline = Deadline::after(Instant::now(), PATIENCE);
        match asked() {
            Ok(Asked::Help) => self.print(self.help.as_bytes()),
            Ok(Asked::Version) => self.print(format!("{} {}\n", self.name, env!("CARGO_PKG_VERSION")).as_bytes()),
            Ok(Asked::Nothing) => ExitCode::SUCCESS,
            Ok(Asked::Provider(name)) => self.serve((&name, None), form, deadline),
            Ok(Asked::During(phase, name)) => self.serve((&name, Some(phase)), form, deadline),
            Err(error) => {
                let usage = Failure::new(FailureKind::Usage, error.to_string());
                self.fail(None, &usage.hint(format!("{} --help", self.name)))
            }
        }
    }

    fn serve(&self, (name, phase): (&str, Option<Phase>), form: Form<'_>, deadline: Deadline) -> ExitCode {
        let shown = format!("provider/{name}");
        match self.credential((name, phase), deadline) {
            Ok(Some(credential)) => match written(&credential, form) {
                Ok(bytes) => self.print(&bytes),
                Err(why) => {
                    let what = format!("no answer for {shown}: {why}");
                    let hint = format!("credmint explain {shown}");
                    self.fail(Some(&shown), &Failure::new(FailureKind::Settings, what).hint(hint))
                }
            },
            Ok(None) => self.absent(&shown),
            Err(failure) => self.fail(Some(&shown), &failure),
        }
    }

    fn credential(
        &self,
        (name, phase): (&str, Option<Phase>),
        deadline: Deadline,
    ) -> Result<Option<Credential>, Failure> {
        let route = RouteName::provider(name).map_err(|error| Failure::new(FailureKind::Usage, error.to_string()))?;
        let hostname = route.to_string();
        let (program, phase) = (self.name.to_owned(), phase.map(|phase| phase.to_string()));
        let got = Got { hostname: hostname.clone(), program, phase, ..Got::default() };
        match ask_agent::<Brief>(Ask::Get(got), knock(deadline), deadline).map_err(|error| error.failure(&hostname))? {
            Answer::Credential(credential) => Ok(Some(credential)),
            Answer::None => Ok(None),
            Answer::Failure(failure) => Err(failure.into()),
            _ => {
                let what = format!("no answer for {hostname}: the agent's answer was not understood");
                Err(Failure::new(FailureKind::Internal, what).hint("credmint agent stop"))
            }
        }
    }

    fn absent(&self, shown: &str) -> ExitCode {
        match self.absent {
            Some((bytes, status)) => {
                let printed = self.print(bytes);
                if printed == ExitCode::SUCCESS { ExitCode::from(status) } else { printed }
            }
            None => {
                let what = format!("the settings have no {shown}");
                let hint = format!("credmint explain {shown}");
                self.fail(Some(shown), &Failure::new(FailureKind::Settings, what).hint(hint))
            }
        }
    }

    fn fail(&self, shown: Option<&str>, failure: &Failure) -> ExitCode {
        match self.failed {
            Some(words) => {
                last_failure::record(self.name, shown, failure, clock::now());
                self.print(&words(failure))
            }
            None => report::failure(self.name, shown, failure),
        }
    }

    fn print(&self, bytes: &[u8]) -> ExitCode {
        report::answer(self.name, None, bytes)
    }
}

/// How long a call may take in all: Google's libraries wait for five seconds at least, thirty as a rule; the others longer.
const PATIENCE: Duration = Duration::from_secs(20);
