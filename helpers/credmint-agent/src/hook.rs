//! `after_renewal` of the settings: a program that is run after an entry or a session was renewed.
//! What was renewed comes in, an argument vector is run with a few variables, and how that ended is kept for `status`.
//! Gives it no secret, waits for it ten seconds at most, and runs it once at a time for each entry.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::{Duration, Instant};

use credmint_local_machine::{clock, environment};
use credmint_vocabulary::{Deadline, Timestamp};

use crate::agent::Agent;

/// Knows which hooks run, and how the last one ended.
#[derive(Default)]
pub(crate) struct Hooks {
    running: RefCell<BTreeSet<Renewed>>,
    last: RefCell<Option<String>>,
}

impl Hooks {
    /// Says how the last one ended, in words.
    pub(crate) fn last(&self) -> Option<String> {
        self.last.borrow().clone()
    }
}

/// What was renewed: `CREDMINT_HOST` or `CREDMINT_IDENTITY`, and its name.
pub(crate) type Renewed = (&'static str, String);

/// Runs the program in the background, unless it still runs for the same entry.
pub(crate) fn renewed(agent: &Rc<Agent>, argv: Option<&Vec<String>>, what: Renewed, expires: Option<Timestamp>) {
    let Some(argv) = argv.cloned() else { return };
    if agent.hooks.running.borrow_mut().insert(what.clone()) {
        tokio::task::spawn_local(run(Rc::clone(agent), argv, what, expires));
    }
}

async fn run(agent: Rc<Agent>, argv: Vec<String>, what: Renewed, expires: Option<Timestamp>) {
    let deadline = Deadline::after(Instant::now(), PATIENCE);
    let told = credmint_identities::tell(&argv, &variables(what.clone(), expires), deadline).await;
    let ended = told.map_or_else(|error| error.to_string(), |()| "ended with success".to_owned());
    agent.hooks.last.replace(Some(format!("{}: after the renewal of {}: {ended}", clock::now(), what.1)));
    agent.hooks.running.borrow_mut().remove(&what);
}

/// Lists its whole environment: what programs cannot do without, and what happened.
fn variables((kind, name): Renewed, expires: Option<Timestamp>) -> Vec<(String, String)> {
    let own = [environment::PATH, environment::HOME, environment::USERPROFILE, environment::SYSTEM_ROOT];
    let kept = own.into_iter().filter_map(|name| Some((name.to_owned(), environment::read(name)?)));
    let happened = [
        ("CREDMINT_EVENT".to_owned(), "renewed".to_owned()),
        (kind.to_owned(), name),
        ("CREDMINT_EXPIRES".to_owned(), expires.map(|end| end.to_string()).unwrap_or_default()),
    ];
    kept.chain(happened).collect()
}

const PATIENCE: Duration = Duration::from_secs(10);
