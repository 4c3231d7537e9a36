//! What was granted for a run and nobody else has ends with the run: it is revoked at the issuer, as far as that can be.
//! The number of a run comes in, what could not be revoked goes out in words.
//! Leaves alone what somebody else was given, too. `protocol-spec/bridge-protocol.md` §11.

use std::rc::Rc;
use std::time::{Duration, Instant};

use credmint_settings::AfterRun;
use credmint_vocabulary::{Deadline, Failure, FailureKind};

use crate::agent::Agent;
use crate::bridge::RunNumber;
use crate::entries::Entry;

/// Revokes what a run leaves behind, while its caller waits; says what could not be revoked.
pub(crate) async fn give_back(agent: &Agent, run: RunNumber) -> Vec<Failure> {
    let deadline = Deadline::after(Instant::now(), PATIENCE);
    let _under_way = Rc::clone(&agent.revoking);
    let mut failures = Vec::new();
    for entry in agent.take_left_by(run, is_to_end) {
        let Some(lease) = entry.lease.take() else { continue };
        if let Err(error) = credmint_issuers::revoke(lease, &agent.https, deadline).await {
            let what = format!("what the run got for {} could not be revoked: {error}", entry.recipe.name);
            failures.push(Failure::new(FailureKind::Unreachable, what).hint(hint(&entry)));
        }
    }
    // The buffers of an idle connection have the tokens that were sent over it.
    agent.https.forget();
    failures
}

/// Hands over to who revokes later what is left of a run that ended without a word.
pub(crate) fn drop_left(agent: &Agent, run: RunNumber) {
    agent.take_left_by(run, is_to_end).into_iter().for_each(|entry| agent.drop_entry(entry));
}

/// Tells whether it was handed out, can be revoked, and the settings want that; or is of no use to any other run.
fn is_to_end(entry: &Entry) -> bool {
    if entry.recipe.run.get().is_some_and(|run| run.is_special) {
        return !entry.lease.is_sealed();
    }
    let wanted = entry.recipe.route().is_some_and(|route| route.host.policy.after_run == AfterRun::Revoke);
    wanted && entry.is_handed_out() && entry.lease.is_open()
}

fn hint(entry: &Entry) -> String {
    match entry.expires() {
        Some(end) => format!("it ends by itself at {end}; revoke it at the issuer if that is too late"),
        None => "revoke it at the issuer".to_owned(),
    }
}

/// How long the end of a run may take.
const PATIENCE: Duration = Duration::from_secs(3);
