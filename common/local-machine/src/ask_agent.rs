//! One question to the agent, wherever it is: running, to be started, or a child for this request.
//! A question and a deadline come in, the answer goes out; what the agent needs to know of the caller is supplied.
//! Asks again once if the agent died before it answered, and never otherwise: Terraform asks again by itself.

use std::io;
use std::time::{Duration, Instant};

use credmint_agent_protocol::{
    Answer, Ask, AskError, BUILD, FrameError, Login, Pasted, Reply, Request, RunWanted, VERSION, attend, converse,
};
use credmint_vocabulary::{Deadline, Failure, FailureKind};
use serde::de::DeserializeOwned;

use crate::socket::{ConnectError, Connection, connect};
use crate::start::{StartError, start_detached, start_once};
use crate::{PlaceError, agent_program, confirming, environment, places, prefilter, settings_files, supply};

/// Says why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskAgentError {
    /// There is no private place for the socket.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// There is a socket, and it cannot be used.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// No agent could be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The agent did not answer, or not in this protocol.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// `CREDMINT_AGENT` has a value that we do not know.
    #[error("CREDMINT_AGENT is neither `auto` nor `once`")]
    Mode,
}

/// Connects to an agent that runs, and says nothing yet: it wakes while its caller still makes up the question.
/// Whatever is in the way shows when the question is asked.
#[must_use]
pub fn knock(deadline: Deadline) -> Option<Connection> {
    match mode_is_once() {
        Ok(false) => connect(&places::socket_path().ok()?, deadline).ok(),
        _ => None,
    }
}

/// Asks the agent, where somebody has knocked already over that connection, and starts one where none runs. Hears the replies
/// that `R` knows: `Brief` where a credential is wanted, `Reply` for all of them.
///
/// # Errors
/// [`AskAgentError`]; a failure that the agent reports is an answer.
pub fn ask_agent<R: DeserializeOwned + Into<Reply>>(
    ask: Ask,
    knocked: Option<Connection>,
    deadline: Deadline,
) -> Result<Answer, AskAgentError> {
    let mut request = Request { version: VERSION, ask };
    request.ask.say_build(BUILD);
    let mut connection = match knocked {
        Some(connection) => connection,
        None => reach(deadline)?,
    };
    let first = match put::<R>(&mut connection, &mut request, deadline) {
        // What is dying may still hold its listener for a moment: whoever connects then is dropped as well.
        Err(AskError::Stream(error)) if went_away(&error) => {
            std::thread::sleep(DYING);
            // Whichever agent is beside us now is the one there is: it has to serve us.
            request.ask.say_build("");
            connection = reach(deadline)?;
            put::<R>(&mut connection, &mut request, deadline)?
        }
        outcome => outcome?,
    };
    // A person is asked once, whatever becomes of the agent.
    Ok(confirming::attend::<R>(&mut connection, program_of(&request), first)?)
}

/// Asks the agent that runs; `None` when none does. Hears the replies that `R` knows.
///
/// # Errors
/// [`AskAgentError`]; a failure that the agent reports is an answer.
pub fn ask_running<R: DeserializeOwned + Into<Reply>>(
    ask: Ask,
    deadline: Deadline,
) -> Result<Option<Answer>, AskAgentError> {
    let mut connection = match connect(&places::socket_path()?, deadline) {
        Err(ConnectError::Absent | ConnectError::Refused) => return Ok(None),
        outcome => outcome?,
    };
    Ok(Some(put::<R>(&mut connection, &mut Request { version: VERSION, ask }, deadline)?))
}

/// Begins a sign-in and stays with it to its end; starts an agent where none runs.
///
/// What the person has to do is given to `told`. Its error ends the sign-in. The agent has the
/// deadline of the sign-in; `patience` bounds a silent agent.
///
/// # Errors
/// [`AskAgentError`]; a failure that the agent reports is an answer.
pub fn attend_sign_in(
    login: Login,
    deadline: Deadline,
    patience: Deadline,
    told: &mut dyn FnMut(&Reply) -> io::Result<Option<Pasted>>,
) -> Result<Answer, AskAgentError> {
    let mut request = Request { version: VERSION, ask: Ask::Login(login) };
    request.ask.fill_in(settings_files::caller_settings(), settings_files::caller_usual_settings(), 0);
    request.ask.say_build(BUILD);
    let mut is_told = false;
    let mut noting = |reply: &Reply| {
        is_told = true;
        told(reply)
    };
    match attend_once(&request, (deadline, patience), &mut noting) {
        // An agent of another build makes way, and says nothing.
        Err(AskAgentError::Ask(AskError::Stream(error))) if went_away(&error) && !is_told => std::thread::sleep(DYING),
        outcome => return outcome,
    }
    request.ask.say_build("");
    attend_once(&request, (deadline, patience), told)
}

fn attend_once(
    request: &Request,
    (deadline, patience): (Deadline, Deadline),
    told: &mut dyn FnMut(&Reply) -> io::Result<Option<Pasted>>,
) -> Result<Answer, AskAgentError> {
    let mut connection = reach(deadline)?;
    connection.wait_until(patience);
    Ok(attend(&mut connection, request, &supply::supply, told)?)
}

/// Opens a run and gives the connection that it lasts as long as; starts an agent where none runs.
///
/// # Errors
/// [`AskAgentError`]; a failure that the agent reports is an answer.
pub fn open_run(wanted: RunWanted, deadline: Deadline) -> Result<(Answer, Connection), AskAgentError> {
    let mut request = Request { version: VERSION, ask: Ask::Run(wanted) };
    request.ask.say_build(BUILD);
    let mut connection = reach(deadline)?;
    match put::<Reply>(&mut connection, &mut request, deadline) {
        Err(AskError::Stream(error)) if went_away(&error) => std::thread::sleep(DYING),
        outcome => return Ok((outcome?, connection)),
    }
    request.ask.say_build("");
    let mut connection = reach(deadline)?;
    Ok((put::<Reply>(&mut connection, &mut request, deadline)?, connection))
}

