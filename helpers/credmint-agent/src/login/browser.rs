//! Signing in with a browser (RFC 8252): the issuer sends it back to loopback, or the person pastes where it ended.
//! A discovered issuer comes in, a session goes out, and a page for the browser that waits.
//! Takes the first callback that belongs to this sign-in; all others change nothing.

use std::rc::Rc;
use std::time::Instant;

use credmint_agent_protocol::{Pasted, Reply, Visit};
use credmint_identities::Callback;
use credmint_vocabulary::{Failure, FailureKind, Timestamp};
use tokio::sync::oneshot;
use url::Url;

use super::listener::{self, Arrival, Redirect};
use super::pages::Page;
use super::place::{self, Begun};
use super::{Attempt, Flow, device, while_there};
use crate::connection::{ConnectionError, Stream, receive, send};
use crate::server::Ended;
use crate::sessions::{Session, Source};

/// Sends the person to the issuer and waits for the way back.
pub(super) async fn sign_in(
    attempt: &Attempt<'_>,
    stream: &mut dyn Stream,
    at: Source,
    flow: Flow,
) -> Result<Rc<Session>, Ended> {
    let (mut redirect, address) = way_back(attempt, flow).await?;
    let until = (attempt.name, attempt.deadline);
    let begun = match while_there(stream, until, attempt.begin(&at, &address)).await?? {
        Begun::Page(begun) => begun,
        Begun::Elsewhere(_) if attempt.run.is_some() => return Err(has_a_code(attempt.name).into()),
        // The role has it so: nothing comes back here.
        Begun::Elsewhere(device) => return device::wait(attempt, stream, at, device).await,
    };
    let opened = opened(attempt, redirect.as_ref(), begun.url(), flow)?;
    send(stream, &Reply::Visit(visit(attempt, &at, opened, flow))).await?;
    let (callback, page) = callback(attempt, stream, &mut redirect, &begun).await?;
    let kept = match while_there(stream, until, attempt.redeem(&at, begun, callback)).await? {
        Ok(tokens) => attempt.keep(at, tokens).await,
        Err(failure) => Err(failure),
    };
    // A browser that does not wait any more misses nothing that the terminal does not say.
    page.map(|page| page.send(last_page(attempt, &kept)));
    Ok(kept?)
}

/// Listens where the issuer is told to send the browser. Who pastes can do without, when every port is taken.
async fn way_back(attempt: &Attempt<'_>, flow: Flow) -> Result<(Option<Redirect>, Url), Failure> {
    let (ports, host) = (attempt.person.redirect_ports(), attempt.person.redirect_host().word());
    let path = attempt.person.redirect_path();
    let fixed = ports.first().filter(|port| **port != 0);
    let (redirect, address) = match (Redirect::listen(ports, path).await, fixed) {
        (Ok(redirect), _) => {
            let address = redirect.address(host);
            (Some(redirect), address)
        }
        (Err(_), Some(port)) if flow == Flow::Paste => (None, listener::address(host, *port, path)),
        (Err(failure), _) => return Err(failure.hint(without_a_port(attempt.name))),
    };
    let malformed = |_| Failure::new(FailureKind::Internal, "the address of the sign-in's end is malformed");
    Ok((redirect, Url::parse(&address).map_err(malformed)?))
}

/// Says how to sign in when nothing can be listened at.
fn without_a_port(name: &str) -> String {
    let login = format!("credmint login {name}");
    format!(
        "{login} --device, or {login} --paste; or end that program, or add a port to `redirect_ports` here and at the issuer"
    )
}

/// Gives the address that the person opens. A browser of this machine begins at ours: its arguments may be read by others, and
/// so whoever knows the address must not be able to end the sign-in in the person's place.
fn opened(attempt: &Attempt<'_>, redirect: Option<&Redirect>, page: &Url, flow: Flow) -> Result<String, Failure> {
    match redirect {
        Some(redirect) if flow == Flow::Browser => redirect.begin(attempt.person.redirect_host().word(), page),
        Some(redirect) => {
            redirect.shows_what_to_paste();
            Ok(page.to_string())
        }
        None => Ok(page.to_string()),
    }
}

fn visit(attempt: &Attempt<'_>, at: &Source, url: String, flow: Flow) -> Visit {
    Visit {
        url,
        who: at.who(),
        expires_in_seconds: attempt.deadline.remaining(Instant::now()).as_secs(),
        paste: flow == Flow::Paste,
    }
}

/// Where the page goes that the browser waits for; nobody waits after a paste.
type Waiting = Option<oneshot::Sender<Page>>;

