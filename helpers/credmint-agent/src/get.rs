//! The engine: from a recipe to an entry, by one flight a key.
//! A recipe and a deadline come in, an entry or a failure goes out; waiters share the flight.
//! Talks to the network only through `identities` and `issuers`. Design, decisions 3 to 5.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use credmint_client_identity::ClientIdentity;
use credmint_issuers::{Before, GrantError, World};
use credmint_local_machine::clock;
use credmint_settings::Issuer;
use credmint_vocabulary::{Deadline, Failure, Timestamp};
use tokio::sync::watch;
use tokio::time::timeout_at;

use crate::agent::Agent;
use crate::entries::{Entry, Landing, Outcome};
use crate::held::Held;
use crate::recipe::Recipe;
use crate::who::Chosen;
use crate::{failure, hook, offline, sessions, who};

/// Gives a fresh entry, fit to be held for a whole run; the last good one if no fresh one can be had soon.
pub(crate) async fn entry_of(agent: &Rc<Agent>, recipe: &Rc<Recipe>, deadline: Deadline) -> Outcome {
    sessions::end_those_over(agent, clock::now(), Instant::now());
    let kept = agent.entries.get(recipe.key).filter(|entry| entry.is_alive(clock::now()));
    let Some(entry) = kept else { return use_now(recipe, make(agent, recipe, deadline).await) };
    if entry.is_fresh(clock::now()) {
        return use_now(recipe, Ok(entry));
    }
    // Nobody waits long for something better than what is still accepted.
    let made = make(agent, recipe, deadline.at_most(Instant::now(), PATIENCE_WITH_A_GOOD_ONE)).await;
    use_now(recipe, Ok(made.unwrap_or(entry)))
}

/// Gives an entry for one request through the bridge: whatever is accepted at this moment.
async fn entry_for_now(agent: &Rc<Agent>, recipe: &Rc<Recipe>, deadline: Deadline) -> Outcome {
    sessions::end_those_over(agent, clock::now(), Instant::now());
    match agent.entries.get(recipe.key).filter(|entry| entry.is_alive(clock::now())) {
        Some(entry) => use_now(recipe, Ok(entry)),
        None => use_now(recipe, make(agent, recipe, deadline).await),
    }
}

/// All that a host gets: a credential, and the bearer token besides it where the settings want one.
pub(crate) struct Pair {
    /// What the host's `issuer` granted.
    pub(crate) first: Rc<Entry>,
    /// What its `token_issuer` granted.
    pub(crate) token: Option<Rc<Entry>>,
}

impl Pair {
    /// Gives the entry that has the bearer token, if any has.
    pub(crate) fn bearer(&self) -> &Rc<Entry> {
        self.token.as_ref().unwrap_or(&self.first)
    }

    /// Gives the end of what ends first.
    pub(crate) fn expires(&self) -> Option<Timestamp> {
        self.all().filter_map(|entry| entry.expires()).min()
    }

    /// Lists what it has.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Rc<Entry>> {
        std::iter::once(&self.first).chain(&self.token)
    }
}

/// Gives all that a host gets, fit to be held for a whole run; both are asked for at the same time.
pub(crate) async fn pair_of(agent: &Rc<Agent>, recipe: &Rc<Recipe>, deadline: Deadline) -> Result<Pair, Failure> {
    let Some(token) = &recipe.token else {
        return Ok(Pair { first: entry_of(agent, recipe, deadline).await?, token: None });
    };
    let (first, token) = tokio::try_join!(entry_of(agent, recipe, deadline), entry_of(agent, token, deadline))?;
    Ok(Pair { first, token: Some(token) })
}

/// Gives all that a host gets for one request through the bridge.
pub(crate) async fn pair_for_now(agent: &Rc<Agent>, recipe: &Rc<Recipe>, deadline: Deadline) -> Result<Pair, Failure> {
    let Some(token) = &recipe.token else {
        return Ok(Pair { first: entry_for_now(agent, recipe, deadline).await?, token: None });
    };
    let both = tokio::try_join!(entry_for_now(agent, recipe, deadline), entry_for_now(agent, token, deadline));
    both.map(|(first, token)| Pair { first, token: Some(token) })
}

/// Gives all that a client gets that asks again: what is kept while it lives, if nothing fresh is to be had in a moment.
pub(crate) async fn pair_soon(agent: &Rc<Agent>, recipe: &Rc<Recipe>, deadline: Deadline) -> Result<Pair, Failure> {
    let Some(token) = &recipe.token else {
        return Ok(Pair { first: entry_soon(agent, recipe, deadline).await?, token: None });
    };
    let both = tokio::try_join!(entry_soon(agent, recipe, deadline), entry_soon(agent, token, deadline));
    both.map(|(first, token)| Pair { first, token: Some(token) })
}