fn reach(deadline: Deadline) -> Result<Connection, AskAgentError> {
    if mode_is_once()? {
        return Ok(start_once(&program()?, deadline)?);
    }
    let socket = places::socket_path()?;
    match connect(&socket, deadline) {
        Err(ConnectError::Absent | ConnectError::Refused) if prefilter::says_once() => {
            Ok(start_once(&program()?, deadline)?)
        }
        Err(ConnectError::Absent | ConnectError::Refused) => Ok(start_detached(&program()?, &socket, deadline)?),
        outcome => Ok(outcome?),
    }
}

fn mode_is_once() -> Result<bool, AskAgentError> {
    match environment::read(environment::CREDMINT_AGENT).as_deref() {
        None | Some("auto") => Ok(false),
        Some("once") => Ok(true),
        Some(_) => Err(AskAgentError::Mode),
    }
}

fn program() -> Result<std::path::PathBuf, StartError> {
    agent_program::find().ok_or(StartError::NoProgram)
}

/// Puts the question with what only now is known: the time that remains, and which settings the caller has.
fn put<R: DeserializeOwned + Into<Reply>>(
    connection: &mut Connection,
    request: &mut Request,
    deadline: Deadline,
) -> Result<Answer, AskError> {
    let remaining = deadline.remaining(Instant::now()).as_millis();
    let (named, usual) = (settings_files::caller_settings(), settings_files::caller_usual_settings());
    request.ask.fill_in(named, usual, u64::try_from(remaining).unwrap_or(u64::MAX));
    request.ask.say_phase(|| environment::read(environment::CREDMINT_PHASE));
    if let Ask::Get(got) = &request.ask {
        let line = format!("{}: waiting for a credential for {}", got.program, got.hostname);
        connection.tell_when_slow(Deadline::after(Instant::now(), SLOW), line);
    }
    converse::<R>(connection, request, &supply::supply)
}

fn program_of(request: &Request) -> &str {
    if let Ask::Get(got) = &request.ask { &got.program } else { "credmint" }
}

fn went_away(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

impl AskAgentError {
    /// Puts it into the words of a person who wanted something for a host.
    #[must_use]
    pub fn failure(&self, hostname: &str) -> Failure {
        let mut failure = Failure::new(self.kind(), format!("no answer for {hostname}: {}", self.words()));
        failure.usurped = self.is_somebody_else();
        match self.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }

    /// Tells whether another user stands where our agent should: then the port of the bridge may be theirs as well.
    fn is_somebody_else(&self) -> bool {
        matches!(
            self,
            Self::Place(PlaceError::NotOurs { .. })
                | Self::Connect(ConnectError::NotOurs { .. })
                | Self::Start(StartError::Connect(ConnectError::NotOurs { .. }))
        )
    }

    fn kind(&self) -> FailureKind {
        match self {
            Self::Place(_) | Self::Mode | Self::Start(StartError::NoProgram | StartError::NotRunnable { .. }) => {
                FailureKind::Settings
            }
            Self::Connect(ConnectError::TooLong(_)) => FailureKind::Settings,
            Self::Connect(ConnectError::NotOurs { .. }) => FailureKind::Refused,
            Self::Ask(AskError::Frame(_)) => FailureKind::Internal,
            _ => FailureKind::Unreachable,
        }
    }

    /// Joins the chain of sources, and tells slowness from silence.
    fn words(&self) -> String {
        if let Self::Ask(AskError::Stream(error)) = self {
            let slow = error.kind() == io::ErrorKind::TimedOut;
            return if slow { "the agent did not answer in time" } else { "the agent ended before it answered" }
                .to_owned();
        }
        let mut words = self.to_string();
        let mut source = std::error::Error::source(self);
        while let Some(error) = source {
            let text = error.to_string();
            if !words.ends_with(&text) {
                words = format!("{words}: {text}");
            }
            source = error.source();
        }
        words
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Place(error) => return Some(error.hint()),
            Self::Mode => "unset CREDMINT_AGENT, or set it to auto or once",
            Self::Start(StartError::NoProgram) => {
                "put credmint-agent beside this program, or set CREDMINT_AGENT_PROGRAM to its path"
            }
            Self::Start(StartError::NotRunnable { .. }) => {
                "make credmint-agent executable, or set CREDMINT_AGENT_PROGRAM"
            }
            Self::Connect(ConnectError::TooLong(_)) | Self::Start(StartError::Connect(ConnectError::TooLong(_))) => {
                "set CREDMINT_SOCKET or XDG_RUNTIME_DIR to a shorter path"
            }
            Self::Connect(ConnectError::NotOurs { .. }) => {
                "set CREDMINT_SOCKET to a path in a private directory of yours"
            }
            Self::Ask(AskError::Frame(FrameError::TooLong(_))) => {
                "what the agent needs from this environment is too large: name smaller files"
            }
            Self::Ask(AskError::Frame(_)) => "credmint agent stop (an agent of another version is running)",
            Self::Ask(_) | Self::Start(_) | Self::Connect(_) => "credmint status",
        };
        Some(hint.to_owned())
    }
}

/// After how long a person is told what is waited for.
const SLOW: Duration = Duration::from_secs(2);
/// How long a process that ends may take to close what it holds.
const DYING: Duration = Duration::from_millis(20);
