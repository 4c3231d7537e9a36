//! Whose turn it is: one sign-in an identity, in all processes, because all of them ask this agent.
//! An identity comes in; the lead, or the session of who had it, goes out.
//! Waits no longer than its own deadline, and not for a caller that is gone.

use std::rc::Rc;

use credmint_agent_protocol::Reply;
use credmint_vocabulary::Deadline;

use super::while_there;
use crate::agent::Agent;
use crate::connection::{Stream, send};
use crate::server::Ended;
use crate::sessions::{Lead, Session, SessionKey};

/// Says what came of waiting.
pub(super) enum Turn<'a> {
    /// Nobody else is signing in.
    Ours(Lead<'a>),
    /// Somebody else did while we waited.
    Theirs(Rc<Session>),
}

/// Takes the lead, or waits for who has it; when that one gave up, the next takes it.
pub(super) async fn take<'a>(
    agent: &'a Agent,
    stream: &mut dyn Stream,
    key: SessionKey,
    until: (&str, Deadline),
) -> Result<Turn<'a>, Ended> {
    let before = agent.sessions.sign_in(key);
    let mut told = false;
    loop {
        let mut other = match agent.sessions.lead(key) {
            Ok(lead) => return Ok(Turn::Ours(lead)),
            Err(other) => other,
        };
        if !std::mem::replace(&mut told, true) {
            send(stream, &Reply::Waiting).await?;
        }
        // An error is the end of the other one's lead: its sender is dropped, never used.
        let _ = while_there(stream, until, other.changed()).await?;
        if let Some(session) = agent.sessions.get(key).filter(|session| session.sign_in != before) {
            return Ok(Turn::Theirs(session));
        }
    }
}
