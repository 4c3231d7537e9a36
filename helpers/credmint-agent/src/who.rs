//! Who is asking: the identities of a route, in order, until one has an answer.
//! A recipe comes in; a token with the sign-in that it is of, or its absence, goes out, and a failure where something is broken.
//! Keeps nothing: sessions are kept in `sessions`, what was granted in `entries`.

use std::rc::Rc;
use std::time::Duration;

use credmint_identities::SubjectToken;
use credmint_local_machine::clock;
use credmint_settings::{Identity, Person};
use credmint_vocabulary::{Deadline, Failure};

use crate::agent::Agent;
use crate::get::REMEMBERED;
use crate::recipe::{Recipe, session_of};
use crate::sessions::{SessionKey, SignIn};
use crate::{failure, sessions};

/// The identity that had an answer.
pub(crate) struct Chosen {
    /// Its name in the settings.
    pub(crate) name: String,
    /// Its token.
    pub(crate) token: SubjectToken,
    /// The sign-in that it is of, if it is a person's.
    pub(crate) sign_in: Option<SignIn>,
}

/// Asks the identities in order: absent means the next one, broken means a failure.
pub(crate) async fn choose(
    agent: &Rc<Agent>,
    recipe: &Recipe,
    deadline: Deadline,
) -> Result<Option<Chosen>, (Failure, Duration)> {
    let (mut asked, mut person) = (Vec::new(), None);
    for (name, identity) in recipe.route().into_iter().flat_map(|route| route.identities()) {
        let session = session_of(name, identity);
        if let Some((token, sign_in)) = answer_of(agent, recipe, (name, identity), deadline).await? {
            return Ok(Some(Chosen { name: name.to_owned(), token, sign_in }));
        }
        person = person.or_else(|| session.map(|_| name));
        let caller = recipe.caller.get().unwrap_or_default();
        let own = || credmint_identities::absence(identity, &caller).to_string();
        let absent = session.map_or_else(own, |_| "nobody is signed in".to_owned());
        asked.push(format!("{name}: {absent}"));
    }
    let nobody = || (failure::nobody(&recipe.name, &asked, person), REMEMBERED);
    if asked.is_empty() { Ok(None) } else { Err(nobody()) }
}

/// Tells whether each identity of a route says that there is nobody: one that is broken says something else.
pub(crate) async fn has_nobody(agent: &Rc<Agent>, recipe: &Recipe, deadline: Deadline) -> bool {
    for (name, identity) in recipe.route().into_iter().flat_map(|route| route.identities()) {
        if !matches!(answer_of(agent, recipe, (name, identity), deadline).await, Ok(None)) {
            return false;
        }
    }
    true
}

/// Asks one identity: a token, with the sign-in that it is of if it is a person's.
async fn answer_of(
    agent: &Rc<Agent>,
    recipe: &Recipe,
    (name, identity): (&str, &Identity),
    deadline: Deadline,
) -> Result<Option<(SubjectToken, Option<SignIn>)>, (Failure, Duration)> {
    match (session_of(name, identity), identity.person()) {
        (Some(key), Some(person)) => {
            let found = of_person(agent, recipe, (name, key, person), deadline).await?;
            Ok(found.map(|(token, sign_in)| (token, Some(sign_in))))
        }
        _ => Ok(of_workload(agent, recipe, name, identity, deadline).await?.map(|token| (token, None))),
    }
}

/// Asks the session of a person; signed out is absent, what is over or belongs to another sign-in is a failure. The token comes
/// with its own sign-in: while it was renewed, somebody may have signed out, or somebody else in.
async fn of_person(
    agent: &Rc<Agent>,
    recipe: &Recipe,
    (name, key, person): (&str, SessionKey, Person<'_>),
    deadline: Deadline,
) -> Result<Option<(SubjectToken, SignIn)>, (Failure, Duration)> {
    let of_host = |failure| failure::of_host(&recipe.name, failure);
    let began_with = recipe.sign_ins.iter().copied().find(|(of, _)| *of == key).unwrap_or((key, 0));
    // The recipe of a run outlives a session: what another person signs in for is none of its business.
    let session = match agent.sessions.get(key) {
        Some(session) if session.serves(began_with) => session,
        None if began_with.1 == 0 => {
            let caller = recipe.caller.get().ok_or_else(|| of_host(failure::locked()))?;
            let restored = sessions::restore(agent, (name, key), person, &caller, deadline).await;
            match restored.map_err(of_host)? {
                Some(session) if session.serves(began_with) => session,
                Some(_) => return Err(of_host(failure::another_sign_in(name))),
                None => return Ok(None),
            }
        }
        None => return Err(of_host(failure::signed_out_meanwhile(name))),
        Some(_) => return Err(of_host(failure::another_sign_in(name))),
    };
    let token = sessions::subject(agent, &session, deadline).await.map_err(of_host)?;
    Ok(Some((token, session.sign_in)))
}

async fn of_workload(
    agent: &Agent,
    recipe: &Recipe,
    name: &str,
    identity: &Identity,
    deadline: Deadline,
) -> Result<Option<SubjectToken>, (Failure, Duration)> {
    let caller = recipe.caller().map_err(|failure| (failure, Duration::ZERO))?;
    let asked = credmint_identities::ask(identity, &caller, &agent.https, clock::now(), deadline).await;
    asked.map_err(|error| failure::of_identity(&recipe.name, name, &error))
}
