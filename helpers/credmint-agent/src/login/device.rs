//! Signing in with another device (RFC 8628): a code is shown here and approved there.
//! A discovered issuer comes in, a session goes out; the issuer is asked as seldom as it wants to be.
//! Listens nowhere.

use std::rc::Rc;
use std::time::{Duration, Instant};

use credmint_agent_protocol::{Approve, Reply};
use credmint_identities::{Device, Poll, Provider, Tokens};
use credmint_local_machine::clock;
use credmint_vocabulary::{Deadline, FailureKind};
use tokio::time::sleep;

use super::{Attempt, while_there};
use crate::connection::{Stream, send};
use crate::server::Ended;
use crate::sessions::Session;

/// Shows the code and waits for its approval.
pub(super) async fn sign_in(
    attempt: &Attempt<'_>,
    stream: &mut dyn Stream,
    provider: Provider,
) -> Result<Rc<Session>, Ended> {
    let until = (attempt.name, attempt.deadline);
    let asked = provider.device(&attempt.agent.https, clock::now(), attempt.deadline);
    let device = while_there(stream, until, asked).await?.map_err(|error| attempt.refused(&error))?;
    let ends = attempt.deadline.at_most(Instant::now(), device.expires_in);
    send(stream, &Reply::Approve(approve(&provider, &device, ends))).await?;
    let tokens = approved(attempt, stream, &provider, (&device, ends)).await?;
    Ok(attempt.keep(provider, tokens)?)
}

fn approve(provider: &Provider, device: &Device, ends: Deadline) -> Approve {
    Approve {
        user_code: device.user_code.clone(),
        verification_uri: device.verification_uri.clone(),
        verification_uri_complete: device.verification_uri_complete.clone(),
        who: provider.who(),
        expires_in_seconds: ends.remaining(Instant::now()).as_secs(),
    }
}

async fn approved(
    attempt: &Attempt<'_>,
    stream: &mut dyn Stream,
    provider: &Provider,
    (device, ends): (&Device, Deadline),
) -> Result<Tokens, Ended> {
    let until = (attempt.name, ends);
    let mut interval = device.interval.max(LEAST_INTERVAL);
    loop {
        while_there(stream, until, sleep(interval)).await?;
        let step = ends.at_most(Instant::now(), ONE_QUESTION);
        let asked = provider.poll(device, &attempt.agent.https, clock::now(), step);
        match while_there(stream, until, asked).await? {
            Ok(Poll::Tokens(tokens)) => return Ok(tokens),
            Ok(Poll::Pending) => {}
            Ok(Poll::SlowDown) => interval += SLOWER,
            // RFC 8628 §3.5: whoever gets no answer asks less often, and does not give up.
            Err(error) if error.kind() == FailureKind::Unreachable => interval = (interval * 2).min(SELDOM),
            Err(error) => return Err(attempt.refused(&error).into()),
        }
    }
}

const LEAST_INTERVAL: Duration = Duration::from_secs(1);
const SLOWER: Duration = Duration::from_secs(5);
const SELDOM: Duration = Duration::from_secs(30);
const ONE_QUESTION: Duration = Duration::from_secs(10);
