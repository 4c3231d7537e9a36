//! The agent, as this program sees it: running, not running, to be started, or a child that answers one question.
//! A question comes in, the answer or a failure for people goes out.
//! Starts an agent that stays only where the question makes no sense without one.

use std::fmt::Display;
use std::io;
use std::time::{Duration, Instant};

use credmint_agent_protocol::{
    Answer, Ask, CertificateWanted, Credential, Got, Login, Logout, Pasted, Reply, RunOpen, RunWanted, ask as converse,
};
use credmint_local_machine::{
    AskAgentError, Connection, SettingsFiles, ask_agent, ask_running, attend_sign_in, clock, environment, knock,
    open_run as open_at_agent, start, supply,
};
use credmint_vocabulary::{Deadline, Failure, FailureKind, Hostname, RouteName, Timestamp};

use crate::programs;

/// How long the agent may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Says what a request is about: a host or a provider, and the settings that this caller has.
pub(crate) fn about(name: &impl Display) -> Got {
    let deadline_ms = u64::try_from(PATIENCE.as_millis()).unwrap_or(u64::MAX);
    let (hostname, program) = (name.to_string(), "credmint".to_owned());
    Got { hostname, program, settings: settings(), deadline_ms, ..Got::default() }
}

/// Gives the settings file that the environment names, made absolute.
pub(crate) fn settings() -> Option<String> {
    let files = SettingsFiles::find().filter(|files| files.explicit)?;
    files.main.into_os_string().into_string().ok()
}

/// Asks the agent that runs; `None` when none does.
pub(crate) fn ask_if_running(ask: Ask) -> Result<Option<Answer>, Failure> {
    answered(ask_running::<Reply>(ask, deadline()).map_err(|error| failure(&error))?)
}

/// Asks the agent that runs, else a child that answers this question and ends.
pub(crate) fn ask_or_once(ask: &dyn Fn() -> Ask) -> Result<Answer, Failure> {
    let running = match environment::read(environment::CREDMINT_AGENT).as_deref() {
        None | Some("auto") => ask_if_running(ask())?,
        Some("once") => None,
        Some(_) => return Err(failure(&AskAgentError::Mode)),
    };
    if let Some(answer) = running {
        return Ok(answer);
    }
    let program = programs::agent()?;
    let mut child = start::start_once(&program, deadline()).map_err(|error| failure(&error.into()))?;
    let answer = converse(&mut child, ask(), &supply).map_err(|error| failure(&error.into()))?;
    answered(Some(answer))?.ok_or_else(|| Failure::new(FailureKind::Internal, "the agent said nothing"))
}

/// Asks the agent, and starts one that stays if there is none.
pub(crate) fn ask_or_start(ask: Ask) -> Result<Answer, Failure> {
    let answer = ask_agent::<Reply>(ask, None, deadline()).map_err(|error| failure(&error))?;
    answered(Some(answer))?.ok_or_else(|| Failure::new(FailureKind::Internal, "the agent said nothing"))
}

/// Asks for the credential of a host or a provider, which may take an issuer; `None` when the settings name no route.
pub(crate) fn get(name: &RouteName) -> Result<Option<Credential>, Failure> {
    let deadline = Deadline::after(Instant::now(), PATIENCE * 2);
    let answer = ask_agent::<Reply>(Ask::Get(about(name)), knock(deadline), deadline);
    match answered(Some(answer.map_err(|error| error.failure(&name.to_string()))?))? {
        Some(Answer::Credential(credential)) => Ok(Some(credential)),
        Some(Answer::None) | None => Ok(None),
        Some(other) => Err(unexpected(&other)),
    }
}

/// Asks for a certificate, which may take an issuer and an upstream; starts an agent if there is none.
pub(crate) fn ask_for_certificate(wanted: CertificateWanted) -> Result<Answer, Failure> {
    let deadline = Deadline::after(Instant::now(), PATIENCE * 3);
    let answer = ask_agent::<Reply>(Ask::Certificate(wanted), None, deadline).map_err(|error| failure(&error))?;
    answered(Some(answer))?.ok_or_else(|| Failure::new(FailureKind::Internal, "the agent said nothing"))
}

/// Has the bridge listen for a host, and starts an agent that stays if there is none.
pub(crate) fn listen(host: &Hostname) -> Result<(), Failure> {
    match ask_or_start(Ask::Listen(about(host)))? {
        Answer::Done => Ok(()),
        other => Err(unexpected(&other)),
    }
}

/// Opens a run that lasts as long as the connection, and starts an agent if there is none.
pub(crate) fn open_run(wanted: RunWanted) -> Result<(RunOpen, Connection), Failure> {
    // Whose credential the program is to have is asked first.
    let patience = if wanted.providers.is_empty() { PATIENCE } else { PATIENCE * 2 };
    let deadline = Deadline::after(Instant::now(), patience);
    let (answer, connection) = open_at_agent(wanted, deadline).map_err(|error| error.failure("this run"))?;
    match answered(Some(answer))? {
        Some(Answer::RunOpen(open)) => Ok((open, connection)),
        Some(other) => Err(unexpected(&other)),
        None => Err(Failure::new(FailureKind::Internal, "the agent said nothing")),
    }
}

/// Lets somebody sign in, and gives the agent's last word; what they have to do is given to `told`.
pub(crate) fn sign_in(
    login: Login,
    patience: Duration,
    told: &mut dyn FnMut(&Reply) -> io::Result<Option<Pasted>>,
) -> Result<Answer, Failure> {
    let answer = attend_sign_in(login, deadline(), Deadline::after(Instant::now(), patience), told);
    let answer = answer.map_err(|error| error.failure("the sign-in"))?;
    answered(Some(answer))?.ok_or_else(|| Failure::new(FailureKind::Internal, "the agent said nothing"))
}

/// Lets somebody sign out; `None` when no agent runs, unless something is remembered: then one is started to end that.
/// Issuers are asked on the way, so this takes longer.
pub(crate) fn sign_out(logout: Logout, remembered: bool) -> Result<Option<Answer>, Failure> {
    let deadline = Deadline::after(Instant::now(), PATIENCE * 3);
    if remembered {
        let answer =
            ask_agent::<Reply>(Ask::Logout(logout), None, deadline).map_err(|error| error.failure("the sign-out"))?;
        return answered(Some(answer));
    }
    answered(ask_running::<Reply>(Ask::Logout(logout), deadline).map_err(|error| error.failure("the sign-out"))?)
}

/// Reads the wall clock.
pub(crate) fn now() -> Timestamp {
    clock::now()
}

/// Says that an answer does not fit its question.
pub(crate) fn unexpected(answer: &Answer) -> Failure {
    match answer {
        Answer::None => Failure::new(FailureKind::Settings, "the settings name no route for this host")
            .hint("credmint explain HOST"),
        _ => Failure::new(FailureKind::Internal, "the agent answered something else than was asked")
            .hint("credmint agent stop (an agent of another version may be running)"),
    }
}

fn answered(answer: Option<Answer>) -> Result<Option<Answer>, Failure> {
    match answer {
        Some(Answer::Failure(told)) => {
            let failure = Failure::new(FailureKind::from_word(&told.kind), told.what);
            Err(told.hint.iter().fold(failure, |failure, hint| failure.hint(hint)))
        }
        other => Ok(other),
    }
}

fn deadline() -> Deadline {
    Deadline::after(Instant::now(), PATIENCE)
}

fn failure(error: &AskAgentError) -> Failure {
    error.failure("credmint")
}