async fn entry_soon(agent: &Rc<Agent>, recipe: &Rc<Recipe>, deadline: Deadline) -> Outcome {
    sessions::end_those_over(agent, clock::now(), Instant::now());
    let kept = agent.entries.get(recipe.key).filter(|entry| entry.is_alive(clock::now()));
    let is_fresh = kept.as_ref().is_some_and(|entry| entry.is_fresh(clock::now()));
    let deadline = if kept.is_some() { deadline.at_most(Instant::now(), PATIENCE_OF_WHO_ASKS_AGAIN) } else { deadline };
    let made = if is_fresh { None } else { Some(make(agent, recipe, deadline).await) };
    let best = match (made, kept) {
        (Some(Ok(made)), _) => Ok(made),
        (_, Some(kept)) => Ok(kept),
        (Some(Err(failure)), None) => Err(failure),
        (None, None) => Err(failure::too_slow(&recipe.name)),
    };
    use_now(recipe, best)
}

/// Notes that somebody uses it; making it anew is no use of it.
fn use_now(recipe: &Recipe, outcome: Outcome) -> Outcome {
    outcome.inspect(|entry| {
        entry.used.set(clock::now());
        entry.holders.borrow_mut().note(recipe.run.get().map(|run| run.number));
    })
}

/// Makes an entry anew, or waits for who is making it.
pub(crate) async fn make(agent: &Rc<Agent>, recipe: &Rc<Recipe>, deadline: Deadline) -> Outcome {
    if let Some(failure) = agent.entries.failure(recipe.key, Instant::now()) {
        return Err(failure);
    }
    agent.lock.check()?;
    let (landing, sender) = agent.entries.join(recipe.key);
    if let Some(sender) = sender {
        tokio::task::spawn_local(fly(Rc::clone(agent), Rc::clone(recipe), landing.clone(), sender));
    }
    wait(landing, recipe, deadline).await
}

async fn wait(mut landing: Landing, recipe: &Recipe, deadline: Deadline) -> Outcome {
    let slow = || failure::too_slow(&recipe.name);
    let landed = timeout_at(deadline.instant().into(), landing.wait_for(Option::is_some)).await;
    match landed {
        Ok(Ok(outcome)) => outcome.clone().unwrap_or_else(|| Err(slow())),
        _ => Err(slow()),
    }
}

/// Flies for all waiters, with a deadline of its own: the first may be gone when the last still waits.
async fn fly(agent: Rc<Agent>, recipe: Rc<Recipe>, flight: Landing, sender: watch::Sender<Option<Outcome>>) {
    let deadline = Deadline::after(Instant::now(), WHOLE_FLIGHT);
    let is_renewal = agent.entries.get(recipe.key).is_some();
    let made = mint(&agent, &recipe, deadline).await;
    if is_renewal {
        agent.metrics.counts.renewal(&recipe.name.to_string(), made.is_ok());
    }
    let wanted = agent.entries.land(recipe.key, &flight);
    let outcome = match made {
        // Who signed out meanwhile does not want it either.
        Ok(entry) if entry.sign_in.is_some_and(|own| !agent.sessions.is_current(own)) => {
            keep(&agent, Rc::new(entry), false)
        }
        Ok(entry) => keep(&agent, Rc::new(entry), wanted),
        Err((failure, remember)) => {
            agent.entries.fail(recipe.key, &failure, Instant::now(), remember);
            Err(failure)
        }
    };
    sender.send_replace(Some(outcome));
}

/// Keeps what was made; what was forgotten on its way is revoked and given to nobody.
fn keep(agent: &Rc<Agent>, entry: Rc<Entry>, wanted: bool) -> Outcome {
    if wanted {
        let again = agent.entries.get(entry.recipe.key).is_some();
        agent.keep(&entry);
        if again {
            let argv = entry.recipe.settings.agent.after_renewal.as_ref();
            hook::renewed(agent, argv, ("CREDMINT_HOST", entry.recipe.name.to_string()), entry.expires());
        }
        return Ok(entry);
    }
    let forgotten = failure::forgotten(&entry.recipe.name);
    agent.drop_entry(entry);
    Err(forgotten)
}

