//! Terraform's `store`: a marker of our own sign-in, or a token that somebody brings.
//! The credentials object comes in over the agent's socket; the sign-in is kept, or the token, or it is said why not.
//! Writes nothing to disk. `protocol-spec/helper-protocol.md` §4.

use std::collections::BTreeMap;
use std::rc::Rc;

use credmint_agent_protocol::{Got, Reply, WireSecret};
use credmint_settings::{Route, Store};
use credmint_vocabulary::{Failure, FailureKind, Hostname, RouteName, Secret, printable};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::codes::{Outcome, is_marker};
use crate::agent::Agent;
use crate::connection::Stream;
use crate::recipe::session_of;
use crate::server::{Ended, place, stored_key};
use crate::sessions::{self, SessionKey};

/// Keeps what the host's settings allow, or says why not: nothing is dropped in silence.
pub(crate) async fn store(
    agent: &Rc<Agent>,
    stream: &mut dyn Stream,
    got: &Got,
    object: &WireSecret,
) -> Result<Reply, Ended> {
    let (name, settings) = place(agent, got)?;
    let RouteName::Host(hostname) = &name else { return Err(only_hosts(&name).into()) };
    let Some(route) = settings.route(&name) else { return Err(no_route(hostname).into()) };
    let token = token_of(hostname, object)?;
    match route.host.store {
        Store::Refuse => return Err(refused(hostname, &route).into()),
        _ if is_marker(&token) => claim(agent, hostname, &route, &token).await?,
        Store::Memory => {
            can_be_kept(agent, hostname, settings.agent.once)?;
            let key = stored_key(stream, &name, &settings).await?;
            key.into_iter().for_each(|key| agent.stored.put(key, &token));
        }
        _ => return Err(refused(hostname, &route).into()),
    }
    Ok(Reply::Done)
}

fn only_hosts(name: &RouteName) -> Failure {
    Failure::new(FailureKind::Usage, format!("nothing is kept for {name}: only hosts have what terraform login brings"))
}

/// Keeps the sign-in that a marker stands for.
async fn claim(
    agent: &Rc<Agent>,
    hostname: &Hostname,
    route: &Route<'_>,
    marker: &Secret<String>,
) -> Result<(), Failure> {
    let people: Vec<SessionKey> =
        route.identities().filter_map(|(name, identity)| session_of(name, identity)).collect();
    let ended = || {
        let what =
            format!("nobody is signed in to {hostname}: the sign-in took too long, or the agent ended meanwhile");
        Failure::new(FailureKind::Refused, what).hint(format!("terraform login {hostname}"))
    };
    let (run, outcome) = agent.terraform_login.claim(hostname, marker).ok_or_else(ended)?;
    // It stays pending until it is kept: whoever locks meanwhile has it revoked.
    let pending = run.pending.borrow().clone();
    match (outcome, pending) {
        (Outcome::Fresh, Some(session)) if people.contains(&session.sign_in.0) => {
            sessions::sign_in(agent, &session).await;
            run.pending.take();
            run.kept.set(Some(session.sign_in));
            run.claimed.notify_one();
            Ok(())
        }
        (Outcome::Known(sign_in), _) if people.contains(&sign_in.0) && agent.sessions.is_current(sign_in) => Ok(()),
        _ => {
            // The settings may have other people by now: what waits is revoked.
            run.over.notify_one();
            Err(ended())
        }
    }
}

/// Takes the token out of the object, which may hold nothing else: what we do not know we cannot keep.
fn token_of(hostname: &Hostname, object: &WireSecret) -> Result<Secret<String>, Failure> {
    let wrong = |why: &str| Failure::new(FailureKind::Usage, format!("nothing is stored for {hostname}: {why}"));
    let text = object.secret().expose();
    let properties: BTreeMap<String, IgnoredAny> =
        serde_json::from_str(text).map_err(|_| wrong("what came is not one JSON object"))?;
    if let Some(name) = properties.keys().find(|name| *name != "token") {
        return Err(wrong(&format!("the property {:?} cannot be kept", printable(name, 60))));
    }
    let Token { token } = serde_json::from_str(text).map_err(|_| wrong("what came has no token"))?;
    let token = token.into_secret();
    let fits = !token.is_empty() && token.expose().bytes().all(|byte| byte.is_ascii_graphic());
    if fits { Ok(token) } else { Err(wrong("its token is empty, or no header can carry it")) }
}

#[derive(Deserialize)]
struct Token {
    token: WireSecret,
}

fn no_route(hostname: &Hostname) -> Failure {
    let what = format!("nothing is stored for {hostname}: no route names it");
    Failure::new(FailureKind::Refused, what).hint(format!("credmint setup {hostname}"))
}

fn refused(hostname: &Hostname, route: &Route<'_>) -> Failure {
    let what = format!("nothing is stored for {hostname}: its credentials come from issuer {}", route.issuer_name);
    let person = route.identities().find(|(name, identity)| session_of(name, identity).is_some());
    Failure::new(FailureKind::Refused, what).hint(match person {
        Some((name, _)) if route.host.store == Store::SignIn => format!("credmint login {name}"),
        _ => format!("credmint explain {hostname}"),
    })
}

fn can_be_kept(agent: &Agent, hostname: &Hostname, once: bool) -> Result<(), Failure> {
    if agent.bridge.is_some() && !once {
        return Ok(());
    }
    let what = format!("the token for {hostname} needs an agent that stays: nothing would keep it");
    Err(Failure::new(FailureKind::Settings, what).hint("do not ask for CREDMINT_AGENT=once or mode = \"once\""))
}
