//! `confirm = true` of a host: a person is asked before anything is handed out, at the caller's terminal or by a program.
//! A recipe and who the kernel says is asking come in; consent, or the failure that takes its place, goes out.
//! Believes the caller nothing but the person's answer at its terminal. `protocol-spec/agent-protocol.md`, section 15.

mod origin;
mod refusals;

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use credmint_agent_protocol::{Confirm, Confirmed, Reply};
use credmint_identities::CommandError;
use credmint_local_machine::environment;
use credmint_settings::Settings;
use credmint_vocabulary::{Deadline, Failure, FailureKind, RouteName, Secret};
use tokio::time::{sleep, timeout};

use crate::agent::Agent;
use crate::connection::{Stream, receive, send};
use crate::recipe::{Recipe, session_of};
use crate::server::Ended;
use crate::sessions::SessionKey;
use crate::{explain, login, sessions};
use origin::Origin;
pub(crate) use refusals::Confirmations;
use refusals::{Place, Turn};

/// Lists what the program that asks needs of the caller's environment: the agent's own desktop may be another, or none.
pub(crate) fn reads(settings: &Settings, name: &RouteName) -> &'static [&'static str] {
    let is_wanted = settings.route(name).is_some_and(|route| route.host.confirm);
    if is_wanted && settings.agent.ask.is_some() { DESKTOP } else { &[] }
}

/// Tells whether a variable is one of these.
pub(crate) fn reads_it(name: &str) -> bool {
    DESKTOP.contains(&name)
}

/// The consent to one `get`: asked for once, and needed before anything is handed out.
pub(crate) struct Consent<'a> {
    agent: &'a Rc<Agent>,
    recipe: &'a Rc<Recipe>,
    peer: Option<u32>,
    desktop: Vec<(String, Secret<String>)>,
    is_needed: bool,
}

impl<'a> Consent<'a> {
    /// Makes one that is given where the settings want none.
    pub(crate) fn new(
        agent: &'a Rc<Agent>,
        recipe: &'a Rc<Recipe>,
        peer: Option<u32>,
        desktop: Vec<(String, Secret<String>)>,
    ) -> Self {
        let is_needed = recipe.route().is_some_and(|route| route.host.confirm);
        Self { agent, recipe, peer, desktop, is_needed }
    }

    /// Asks, unless it will come to nothing anyhow, and tells whether it asked: nobody is asked to allow a failure.
    pub(crate) async fn ask_if_of_use(&mut self, stream: &mut dyn Stream, deadline: Deadline) -> Result<bool, Ended> {
        let asks = self.is_needed && self.is_of_use(deadline).await;
        if asks {
            self.ask(stream).await?;
        }
        Ok(asks)
    }

    /// Asks, unless it was given already.
    pub(crate) async fn ask(&mut self, stream: &mut dyn Stream) -> Result<(), Ended> {
        if self.is_needed {
            self.get(stream).await?;
            self.is_needed = false;
        }
        Ok(())
    }

    async fn is_of_use(&self, deadline: Deadline) -> bool {
        self.take_up(deadline).await;
        let identities = explain::identities(self.agent, self.recipe).await;
        let first = identities.iter().find(|one| one.state != "absent");
        let has_answer = identities.is_empty() || first.is_some_and(|one| one.state != "failed");
        let entries = &self.agent.entries;
        entries.get(self.recipe.key).is_some()
            || has_answer && entries.failure(self.recipe.key, Instant::now()).is_none()
    }

    /// Goes on with the sign-in of an agent before this one, where it is the one that will be used: the question says whose it is.
    async fn take_up(&self, deadline: Deadline) {
        let (Some(route), Some(caller)) = (self.recipe.route(), self.recipe.caller.get()) else { return };
        let states = explain::identities(self.agent, self.recipe).await;
        let absent = states.iter().take_while(|one| one.state == "absent").count();
        for (name, identity) in route.identities().take(absent) {
            let Some(person) = identity.person() else { continue };
            let key = SessionKey::of(name, person);
            // Why it cannot be had is told by who needs it.
            if let Ok(Some(_)) = sessions::restore(self.agent, (name, key), person, &caller, deadline).await {
                return;
            }
        }
    }

