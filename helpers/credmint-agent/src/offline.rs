//! Certificates that people sign: the request goes out, what they signed comes back, the key stays here in between.
//! A host and settings come in with or without certificates; the request or the new entry goes out.
//! Asks no issuer. `protocol-spec/agent-protocol.md`, section 13.

use std::cell::{Cell, RefCell};
use std::fmt::Display;
use std::rc::Rc;
use std::time::{Duration, Instant};

use credmint_agent_protocol::{Enrol, Reply, RequestStatus};
use credmint_issuers::{Grant, Waiting};
use credmint_local_machine::clock;
use credmint_settings::{Issuer, Offline, Settings};
use credmint_vocabulary::{Deadline, Failure, FailureKind, Timestamp};

use crate::agent::Agent;
use crate::connection::Stream;
use crate::entries::Entry;
use crate::held::Held;
use crate::recipe::Recipe;
use crate::server::{Ended, recipe_of};
use crate::sessions::SignIn;
use crate::{failure, get, status, who};

/// Gives the request of a host, or completes it.
pub(crate) async fn enrol(agent: &Rc<Agent>, stream: &mut dyn Stream, asked: &Enrol) -> Result<Reply, Ended> {
    let Some(recipe) = recipe_of(agent, stream, &asked.got).await? else { return Ok(Reply::None) };
    let recipe = Rc::new(recipe);
    let route = recipe.route().ok_or_else(|| failure::no_route(&recipe.name))?;
    let Issuer::Offline(offline) = route.issuer else { return Err(not_by_hand(&recipe).into()) };
    can_be_kept(agent, &recipe)?;
    match &asked.certificate {
        Some(certificate) => Ok(complete(agent, &recipe, certificate)?),
        None => Ok(request(agent, &recipe, offline, asked.new).await?),
    }
}

/// Gives the request that waits, or makes one.
async fn request(agent: &Rc<Agent>, recipe: &Rc<Recipe>, offline: &Offline, new: bool) -> Result<Reply, Failure> {
    let entry = recipe.key.digest();
    if let Some(waiting) = agent.requests.waiting(entry).filter(|_| !new) {
        return Ok(Reply::Request(RequestStatus { again: true, ..described(recipe, waiting) }));
    }
    let deadline = Deadline::after(Instant::now(), FOR_AN_IDENTITY);
    let chosen = who::choose(agent, recipe, deadline).await.map_err(|(failure, _)| failure)?;
    let token = chosen.as_ref().map(|chosen| &chosen.token);
    let kept = (&agent.requests, entry);
    let made = credmint_issuers::request(offline, token, kept, new, clock::now()).await;
    let waiting = made.map_err(|error| failure::of_grant(&recipe.name, issuer_name(recipe), &error).0)?;
    if let Some(own) = chosen.and_then(|chosen| chosen.sign_in) {
        owned(agent, recipe, own);
    }
    agent.entries.forget_failure(recipe.key);
    Ok(Reply::Request(described(recipe, waiting)))
}

/// Says whose a request is that waits; whoever signed out meanwhile does not want it any more.
pub(crate) fn owned(agent: &Agent, recipe: &Recipe, own: SignIn) {
    if agent.sessions.is_current(own) {
        agent.requests.owned(recipe.key.digest(), own.0.digest());
    } else {
        agent.requests.drop_request(recipe.key.digest());
    }
}

/// Makes an entry of what people signed; what does not fit leaves request and entry as they were.
fn complete(agent: &Rc<Agent>, recipe: &Rc<Recipe>, certificate: &str) -> Result<Reply, Failure> {
    let (entry, now) = (recipe.key.digest(), clock::now());
    let owner = agent.requests.owner(entry);
    let present = agent.entries.get(recipe.key);
    let identity = get::present(agent, recipe);
    let completed =
        credmint_issuers::complete(certificate.as_bytes(), (&agent.requests, entry), identity.as_deref(), now);
    let grant = match completed {
        Ok(Some(grant)) => grant,
        Ok(None) => return Err(nothing_waits(&recipe.name)),
        Err(error) => return Err(unfit(recipe, &error)),
    };
    let before = present.and_then(|entry| entry.sign_in);
    let sign_in = before.or_else(|| recipe.sign_ins.iter().copied().find(|(key, _)| Some(key.digest()) == owner));
    let entry = Rc::new(entry_of(recipe, grant, sign_in, now));
    agent.keep(&entry);
    Ok(Reply::Enrolled(status::of_entry(&entry)))
}

