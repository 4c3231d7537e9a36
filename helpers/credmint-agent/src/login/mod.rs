//! Signing in: `credmint login` asks, the agent talks to the issuer, and a person approves in a browser.
//! A request and its connection come in, a session goes out; what the person has to do is told on the way.
//! Ends when the caller goes away or the deadline passes, and then leaves nothing. `protocol-spec/agent-protocol.md`, section 10.

mod begin;
mod browser;
mod device;
mod listener;
mod pages;
mod place;
mod refused;
mod turn;

use std::rc::Rc;
use std::time::{Duration, Instant};

use credmint_agent_protocol::{Login, Reply};
use credmint_identities::{Tokens, identity_reads};
use credmint_settings::{OidcTokenKind, Person, Settings};
use credmint_vocabulary::{Deadline, Failure, FailureKind};
use tokio::io::AsyncReadExt;
use tokio::time::sleep_until;

use crate::agent::Agent;
use crate::connection::Stream;
use crate::server::{self, Ended};
use crate::sessions::{self, Remembering, Session, SessionKey, Source};
use crate::terraform_login::Run;
pub(crate) use browser::signed_in_page;
pub(crate) use listener::is_prefetch;
pub(crate) use pages::Page;
use refused::{Refusal, refused};
use turn::Turn;

/// Signs a person in, or waits for who is doing it.
pub(crate) async fn login(agent: &Rc<Agent>, stream: &mut dyn Stream, asked: &Login) -> Result<Reply, Ended> {
    Ok(Reply::SignedIn(sign_in(agent, stream, asked, None).await?.status()))
}

/// Signs a person in; with a run of `terraform login`, the session is kept when that comes back for it.
pub(crate) async fn sign_in(
    agent: &Rc<Agent>,
    stream: &mut dyn Stream,
    asked: &Login,
    run: Option<&Rc<Run>>,
) -> Result<Rc<Session>, Ended> {
    let settings = agent.settings.in_files(asked.settings.as_deref(), asked.usual_settings.as_deref());
    let settings = settings.map_err(Failure::from)?;
    let (name, person) = person(&settings, &asked.identity)?;
    can_be_kept(agent, &settings, name)?;
    let flow = flow_of(&asked.flow)?;
    let caller = server::caller_of(stream, identity_reads(&person.identity())).await?;
    let deadline = deadline_of(asked, person);
    let key = SessionKey::of(name, person);
    if run.is_none() {
        agent.terraform_login.give_way(key);
    }
    let _lead = match turn::take(agent, stream, key, (name, deadline)).await? {
        Turn::Ours(lead) => lead,
        Turn::Theirs(session) => return Ok(session),
    };
    agent.stay(settings.agent.idle_exit);
    let lifetime = lifetime_of(asked, person);
    let after_renewal = settings.agent.after_renewal.as_ref();
    let attempt = Attempt { after_renewal, agent, name, person, key, deadline, lifetime, run };
    let at = while_there(stream, (name, deadline), attempt.find(&caller)).await??;
    let session = match flow {
        Flow::Device => device::sign_in(&attempt, stream, at).await?,
        Flow::Browser | Flow::Paste => browser::sign_in(&attempt, stream, at, flow).await?,
    };
    if let Some(run) = run {
        run.settled().await;
    }
    Ok(session)
}

/// How a person approves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Browser,
    Paste,
    Device,
}

/// One sign-in that is under way.
struct Attempt<'a> {
    agent: &'a Rc<Agent>,
    name: &'a str,
    person: Person<'a>,
    key: SessionKey,
    deadline: Deadline,
    /// What is run after each renewal of the session.
    after_renewal: Option<&'a Vec<String>>,
    /// How long the session may live.
    lifetime: Option<Duration>,
    /// The run of `terraform login` that it is for.
    run: Option<&'a Rc<Run>>,
}

impl Attempt<'_> {
    /// Keeps what it came to: beyond this agent, too, where the settings want that, and before anybody uses it.
    async fn keep(&self, at: Source, tokens: Tokens) -> Result<Rc<Session>, Failure> {
        let kind = match self.person {
            Person::Oidc(person) => person.token,
            Person::VaultOidc(_) => OidcTokenKind::Access,
        };
        tokens.subject(kind).map_err(|error| refused(self.name, &error))?;
        let sign_in = (self.key, self.agent.sessions.next());
        let session = Session::new(self.name, sign_in, kind, at, tokens);
        session.after_renewal.replace(self.after_renewal.cloned());
        self.lifetime.into_iter().for_each(|life| session.live_for(life));
        if let Some(remembering) = sessions::item(self.name, self.person).map(Remembering::new) {
            // Whoever wants an end to it does not want it to begin again.
            self.lifetime.iter().for_each(|_| remembering.close());
            let _ = session.remembering.set(remembering);
        }
        match self.run {
            Some(run) => run.hold(&session),
            None => sessions::sign_in(self.agent, &session).await,
        }
        Ok(session)
    }

    fn refused(&self, error: &dyn Refusal) -> Failure {
        refused(self.name, error)
    }
}