    async fn get(&self, stream: &mut dyn Stream) -> Result<(), Ended> {
        let origin = Origin::of(self.peer);
        let refusals = &self.agent.confirmations;
        refusals.check(self.recipe.key, origin.run(), Instant::now())?;
        let place = self.program().map_or_else(|| Place::Terminal(origin.terminal()), |_| Place::Desktop);
        let _turn = self.turn(place, stream).await?;
        // The one before may have been of the same run.
        refusals.check(self.recipe.key, origin.run(), Instant::now())?;
        let what = self.question(&origin).await;
        let answered = match self.program() {
            Some(argv) => self.by_program(stream, argv, what).await?,
            None => at_the_terminal(stream, what).await?,
        };
        let failure = match answered {
            Answered::Yes => return Ok(()),
            Answered::Unable(failure) => return Err(self.of_host(failure).into()),
            Answered::No(how) => self.of_host(not_allowed(&how)),
        };
        refusals.remember(self.recipe.key, origin.run(), &failure, Instant::now());
        Err(failure.into())
    }

    /// Waits until nobody else is asked at the same place.
    async fn turn(&self, place: Place, stream: &mut dyn Stream) -> Result<Turn, Ended> {
        let turns = self.agent.confirmations.turns(place);
        if let Ok(turn) = Arc::clone(&turns).try_lock_owned() {
            return Ok(turn);
        }
        send(stream, &Reply::Waiting).await?;
        tokio::select! {
            turn = turns.lock_owned() => Ok(turn),
            error = login::gone(stream) => Err(Ended::Gone(error.into())),
            () = sleep(LONGEST) => Err(self.of_host(not_allowed("another question was not answered")).into()),
        }
    }

    fn program(&self) -> Option<&'a [String]> {
        self.recipe.settings.agent.ask.as_deref()
    }

    async fn by_program(&self, stream: &mut dyn Stream, argv: &[String], what: String) -> Result<Answered, Ended> {
        let mut argv = argv.to_vec();
        argv.push(what.clone());
        let asked = Confirm { what, expires_in_seconds: LONGEST.as_secs(), elsewhere: true };
        send(stream, &Reply::Confirm(asked)).await?;
        let (variables, deadline) = (self.variables(), Deadline::after(Instant::now(), LONGEST));
        // Who drops this ends the program.
        tokio::select! {
            told = credmint_identities::tell(&argv, &variables, deadline) => Ok(judged(told)),
            error = login::gone(stream) => Err(Ended::Gone(error.into())),
        }
    }

    /// Lists the program's whole environment: the caller's desktop, and what programs cannot do without.
    fn variables(&self) -> Vec<(String, String)> {
        let own = [environment::PATH, environment::HOME, environment::USERPROFILE, environment::SYSTEM_ROOT];
        let own = own.into_iter().filter_map(|name| Some((name.to_owned(), environment::read(name)?)));
        let desktop = self.desktop.iter().map(|(name, value)| (name.clone(), value.expose().clone()));
        own.chain(desktop).chain([("SSH_ASKPASS_PROMPT".to_owned(), "confirm".to_owned())]).collect()
    }

    async fn question(&self, origin: &Origin) -> String {
        let hostname = &self.recipe.name;
        let what = if self.agent.stored.has(self.recipe.stored_key()) {
            format!("the token that terraform login brought for {hostname}")
        } else {
            format!("a credential for {hostname}{}", self.as_whom().await)
        };
        credmint_vocabulary::printable(&format!("{origin} wants {what}. Allow it?"), 600)
    }

    /// Names the identities that may have an answer, down to the first that is known to, and who that is.
    async fn as_whom(&self) -> String {
        let mut names = Vec::new();
        for one in explain::identities(self.agent, self.recipe).await {
            match one.state.as_str() {
                "chosen" => names.push(self.named(&one.name, one.sub)),
                "not asked" if !names.iter().any(|(_, is_known)| *is_known) => {
                    names.push((format!("`{}`", one.name), false))
                }
                _ => {}
            }
        }
        let names: Vec<String> = names.into_iter().map(|(name, _)| name).collect();
        if names.is_empty() { String::new() } else { format!(" as {}", names.join(", else ")) }
    }

    fn named(&self, name: &str, sub: Option<String>) -> (String, bool) {
        let identity = self.recipe.settings.identities.get(name);
        let session = identity.and_then(|identity| self.agent.sessions.get(session_of(name, identity)?));
        let subject = session.and_then(|session| session.status().subject).or(sub);
        let subject = subject.map(|subject| format!(" ({})", credmint_vocabulary::printable(&subject, 100)));
        (format!("`{name}`{}", subject.unwrap_or_default()), true)
    }

    fn of_host(&self, failure: Failure) -> Failure {
        let what = format!("no credential for {}: {}", self.recipe.name, failure.what);
        Failure { what, ..failure }
    }
}

