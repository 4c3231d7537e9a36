//! `credmint login`, `logout` and `needs-login`: a person signs in, stays signed in while the agent runs, and signs out.
//! A name of the settings comes in; what the person has to do is shown, and at the end who is signed in.
//! Sees no token: the agent signs in and keeps what comes of it. Only `login` opens a browser.

mod attendant;
mod big_code;
mod flow;
mod guide;
mod pasted;
mod people;
mod qr;
pub(crate) mod session;
mod spinner;

use std::process::ExitCode;
use std::time::Duration;

use credmint_agent_protocol::{Answer, Login, Logout, SessionStatus};
use credmint_vocabulary::{Failure, FailureKind};
use serde_json::json;

use crate::command_line::{LoginArguments, LogoutArguments};
use crate::out::Style;
use crate::{agent, enrol, out, status};
use attendant::Attendant;
use people::People;

/// Runs `credmint login`.
pub(crate) fn login(arguments: &LoginArguments) -> Result<(), Failure> {
    if arguments.by_hand.are_there() {
        return enrol::run(arguments.name.as_deref(), &arguments.by_hand, arguments.json);
    }
    if let Some(failure) = arguments.name.as_deref().and_then(|name| enrol::is_a_host(name, &enrol::settings().ok()?)) {
        return Err(failure);
    }
    let people = People::read()?;
    let (name, person) = people.find(arguments.name.as_deref(), "login")?;
    let choice = flow::choose(arguments, person.browser().is_some());
    out::aside(&choice.note().unwrap_or_default());
    let lifetime = arguments.lifetime.unwrap_or_default().as_millis();
    let login = Login {
        identity: name.to_owned(),
        flow: choice.word().to_owned(),
        lifetime_ms: u64::try_from(lifetime).unwrap_or(u64::MAX),
        ..Login::default()
    };
    let mut attendant = Attendant::new(choice, person.browser().unwrap_or_default());
    // Somebody else's sign-in may have to end first.
    let patience = person.sign_in_timeout() * 2 + Duration::from_secs(60);
    let outcome = agent::sign_in(login, patience, &mut |reply| attendant.told(reply));
    match (attendant.end(), outcome) {
        (Some(failure), _) => Err(failure),
        (None, Ok(Answer::SignedIn(session))) => {
            show(&session, arguments.json);
            Ok(())
        }
        (None, Ok(other)) => Err(agent::unexpected(&other)),
        (None, Err(failure)) => Err(failure),
    }
}

fn show(session: &SessionStatus, as_json: bool) {
    out::aside(&session::warning(session).unwrap_or_default());
    if as_json {
        out::json(&json!(session));
    } else {
        out::text(&session::signed_in(session, agent::now(), Style::of_stdout()).join("\n"));
    }
}

/// Runs `credmint logout`. With `--all` it looks at no settings: it has to work when they are wrong.
pub(crate) fn logout(arguments: &LogoutArguments) -> Result<(), Failure> {
    let identity = match (&arguments.name, arguments.all) {
        (_, true) => None,
        (Some(name), _) => Some(name.clone()),
        (None, _) => Some(People::read()?.find(None, "logout")?.0.to_owned()),
    };
    let remembered = People::read().is_ok_and(|people| people.is_remembered(identity.as_deref()));
    let again = identity.clone().unwrap_or_else(|| "--all".to_owned());
    match agent::sign_out(Logout { identity, ..Logout::default() }, remembered)? {
        None => out::text("nobody is signed in: no agent is running"),
        Some(Answer::LoggedOut { done, failed, remains }) => return signed_out(&done, &failed, &remains, &again),
        Some(other) => return Err(agent::unexpected(&other)),
    }
    Ok(())
}

fn signed_out(done: &[String], failed: &[String], remains: &[String], again: &str) -> Result<(), Failure> {
    if done.is_empty() && failed.is_empty() && remains.is_empty() {
        out::text("nobody was signed in");
    }
    done.iter().for_each(|line| out::text(line));
    if !remains.is_empty() {
        let hint = format!("then credmint logout {again}: until then the next agent would go on with it");
        return Err(Failure::new(FailureKind::Refused, [remains, failed].concat().join("; ")).hint(hint));
    }
    if failed.is_empty() {
        return Ok(());
    }
    let hint = "revoke it at the issuer's own pages, or wait until it ends by itself; here it is over";
    Err(Failure::new(FailureKind::Unreachable, failed.join("; ")).hint(hint))
}

/// Runs `credmint needs-login`: success means that somebody has to sign in. Says nothing, starts nothing.
pub(crate) fn needs_login(name: Option<&str>) -> Result<ExitCode, Failure> {
    let people = People::read()?;
    let names = match name {
        Some(name) => vec![people.find(Some(name), "login")?.0],
        None => people.names(),
    };
    let sessions = status::ask()?.map(|status| status.sessions).unwrap_or_default();
    let needed = session::is_missing(&names, &sessions, agent::now());
    Ok(ExitCode::from(u8::from(!needed)))
}