/// Does something for as long as the caller is there and there is time.
async fn while_there<T>(
    stream: &mut dyn Stream,
    (name, deadline): (&str, Deadline),
    work: impl Future<Output = T>,
) -> Result<T, Ended> {
    tokio::select! {
        done = work => Ok(done),
        error = gone(stream) => Err(Ended::Gone(error.into())),
        () = sleep_until(deadline.instant().into()) => Err(too_late(name).into()),
    }
}

/// Waits until the caller goes away; what it says meanwhile was not asked for.
pub(crate) async fn gone(stream: &mut dyn Stream) -> std::io::Error {
    let mut unasked = zeroize::Zeroizing::new([0; 256]);
    loop {
        match stream.read(&mut *unasked).await {
            Ok(0) => return std::io::ErrorKind::UnexpectedEof.into(),
            Ok(_) => {}
            Err(error) => return error,
        }
    }
}

fn too_late(name: &str) -> Failure {
    Failure::new(FailureKind::Unreachable, format!("nobody finished the sign-in of `{name}` in time"))
        .hint(format!("credmint login {name}"))
}

/// Finds the identity; no name means the only one that there is.
fn person<'a>(settings: &'a Settings, name: &str) -> Result<(&'a str, Person<'a>), Failure> {
    let people: Vec<(&str, Person<'_>)> = people(settings).collect();
    let only = if let [only] = people.as_slice() { Some(*only).filter(|_| name.is_empty()) } else { None };
    let named = people.iter().copied().find(|(own, _)| *own == name);
    named.or(only).ok_or_else(|| no_person(&people, name))
}

/// Lists the identities of people.
fn people(settings: &Settings) -> impl Iterator<Item = (&str, Person<'_>)> {
    settings.identities.iter().filter_map(|(name, identity)| Some((name.as_str(), identity.person()?)))
}

fn no_person(people: &[(&str, Person<'_>)], name: &str) -> Failure {
    let commands: Vec<String> = people.iter().map(|(name, _)| format!("credmint login {name}")).collect();
    let what = match (people, name) {
        ([], _) => "no identity of the settings is a person's".to_owned(),
        (_, "") => "the settings have more than one identity that a person signs in for".to_owned(),
        _ => format!("`{name}` is no identity that a person signs in for"),
    };
    let hint = match people {
        [] => "add one to the settings: [identity.me] with kind = \"oidc\", issuer and client_id".to_owned(),
        _ => commands.join(" or "),
    };
    Failure::new(FailureKind::Settings, what).hint(hint)
}

fn can_be_kept(agent: &Agent, settings: &Settings, name: &str) -> Result<(), Failure> {
    if agent.bridge.is_some() && !settings.agent.once {
        return Ok(());
    }
    let what = format!("the sign-in of `{name}` needs an agent that stays: nothing would keep it");
    let hint = format!("do not ask for CREDMINT_AGENT=once or mode = \"once\", then credmint login {name}");
    Err(Failure::new(FailureKind::Settings, what).hint(hint))
}

fn flow_of(word: &str) -> Result<Flow, Failure> {
    match word {
        "" | "browser" => Ok(Flow::Browser),
        "paste" => Ok(Flow::Paste),
        "device" => Ok(Flow::Device),
        _ => Err(Failure::new(FailureKind::Usage, "the agent does not know this way to sign in").hint(server::RESTART)),
    }
}

/// Gives the life of the session: what was asked for, but never more than the settings allow.
fn lifetime_of(asked: &Login, person: Person<'_>) -> Option<Duration> {
    let asked = Some(Duration::from_millis(asked.lifetime_ms)).filter(|life| !life.is_zero());
    asked.into_iter().chain(person.lifetime()).min()
}

/// Gives the deadline of the whole sign-in: the caller's, else the settings'; never more than an hour.
fn deadline_of(asked: &Login, person: Person<'_>) -> Deadline {
    let wanted = match asked.deadline_ms {
        0 => person.sign_in_timeout(),
        milliseconds => Duration::from_millis(milliseconds),
    };
    Deadline::after(Instant::now(), wanted.min(LONGEST))
}

const LONGEST: Duration = Duration::from_secs(60 * 60);

#[cfg(test)]
mod tests;
