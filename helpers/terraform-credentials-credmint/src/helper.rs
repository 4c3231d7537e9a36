//! One run of a credentials helper: Terraform's call becomes one question to the agent, the answer goes back.
//! Arguments and standard input come in; one JSON object, or a failure that a person can act on, goes out.
//! Shared by the three helpers for Terraform, which differ in the hosts they serve. `protocol-spec/helper-protocol.md`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use credmint_agent_protocol::{Answer, Ask, Brief, Got, WireSecret};
use credmint_local_machine::{ask_agent, ask_running, hardening, knock, report, streams};
use credmint_protocols::terraform::{self, Call, Request, Verb};
use credmint_vocabulary::{Deadline, Failure, FailureKind};
use zeroize::Zeroizing;

/// Describes a helper.
pub(crate) struct Helper {
    /// Name of its executable.
    pub(crate) name: &'static str,
    /// What `--help` prints.
    pub(crate) help: &'static str,
    /// Tells whether a host may be its own. Nobody needs an agent, a healthy one or settings without a mistake to know
    /// that nothing names the public registries, which every `init` asks about.
    pub(crate) serves: fn(&Request) -> bool,
}

impl Helper {
    /// Serves one call.
    pub(crate) fn run(&self) -> ExitCode {
        report::quiet_panics(self.name);
        hardening::harden_helper();
        let deadline = Deadline::after(Instant::now(), PATIENCE);
        match terraform::call(std::env::args_os().skip(1).collect()) {
            Ok(Call::Help) => self.print(self.help.as_bytes(), None),
            Ok(Call::Version) => self.print(format!("{} {}\n", self.name, env!("CARGO_PKG_VERSION")).as_bytes(), None),
            Ok(Call::Ask(request)) => match self.serve(&request, deadline) {
                Ok(bytes) => self.print(&bytes, Some(&request)),
                Err(failure) => self.fail(&request, &failure),
            },
            Err(error) => {
                let failure = Failure::new(FailureKind::Usage, error.to_string());
                report::failure(self.name, None, &failure.hint(format!("{} --help", self.name)))
            }
        }
    }

    fn serve(&self, request: &Request, deadline: Deadline) -> Result<Zeroizing<Vec<u8>>, Failure> {
        let knocked = if request.verb == Verb::Get { knock(deadline) } else { None };
        // What `store` brings is read to its end before anything is refused.
        let object = if request.verb == Verb::Store { Some(stored_object()?) } else { None };
        let ask = self.question(request, object);
        let hostname = request.hostname.as_str();
        let answer = match request.verb {
            _ if !(self.serves)(request) => Answer::None,
            Verb::Forget => ask_running::<Brief>(ask, deadline)
                .map(|answer| answer.unwrap_or(Answer::Done))
                .map_err(|error| error.failure(hostname))?,
            Verb::Get | Verb::Store => {
                ask_agent::<Brief>(ask, knocked, deadline).map_err(|error| error.failure(hostname))?
            }
        };
        said(answer, request)
    }

    fn question(&self, request: &Request, object: Option<WireSecret>) -> Ask {
        let got = Got {
            hostname: request.hostname.to_string(),
            program: self.name.to_owned(),
            args: request.own_arguments.clone(),
            ..Got::default()
        };
        match (request.verb, object) {
            (Verb::Forget, _) => Ask::Forget(got),
            (_, Some(object)) => Ask::Store { got, object },
            (_, None) => Ask::Get(got),
        }
    }

    /// Tells a failure. Where somebody else would be asked in our place it also stops Terraform, which otherwise goes on
    /// without a helper that fails.
    fn fail(&self, request: &Request, failure: &Failure) -> ExitCode {
        let status = report::failure(self.name, Some(request.hostname.as_str()), failure);
        let stops = failure.usurped && request.verb == Verb::Get;
        if stops { self.print(terraform::STOP, Some(request)) } else { status }
    }

    fn print(&self, bytes: &[u8], request: Option<&Request>) -> ExitCode {
        report::answer(self.name, request.map(|request| request.hostname.as_str()), bytes)
    }
}

/// Reads the object of `store` from standard input.
fn stored_object() -> Result<WireSecret, Failure> {
    let usage = |what: String| Failure::new(FailureKind::Usage, what);
    let input = streams::read_stdin(terraform::MAXIMUM_OBJECT)
        .map_err(|error| usage(format!("standard input cannot be read: {error}")))?;
    let bytes = input.ok_or_else(|| usage(format!("the object is longer than {} bytes", terraform::MAXIMUM_OBJECT)))?;
    let object = terraform::stored_object(&bytes).map_err(|error| usage(error.to_string()))?;
    Ok(object.text.into())
}

/// Says the agent's answer to Terraform.
fn said(answer: Answer, request: &Request) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let hostname = &request.hostname;
    match (request.verb, answer) {
        (_, Answer::Failure(failure)) => Err(failure.into()),
        (Verb::Get, Answer::None) => Ok(Zeroizing::new(terraform::NONE.to_vec())),
        (Verb::Get, Answer::Credential(credential)) => {
            terraform::answer(credential.token.as_ref().map(WireSecret::secret), &credential).map_err(|error| {
                let what = format!("no answer for {hostname}: {error}");
                Failure::new(FailureKind::Internal, what).hint(format!("credmint explain {hostname}"))
            })
        }
        (Verb::Forget, Answer::None | Answer::Done) | (Verb::Store, Answer::Done) => Ok(Zeroizing::new(Vec::new())),
        (Verb::Store, Answer::None) => {
            let what = format!("nothing keeps a token for {hostname}: no settings name that host");
            Err(Failure::new(FailureKind::Refused, what).hint(format!("credmint setup {hostname}")))
        }
        _ => {
            let what = format!("no answer for {hostname}: the agent's answer was not understood");
            Err(Failure::new(FailureKind::Internal, what).hint("credmint agent stop"))
        }
    }
}

/// How long a call may take in all. Terraform has no limit of its own; its registry client waits as long.
const PATIENCE: Duration = Duration::from_secs(10);
