//! Renewal of sessions: one flight a session, for who asks and while nobody does.
//! A session and a deadline come in, a subject token goes out.
//! A flight goes to its end whoever goes away: the issuer may have taken the old refresh token already.

use std::rc::Rc;
use std::time::{Duration, Instant};

use credmint_identities::{SubjectToken, Tokens};
use credmint_local_machine::clock;
use credmint_vocabulary::{Deadline, Failure, Timestamp};
use tokio::sync::watch;
use tokio::time::timeout_at;

use super::remembering::Remembering;
use super::session::{Session, WHOLE_FLIGHT};
use super::source::{NotRenewed, Source};
use crate::agent::Agent;
use crate::{failure, hook};

/// Gives the subject token of a session, renewed when it is due; the last good one if no new one can be had soon.
pub(crate) async fn subject(
    agent: &Rc<Agent>,
    session: &Rc<Session>,
    deadline: Deadline,
) -> Result<SubjectToken, Failure> {
    super::end_those_over(agent, clock::now(), Instant::now());
    session.used.set(clock::now());
    let kept = session.kept().map_err(|error| failure::of_session(&error))?;
    if !session.can_be_renewed() || !kept.is_due(clock::now()) {
        return session.subject_now();
    }
    if !kept.is_alive(clock::now()) {
        renew(agent, session, deadline).await?;
    } else if session.has_rested() || session.flight.borrow().is_some() {
        // Nobody waits long for something better than what is still accepted.
        let _ = renew(agent, session, deadline.at_most(Instant::now(), PATIENCE_WITH_A_GOOD_ONE)).await;
    }
    session.subject_now()
}

/// Renews a session, or waits for who is renewing it: a refresh token may be good for one use only.
async fn renew(agent: &Rc<Agent>, session: &Rc<Session>, deadline: Deadline) -> Result<(), Failure> {
    let flying = session.flight.borrow().clone();
    let mut landing = flying.unwrap_or_else(|| {
        let (sender, landing) = watch::channel(None);
        session.flight.replace(Some(landing.clone()));
        // It flies to its end whoever goes away meanwhile: the issuer may have taken the old refresh token already.
        tokio::task::spawn_local(fly(Rc::clone(agent), Rc::clone(session), sender));
        landing
    });
    let landed = timeout_at(deadline.instant().into(), landing.wait_for(Option::is_some)).await;
    match landed {
        Ok(Ok(outcome)) => outcome.clone().unwrap_or_else(|| Err(failure::not_renewed(&session.name))),
        _ => Err(failure::not_renewed(&session.name)),
    }
}

async fn fly(agent: Rc<Agent>, session: Rc<Session>, sender: watch::Sender<Option<Result<(), Failure>>>) {
    session.tried.set(Some(Instant::now()));
    let outcome = match session.kept() {
        Ok(kept) => {
            let remembering = session.remembering.get();
            session.land(renewed(&session.source, &kept.tokens, remembering, &agent).await)
        }
        Err(error) => Err(failure::of_session(&error)),
    };
    session.drop_what_ended_with_it(&agent);
    if outcome.is_ok() {
        let ends = session.kept().ok().and_then(|kept| kept.ends());
        let what = ("CREDMINT_IDENTITY", session.name.clone());
        hook::renewed(&agent, session.after_renewal.borrow().as_ref(), what, ends);
    }
    session.flight.replace(None);
    sender.send_replace(Some(outcome));
    agent.changed.notify_one();
}

/// Asks the issuer. Before it believes that a session is over it looks whether another process has renewed it meanwhile, and
/// tries once more with what that one left; what is over is not kept for the next agent. coder/coder#17069.
pub(super) async fn renewed(
    source: &Source,
    tokens: &Tokens,
    remembering: Option<&Remembering>,
    agent: &Agent,
) -> Result<Tokens, NotRenewed> {
    let first = source.refresh(tokens, remembering, agent).await;
    let (Err(NotRenewed::Over(_)), Some(remembering)) = (&first, remembering) else { return first };
    let newer = remembering.newer(&agent.keyring, tokens.refresh.as_ref()).await;
    let second = match newer {
        Some(refresh) => source.refresh(&tokens.with_refresh(refresh), Some(remembering), agent).await,
        None => first,
    };
    if let Err(NotRenewed::Over(_)) = second {
        remembering.forget(&agent.keyring).await;
    }
    second
}

/// Renews what is due and in use while nobody asks, and notes what has ended.
pub(crate) fn look_after(agent: &Rc<Agent>, now: Timestamp) {
    super::end_those_over(agent, now, Instant::now());
    for session in agent.sessions.all() {
        session.end_if_it_cannot_go_on(now);
        session.drop_what_ended_with_it(agent);
        let due = session.kept().is_ok_and(|kept| kept.is_due(now));
        if due && session.is_in_use(now) && session.can_be_renewed() && session.has_rested() {
            let agent = Rc::clone(agent);
            let deadline = Deadline::after(Instant::now(), WHOLE_FLIGHT);
            tokio::task::spawn_local(async move { renew(&agent, &session, deadline).await.is_ok() });
        }
    }
}

/// Says when the next session is to be renewed whose token cannot be renewed once it has ended: a Vault's.
pub(crate) fn next_of_those_that_end(agent: &Agent, now: Timestamp) -> Option<Timestamp> {
    let in_use = agent.sessions.all().into_iter().filter(|session| session.is_in_use(now) && session.can_be_renewed());
    let of_vault = in_use.filter_map(|session| session.kept().ok().filter(|kept| kept.tokens.vault.is_some()));
    of_vault.map(|kept| kept.due()).min()
}

const PATIENCE_WITH_A_GOOD_ONE: Duration = Duration::from_secs(3);