async fn mint(agent: &Rc<Agent>, recipe: &Rc<Recipe>, deadline: Deadline) -> Result<Entry, (Failure, Duration)> {
    let short = |failure: Failure| (failure, REMEMBERED);
    let route = recipe.route().ok_or_else(|| short(failure::no_route(&recipe.name)))?;
    if let Issuer::Offline(_) = route.issuer {
        return Err(short(offline::none_yet(agent, recipe)));
    }
    let certificate = certificate(agent, recipe, deadline).await.map_err(short)?;
    let subject = who::choose(agent, recipe, deadline).await?;
    let (now, began) = (clock::now(), Instant::now());
    let caller = recipe.caller().map_err(short)?;
    let present = present(agent, recipe);
    let before = Before { requests: &agent.requests, entry: recipe.key.digest(), present: present.as_ref() };
    let (https, authorities) = (&agent.https, &agent.authorities);
    let certificate = certificate.as_ref();
    let world = World { https, caller: &caller, authorities, certificate, before, now, deadline };
    let token = subject.as_ref().map(|chosen| &chosen.token);
    let granted = credmint_issuers::grant(route.issuer_name, route.issuer, token, &world).await;
    if let Some(own) = subject.as_ref().and_then(|chosen| chosen.sign_in) {
        offline::owned(agent, recipe, own);
    }
    let grant = match granted {
        Ok(grant) => grant,
        Err(error) => {
            let ended = ended_there(agent, subject.as_ref(), &error, deadline).await;
            let refused = || {
                let (failure, remember) = failure::of_grant(&recipe.name, route.issuer_name, &error);
                (failure::asked_by(failure, subject.as_ref().map(|one| (one.name.as_str(), &one.token))), remember)
            };
            return Err(ended.map_or_else(refused, |failure| failure::of_host(&recipe.name, failure)));
        }
    };
    let held = Held::from(grant.credential);
    Ok(Entry {
        recipe: Rc::clone(recipe),
        facts: held.facts(),
        held: held.into(),
        sign_in: subject.as_ref().and_then(|chosen| chosen.sign_in),
        identity: subject.map(|chosen| (chosen.name, chosen.token.claims)),
        notes: grant.notes,
        lease: grant.lease.into(),
        made: now,
        began,
        jitter: jitter(),
        used: clock::now().into(),
        tried: Cell::default(),
        holders: RefCell::default(),
        upstream: None.into(),
    })
}

/// Gets the certificate that the issuer wants to see: an entry of its own, made and renewed like any other.
async fn certificate(
    agent: &Rc<Agent>,
    recipe: &Recipe,
    deadline: Deadline,
) -> Result<Option<Arc<ClientIdentity>>, Failure> {
    let Some(own) = &recipe.certificate else { return Ok(None) };
    // Boxed, because it comes back here; not deeper, because what grants certificates wants none.
    let entry = Box::pin(entry_of(agent, own, deadline)).await?;
    match entry.held.get().as_deref() {
        Some(Held::Identity(identity)) => Ok(Some(Arc::clone(identity))),
        Some(Held::Token(_) | Held::Keys(_)) => Ok(None),
        None => Err(failure::locked()),
    }
}

/// Finds the certificate that the new one is to replace, as long as it is accepted.
pub(crate) fn present(agent: &Agent, recipe: &Recipe) -> Option<Arc<ClientIdentity>> {
    let entry = agent.entries.get(recipe.key).filter(|entry| entry.is_alive(clock::now()))?;
    match &*entry.held.get()? {
        Held::Identity(identity) => Some(Arc::clone(identity)),
        Held::Token(_) | Held::Keys(_) => None,
    }
}

/// Asks what the issuer's rules do to the request that makes an entry; makes none.
pub(crate) async fn preflight(
    agent: &Rc<Agent>,
    recipe: &Rc<Recipe>,
    deadline: Deadline,
) -> Result<Vec<credmint_issuers::Finding>, Failure> {
    let route = recipe.route().ok_or_else(|| failure::no_route(&recipe.name))?;
    let subject = who::choose(agent, recipe, deadline).await.map_err(|(failure, _)| failure)?;
    let (now, caller) = (clock::now(), recipe.caller()?);
    let before = Before { requests: &agent.requests, entry: recipe.key.digest(), present: None };
    let (https, authorities) = (&agent.https, &agent.authorities);
    let world = World { https, caller: &caller, authorities, certificate: None, before, now, deadline };
    let token = subject.as_ref().map(|chosen| &chosen.token);
    let found = credmint_issuers::preflight(route.issuer, token, &world).await;
    found.map_err(|error| failure::of_grant(&recipe.name, route.issuer_name, &error).0)
}

/// Finds out whether a Vault refused because it has ended the session's token, which is then over.
async fn ended_there(
    agent: &Agent,
    chosen: Option<&Chosen>,
    error: &GrantError,
    deadline: Deadline,
) -> Option<Failure> {
    let session = agent.sessions.get(chosen?.sign_in?.0)?;
    if !matches!(error, GrantError::Refused { status: 403, .. }) {
        return None;
    }
    session.was_refused(agent, deadline).await
}

/// Gives a number between 0 and 1.
pub(crate) fn jitter() -> f64 {
    let mut byte = [0];
    match SystemRandom::new().fill(&mut byte) {
        Ok(()) => f64::from(byte[0]) / 255.0,
        Err(_) => 0.5,
    }
}

/// How long a caller waits for a fresh entry while the last good one is still accepted.
const PATIENCE_WITH_A_GOOD_ONE: Duration = Duration::from_secs(3);
/// The same of a client that asks again by itself, and waits for two seconds in all.
const PATIENCE_OF_WHO_ASKS_AGAIN: Duration = Duration::from_secs(1);
/// How long one flight may take in all: it ends before its first waiter does, so that its own words are heard.
const WHOLE_FLIGHT: Duration = Duration::from_secs(9);
/// How long a failure is remembered: one `init` asks up to five times, and a person who fixed it should not wait.
pub(crate) const REMEMBERED: Duration = Duration::from_secs(3);
