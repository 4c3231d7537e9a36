//! Signing in with another device (RFC 8628): a code is shown here and approved there.
//! A place to sign in at comes in, a session goes out; it is asked as seldom as it wants to be.
//! Listens nowhere.

use std::rc::Rc;
use std::time::{Duration, Instant};

use credmint_agent_protocol::{Approve, Reply};
use credmint_identities::Tokens;
use credmint_issuers::VaultDevice;
use credmint_vocabulary::Deadline;
use tokio::time::sleep;
use url::Url;

use super::place::{Asked, Elsewhere};
use super::{Attempt, while_there};
use crate::connection::{Stream, send};
use crate::server::Ended;
use crate::sessions::{Session, Source};

/// Shows the code and waits for its approval.
pub(super) async fn sign_in(attempt: &Attempt<'_>, stream: &mut dyn Stream, at: Source) -> Result<Rc<Session>, Ended> {
    let until = (attempt.name, attempt.deadline);
    let device = while_there(stream, until, attempt.begin_elsewhere(&at)).await??;
    wait(attempt, stream, at, device).await
}

/// Shows what to approve, and waits for it.
pub(super) async fn wait(
    attempt: &Attempt<'_>,
    stream: &mut dyn Stream,
    at: Source,
    device: Elsewhere,
) -> Result<Rc<Session>, Ended> {
    let ends = match &device {
        Elsewhere::Provider(device) => attempt.deadline.at_most(Instant::now(), device.expires_in),
        Elsewhere::Vault(_) => attempt.deadline,
    };
    send(stream, &Reply::Approve(approve(&at, &device, ends))).await?;
    let tokens = approved(attempt, stream, &at, (&device, ends)).await?;
    Ok(attempt.keep(at, tokens).await?)
}

fn approve(at: &Source, device: &Elsewhere, ends: Deadline) -> Approve {
    let (user_code, verification_uri, verification_uri_complete) = match device {
        Elsewhere::Provider(device) => {
            (device.user_code.clone(), device.verification_uri.clone(), device.verification_uri_complete.clone())
        }
        Elsewhere::Vault(device) => of_vault(device),
    };
    let expires_in_seconds = ends.remaining(Instant::now()).as_secs();
    Approve { user_code, verification_uri, verification_uri_complete, who: at.who(), expires_in_seconds }
}

/// A Vault gives one address, with the code in it where the provider has such a one.
fn of_vault(device: &VaultDevice) -> (String, String, Option<String>) {
    let complete = device.has_code.then(|| device.url.to_string());
    (device.user_code.clone(), without_code(&device.url, device.has_code), complete)
}

/// Leaves the code out, if that is all that the query has.
fn without_code(url: &Url, has_code: bool) -> String {
    let mut plain = url.clone();
    if has_code && url.query_pairs().count() == 1 {
        plain.set_query(None);
    }
    plain.to_string()
}

async fn approved(
    attempt: &Attempt<'_>,
    stream: &mut dyn Stream,
    at: &Source,
    (device, ends): (&Elsewhere, Deadline),
) -> Result<Tokens, Ended> {
    let until = (attempt.name, ends);
    let least = match device {
        Elsewhere::Provider(device) => device.interval,
        Elsewhere::Vault(device) => device.interval,
    };
    let mut interval = least.max(LEAST_INTERVAL);
    loop {
        while_there(stream, until, sleep(interval)).await?;
        let step = ends.at_most(Instant::now(), ONE_QUESTION);
        match while_there(stream, until, attempt.poll(at, device, step)).await?? {
            Asked::Tokens(tokens) => return Ok(tokens),
            Asked::Pending => {}
            Asked::SlowDown => interval += SLOWER,
            // RFC 8628 §3.5: whoever gets no answer asks less often, and does not give up.
            Asked::Later => interval = (interval * 2).min(SELDOM),
        }
    }
}

const LEAST_INTERVAL: Duration = Duration::from_secs(1);
const SLOWER: Duration = Duration::from_secs(5);
const SELDOM: Duration = Duration::from_secs(30);
const ONE_QUESTION: Duration = Duration::from_secs(10);