/// What came of asking.
enum Answered {
    Yes,
    /// The person did not allow it; with how that was said.
    No(String),
    /// Nobody could be asked.
    Unable(Failure),
}

/// Has the caller ask at its terminal.
async fn at_the_terminal(stream: &mut dyn Stream, what: String) -> Result<Answered, Ended> {
    let asked = Confirm { what, expires_in_seconds: LONGEST.as_secs(), elsewhere: false };
    send(stream, &Reply::Confirm(asked)).await?;
    let Ok(confirmed) = timeout(LONGEST + GRACE, receive::<Confirmed>(stream)).await else {
        return Ok(Answered::No(SILENCE.to_owned()));
    };
    Ok(match confirmed? {
        Confirmed::Yes => Answered::Yes,
        Confirmed::Nothing => Answered::No(SILENCE.to_owned()),
        Confirmed::Unable { why } => Answered::Unable(nobody_to_ask(&why)),
        _ => Answered::No("the answer was no".to_owned()),
    })
}

/// Judges a program as `ssh` judges its `SSH_ASKPASS`: success is a yes.
fn judged(told: Result<(), CommandError>) -> Answered {
    match told {
        Ok(()) => Answered::Yes,
        Err(CommandError::Timeout { .. }) => Answered::No(SILENCE.to_owned()),
        Err(error @ CommandError::Failed { .. }) => Answered::No(format!("the answer was no: {error}")),
        Err(error) => Answered::Unable(
            Failure::new(error.kind(), format!("nobody was asked to allow it: {error}"))
                .hint("put a program that asks into the settings: [agent] ask = [\"ssh-askpass\"]"),
        ),
    }
}

fn not_allowed(how: &str) -> Failure {
    Failure::new(FailureKind::Refused, format!("its use was not allowed ({how})"))
        .hint("run the command again, and answer y")
}

fn nobody_to_ask(why: &str) -> Failure {
    let why = credmint_vocabulary::printable(why, 200);
    Failure::new(FailureKind::Refused, format!("each use has to be allowed by a person, and {why}")).hint(
        "run it in front of a terminal, or name a program that asks in the settings: [agent] ask = [\"ssh-askpass\"]",
    )
}

/// What a program with a window needs of the person's desktop.
const DESKTOP: &[&str] = &[
    environment::DISPLAY,
    environment::WAYLAND_DISPLAY,
    environment::XAUTHORITY,
    environment::XDG_RUNTIME_DIR,
    environment::DBUS_SESSION_BUS_ADDRESS,
];
const SILENCE: &str = "nobody answered in time";
/// How long a person may take, and how long a question waits for another one.
const LONGEST: Duration = Duration::from_secs(60);
/// How long the caller's word that nobody answered may be on its way.
const GRACE: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests;
