//! The engine: from a recipe to an entry, by one flight a key.
//! A recipe and a deadline come in, an entry or a failure goes out; waiters share the flight.
//! Talks to the network only through `identities` and `issuers`. Design, decisions 3 to 5.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use credmint_identities::SubjectToken;
use credmint_issuers::World;
use credmint_local_machine::clock;
use credmint_vocabulary::{Deadline, Failure};
use tokio::sync::watch;
use tokio::time::timeout_at;

use crate::agent::Agent;
use crate::entries::{Entry, Landing, Outcome};
use crate::failure;
use crate::recipe::Recipe;

/// Gives a fresh entry, fit to be held for a whole run; the last good one if no fresh one can be had soon.
pub(crate) async fn entry_of(agent: &Rc<Agent>, recipe: &Rc<Recipe>, deadline: Deadline) -> Outcome {
    let kept = agent.entries.get(recipe.key).filter(|entry| entry.is_alive(clock::now()));
    let Some(entry) = kept else { return use_now(make(agent, recipe, deadline).await) };
    if entry.is_fresh(clock::now()) {
        return use_now(Ok(entry));
    }
    // Nobody waits long for something better than what is still accepted.
    let made = make(agent, recipe, deadline.at_most(Instant::now(), PATIENCE_WITH_A_GOOD_ONE)).await;
    use_now(Ok(made.unwrap_or(entry)))
}

/// Gives an entry for one request through the bridge: whatever is accepted at this moment.
pub(crate) async fn entry_for_now(agent: &Rc<Agent>, recipe: &Rc<Recipe>, deadline: Deadline) -> Outcome {
    match agent.entries.get(recipe.key).filter(|entry| entry.is_alive(clock::now())) {
        Some(entry) => use_now(Ok(entry)),
        None => use_now(make(agent, recipe, deadline).await),
    }
}

/// Notes that somebody uses it; making it anew is no use of it.
fn use_now(outcome: Outcome) -> Outcome {
    outcome.inspect(|entry| entry.used.set(clock::now()))
}

/// Makes an entry anew, or waits for who is making it.
pub(crate) async fn make(agent: &Rc<Agent>, recipe: &Rc<Recipe>, deadline: Deadline) -> Outcome {
    if let Some(failure) = agent.entries.failure(recipe.key, Instant::now()) {
        return Err(failure);
    }
    let (landing, sender) = agent.entries.join(recipe.key);
    if let Some(sender) = sender {
        tokio::task::spawn_local(fly(Rc::clone(agent), Rc::clone(recipe), landing.clone(), sender));
    }
    wait(landing, recipe, deadline).await
}

async fn wait(mut landing: Landing, recipe: &Recipe, deadline: Deadline) -> Outcome {
    let slow = || failure::too_slow(&recipe.hostname);
    let landed = timeout_at(deadline.instant().into(), landing.wait_for(Option::is_some)).await;
    match landed {
        Ok(Ok(outcome)) => outcome.clone().unwrap_or_else(|| Err(slow())),
        _ => Err(slow()),
    }
}

/// Flies for all waiters, with a deadline of its own: the first may be gone when the last still waits.
async fn fly(agent: Rc<Agent>, recipe: Rc<Recipe>, flight: Landing, sender: watch::Sender<Option<Outcome>>) {
    let deadline = Deadline::after(Instant::now(), WHOLE_FLIGHT);
    let made = mint(&agent, &recipe, deadline).await;
    let wanted = agent.entries.land(recipe.key, &flight);
    let outcome = match made {
        Ok(entry) => keep(&agent, Rc::new(entry), wanted),
        Err((failure, remember)) => {
            agent.entries.fail(recipe.key, &failure, Instant::now(), remember);
            Err(failure)
        }
    };
    sender.send_replace(Some(outcome));
}

/// Keeps what was made; what was forgotten on its way is revoked and given to nobody.
fn keep(agent: &Agent, entry: Rc<Entry>, wanted: bool) -> Outcome {
    if wanted {
        agent.keep(&entry);
        return Ok(entry);
    }
    let forgotten = failure::forgotten(&entry.recipe.hostname);
    agent.drop_entry(entry);
    Err(forgotten)
}

async fn mint(agent: &Agent, recipe: &Rc<Recipe>, deadline: Deadline) -> Result<Entry, (Failure, Duration)> {
    let short = |failure: Failure| (failure, REMEMBERED);
    let route = recipe.route().ok_or_else(|| short(failure::no_route(&recipe.hostname)))?;
    let subject = choose(agent, recipe, deadline).await?;
    let (now, began) = (clock::now(), Instant::now());
    let world = World { https: &agent.https, caller: &recipe.caller, authorities: &agent.authorities, now, deadline };
    let token = subject.as_ref().map(|(_, token)| token);
    let grant = credmint_issuers::grant(route.issuer_name, route.issuer, token, &world)
        .await
        .map_err(|error| failure::of_grant(&recipe.hostname, route.issuer_name, &error))?;
    Ok(Entry {
        recipe: Rc::clone(recipe),
        held: grant.credential.into(),
        identity: subject.map(|(name, token)| (name, token.claims)),
        notes: grant.notes,
        lease: grant.lease.into(),
        made: now,
        began,
        jitter: jitter(),
        used: clock::now().into(),
        tried: Cell::default(),
        upstream: None.into(),
    })
}

/// Asks the identities in order: absent means the next one, broken means a failure.
async fn choose(
    agent: &Agent,
    recipe: &Recipe,
    deadline: Deadline,
) -> Result<Option<(String, SubjectToken)>, (Failure, Duration)> {
    let mut asked = Vec::new();
    for (name, identity) in recipe.route().into_iter().flat_map(|route| route.identities()) {
        match credmint_identities::ask(identity, &recipe.caller, &agent.https, clock::now(), deadline).await {
            Ok(Some(token)) => return Ok(Some((name.to_owned(), token))),
            Ok(None) => asked.push(format!("{name}: {}", failure::absent(identity))),
            Err(error) => return Err(failure::of_identity(&recipe.hostname, name, &error)),
        }
    }
    if asked.is_empty() { Ok(None) } else { Err((failure::nobody(&recipe.hostname, &asked), REMEMBERED)) }
}

/// Gives a number between 0 and 1.
fn jitter() -> f64 {
    let mut byte = [0];
    match SystemRandom::new().fill(&mut byte) {
        Ok(()) => f64::from(byte[0]) / 255.0,
        Err(_) => 0.5,
    }
}

/// How long a caller waits for a fresh entry while the last good one is still accepted.
const PATIENCE_WITH_A_GOOD_ONE: Duration = Duration::from_secs(3);
/// How long one flight may take in all: it ends before its first waiter does, so that its own words are heard.
const WHOLE_FLIGHT: Duration = Duration::from_secs(9);
/// How long a failure is remembered: one `init` asks up to five times, and a person who fixed it should not wait.
const REMEMBERED: Duration = Duration::from_secs(3);