fn entry_of(recipe: &Rc<Recipe>, grant: Grant, sign_in: Option<SignIn>, now: Timestamp) -> Entry {
    let held = Held::from(grant.credential);
    Entry {
        recipe: Rc::clone(recipe),
        facts: held.facts(),
        held: held.into(),
        sign_in,
        identity: None,
        notes: grant.notes,
        lease: grant.lease.into(),
        made: now,
        began: Instant::now(),
        jitter: 0.0,
        used: now.into(),
        tried: Cell::default(),
        holders: RefCell::default(),
        upstream: None.into(),
    }
}

/// Lists the requests of a caller that wait: those whose entry it can name.
pub(crate) fn waiting(agent: &Agent, recipes: &[Recipe]) -> Vec<RequestStatus> {
    let of = |recipe: &Recipe| {
        let waiting = agent.requests.waiting(recipe.key.digest())?;
        Some(RequestStatus { request_pem: String::new(), ..described(recipe, waiting) })
    };
    recipes.iter().filter_map(of).collect()
}

fn described(recipe: &Recipe, waiting: Waiting) -> RequestStatus {
    RequestStatus {
        hostname: recipe.name.to_string(),
        issuer: issuer_name(recipe).to_owned(),
        since: waiting.since.to_string(),
        request_pem: waiting.request_pem,
        again: false,
        sent: waiting.is_sent,
    }
}

/// Says what is worth knowing of a certificate that nothing renews.
pub(crate) fn notes(entry: &Entry, now: Timestamp) -> Vec<String> {
    if !is_by_hand(&entry.recipe) {
        return Vec::new();
    }
    let host = &entry.recipe.name;
    let lost = "nothing renews it, and it is lost with its key when the agent ends".to_owned();
    let soon =
        format!("it ends soon: credmint login {host} --csr FILE asks for the next one, and this one serves until then");
    if entry.is_in_last_third(now) { vec![lost, soon] } else { vec![lost] }
}

/// Tells whether people sign for this route.
pub(crate) fn is_by_hand(recipe: &Recipe) -> bool {
    recipe.route().is_some_and(|route| matches!(route.issuer, Issuer::Offline(_)))
}

fn issuer_name(recipe: &Recipe) -> &str {
    recipe.route().map(|route| route.issuer_name).unwrap_or_default()
}

/// Says why `get` has nothing, and what to do.
pub(crate) fn none_yet(agent: &Agent, recipe: &Recipe) -> Failure {
    let (host, issuer) = (&recipe.name, issuer_name(recipe));
    let begin = format!("no credential for {host}: issuer {issuer}: its certificates are signed by people, and");
    match agent.requests.waiting(recipe.key.digest()) {
        Some(waiting) => {
            let what = format!("{begin} the certification request of {} has no answer yet", waiting.since);
            Failure::new(FailureKind::Refused, what)
                .hint(format!("credmint login {host} --certificate FILE, as soon as it is signed"))
        }
        None => Failure::new(FailureKind::Refused, format!("{begin} there is none")).hint(next(host)),
    }
}

fn next(host: &impl Display) -> String {
    format!("credmint login {host} --csr {host}.csr.pem, have it signed, then credmint login {host} --certificate FILE")
}

fn nothing_waits(host: &impl Display) -> Failure {
    let what =
        format!("no certification request for {host} waits: its key is gone with the agent that made it, or never was");
    Failure::new(FailureKind::Refused, what).hint(next(host))
}

fn unfit(recipe: &Recipe, error: &credmint_issuers::GrantError) -> Failure {
    let host = &recipe.name;
    let what = format!("what was signed for {host} is not taken: {error}; the request waits on");
    let hint = format!("credmint login {host} --csr - prints the request that waits");
    Failure::new(error.kind(), what).hint(hint)
}

fn not_by_hand(recipe: &Recipe) -> Failure {
    let what = format!("nobody signs by hand for {}: issuer {} is asked by itself", recipe.name, issuer_name(recipe));
    Failure::new(FailureKind::Settings, what)
        .hint(format!("leave --csr and --certificate out, or set kind = \"offline\"; credmint explain {}", recipe.name))
}

fn can_be_kept(agent: &Agent, recipe: &Recipe) -> Result<(), Failure> {
    let stays = |settings: &Settings| agent.bridge_for(settings).is_some();
    if stays(&recipe.settings) {
        return Ok(());
    }
    let what = format!("the key for {} needs an agent that stays: nothing would keep it", recipe.name);
    Err(Failure::new(FailureKind::Settings, what).hint("do not ask for CREDMINT_AGENT=once or mode = \"once\""))
}

/// How long an identity may take whose claims are to stand in the request.
const FOR_AN_IDENTITY: Duration = Duration::from_secs(9);