/// Waits for the callback of this sign-in: by the browser, or pasted.
async fn callback(
    attempt: &Attempt<'_>,
    stream: &mut dyn Stream,
    redirect: &mut Option<Redirect>,
    begun: &place::Page,
) -> Result<(Callback, Waiting), Ended> {
    let ours = |callback: &Callback| begun.matches(callback);
    loop {
        let pasted: Result<Pasted, ConnectionError> = tokio::select! {
            arrived = arrival(attempt, redirect, ours) => return Ok(arrived?),
            pasted = receive(stream) => pasted,
            () = tokio::time::sleep_until(attempt.deadline.instant().into()) => {
                return Err(super::too_late(attempt.name).into());
            }
        };
        if let Some(callback) = Callback::of_pasted(pasted?.url.secret()).filter(ours) {
            return Ok((callback, None));
        }
        send(stream, &Reply::Again { why: NOT_OURS.to_owned() }).await?;
    }
}

/// Waits for the browser; a callback that is not ours is told so, and the waiting goes on.
async fn arrival(
    attempt: &Attempt<'_>,
    redirect: &mut Option<Redirect>,
    ours: impl Fn(&Callback) -> bool,
) -> Result<(Callback, Waiting), Failure> {
    while let Some(redirect) = redirect {
        let (query, answer) = match redirect.arrival().await {
            Some(Arrival::Callback { query, answer }) => (query, answer),
            Some(Arrival::BegunTwice) => return Err(begun_twice(attempt.name)),
            None => break,
        };
        if let Some(callback) = Callback::of_query(&query).filter(&ours) {
            return Ok((callback, Some(answer)));
        }
        // The stranger may be gone.
        let _ = answer.send(Page::Stray);
    }
    std::future::pending().await
}

/// Terraform shows nobody a code to compare.
fn has_a_code(name: &str) -> Failure {
    let what = format!("`{name}` signs in with a code for another device, which `terraform login` cannot show");
    Failure::new(FailureKind::Refused, what).hint(format!("credmint login {name}"))
}

fn begun_twice(name: &str) -> Failure {
    let what = "its address was opened in two browsers, and one of them may be somebody else's";
    Failure::new(FailureKind::Refused, format!("the sign-in of `{name}` was ended: {what}"))
        .hint(format!("credmint login {name}, and open its address once; or credmint login {name} --device"))
}

/// Says what came of it; where Terraform waits, the page goes on to it.
fn last_page(attempt: &Attempt<'_>, kept: &Result<Rc<Session>, Failure>) -> Page {
    let page = kept.as_ref().map_or_else(|failure| Page::Refused(failure.clone()), |session| signed_in_page(session));
    match attempt.run {
        Some(run) => run.page(attempt.agent, kept, page),
        None => page,
    }
}

/// Says who is signed in, to what, until when.
pub(crate) fn signed_in_page(session: &Session) -> Page {
    let status = session.status();
    let who = status.subject.unwrap_or_else(|| status.identity.clone());
    Page::SignedIn {
        who,
        issuer: session.source.who(),
        ends: ends(status.until, status.renews.is_some(), session.chosen_end()),
    }
}

/// Says until when, for the page.
fn ends(until: Option<String>, renewed: bool, chosen: Option<Timestamp>) -> String {
    let until = until.filter(|_| !renewed);
    let first = |end: &Timestamp| {
        let until = until.as_deref().and_then(|until| Timestamp::from_rfc3339(until).ok());
        until.is_none_or(|until| *end < until)
    };
    match (chosen.filter(first), until, renewed) {
        (Some(end), ..) => format!("{end}, as chosen, unless you sign out or the issuer ends it before"),
        (None, Some(until), _) => until,
        (None, None, true) => "you sign out, or the issuer ends it; it is renewed while it is used".to_owned(),
        (None, None, false) => "the issuer ends it".to_owned(),
    }
}

const NOT_OURS: &str = "this is not the address at which the browser ends after this sign-in: paste the whole of it";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_says_the_end_that_comes_first() {
        let until = || Some("2026-11-30T17:00:00Z".to_owned());
        let chosen = |text| Timestamp::from_rfc3339(text).ok();
        let early = "2026-11-30T16:00:00Z, as chosen, unless you sign out or the issuer ends it before";
        assert_eq!(ends(until(), false, chosen("2026-11-30T16:00:00Z")), early);
        assert_eq!(ends(until(), false, chosen("2026-11-30T18:00:00Z")), "2026-11-30T17:00:00Z");
        assert!(ends(until(), true, chosen("2026-11-30T18:00:00Z")).starts_with("2026-11-30T18:00:00Z, as chosen"));
        assert!(ends(until(), true, None).starts_with("you sign out"));
        assert_eq!(
            (ends(until(), false, None), ends(None, false, None)),
            (until().unwrap_or_default(), "the issuer ends it".into())
        );
    }
}
