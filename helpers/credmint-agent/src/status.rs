//! How the agent is, for `credmint status`: names and times, never secrets.
//! The agent's entries come in, a status for one caller goes out.
//! Shows an entry only to a caller that can name the identity behind it (design, decision 4).

use std::rc::Rc;

use credmint_agent_protocol::{BUILD, EntryStatus, ProviderStatus, SessionStatus, Status};
use credmint_identities::{Caller, Claims};
use credmint_local_machine::clock;
use credmint_settings::{Provider, Settings};
use credmint_vocabulary::RouteName;

use crate::agent::Agent;
use crate::bridge::Bridge;
use crate::entries::Entry;
use crate::offline;
use crate::recipe::{EntryKey, Recipe, session_of};
use crate::sessions;

/// Tells one caller how the agent is.
pub(crate) async fn status(agent: &Agent, settings: &Rc<Settings>, caller: &Caller) -> Status {
    let recipes: Vec<Recipe> = settings.names().filter_map(|name| recipe(agent, settings, name, caller)).collect();
    let keys: Vec<EntryKey> = recipes.iter().flat_map(Recipe::keys).collect();
    let (own, others): (Vec<_>, Vec<_>) =
        agent.entries.all().into_iter().partition(|entry| keys.contains(&entry.recipe.key));
    let stored = recipes.iter().filter(|recipe| agent.stored.has(recipe.stored_key())).map(of_stored);
    let mut entries: Vec<EntryStatus> = own.iter().map(|entry| of_entry(entry)).chain(stored).collect();
    entries.sort_by(|a, b| (&a.hostname, &a.kind).cmp(&(&b.hostname, &b.kind)));
    Status {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        build: build(agent),
        pid: std::process::id(),
        started: agent.started.to_string(),
        hardening: agent.hardening.clone(),
        bridge: agent.bridge.as_ref().map(Bridge::addresses).unwrap_or_default(),
        providers: providers(settings),
        entries,
        other_entries: others.len(),
        sessions: sessions(agent, settings).await,
        locked: agent.lock.status(),
        requests: offline::waiting(agent, &recipes),
        last_hook: agent.hooks.last(),
        audit: agent.bridge.as_ref().and_then(Bridge::audit_trouble),
        runs: agent.bridge.as_ref().map(Bridge::runs).unwrap_or_default(),
        placeholders: agent.placeholders.given(settings),
        metrics: agent.metrics.addresses(),
        metrics_trouble: agent.metrics.trouble(),
    }
}

/// Lists the providers of the caller's settings.
fn providers(settings: &Settings) -> Vec<ProviderStatus> {
    let one = |(name, provider): (&String, &Provider)| {
        let issuer = settings.issuers.get(&provider.host.issuer);
        let grants_token = issuer.is_some_and(|issuer| !issuer.grants_certificate() && !issuer.grants_keys());
        ProviderStatus {
            name: name.clone(),
            hosts: provider.hosts.iter().map(ToString::to_string).collect(),
            username: provider.username.clone(),
            token: grants_token || provider.host.token_issuer.is_some(),
        }
    };
    settings.providers.iter().map(one).collect()
}

/// Names the build, which is not that of the file any more when the file was replaced.
fn build(agent: &Agent) -> String {
    if agent.program.is_replaced() { format!("{BUILD}, since replaced") } else { BUILD.to_owned() }
}

/// Lists the sessions of the identities that the caller's settings name.
async fn sessions(agent: &Agent, settings: &Settings) -> Vec<SessionStatus> {
    let mut all = Vec::new();
    for (name, identity) in &settings.identities {
        let (Some(key), Some(person)) = (session_of(name, identity), identity.person()) else { continue };
        all.extend(match agent.sessions.get(key) {
            Some(session) => Some(session.status()),
            None => sessions::kept(agent, name, key, person).await,
        });
    }
    all
}

/// Makes the recipe of a route for a caller who supplied what all routes read.
pub(crate) fn recipe(agent: &Agent, settings: &Rc<Settings>, name: RouteName, caller: &Caller) -> Option<Recipe> {
    let own = caller_for(settings, &name, caller);
    Recipe::new(name, Rc::clone(settings), own, &agent.sessions)
}

/// Keeps of what a caller supplied for all routes just what one route reads, as `get` would have it.
fn caller_for(settings: &Settings, name: &RouteName, caller: &Caller) -> Caller {
    let reads = settings.route(name).map(|route| credmint_identities::caller_reads(&route)).unwrap_or_default();
    let mut own = Caller::default();
    for (name, value) in caller.environment.iter().filter(|(name, _)| reads.environment.contains(*name)) {
        own.environment.insert(name.clone(), value.copied());
    }
    for (path, value) in caller.files.iter().filter(|(path, _)| reads.files.contains(*path)) {
        own.files.insert(path.clone(), value.copied());
    }
    for (path, why) in caller.unreadable.iter().filter(|(path, _)| reads.files.contains(*path)) {
        own.unreadable.insert(path.clone(), why.clone());
    }
    own
}

/// Describes a token that `terraform login` brought: nobody but who brought it knows more of it.
fn of_stored(recipe: &Recipe) -> EntryStatus {
    EntryStatus {
        hostname: recipe.name.to_string(),
        identity: "whoever brought it".to_owned(),
        issuer: "terraform login".to_owned(),
        kind: "token".to_owned(),
        notes: vec!["kept as it is until terraform logout, or the end of the agent".to_owned()],
        ..EntryStatus::default()
    }
}

/// Describes one entry without what it holds.
pub(crate) fn of_entry(entry: &Entry) -> EntryStatus {
    let certificate = entry.facts.certificate.clone();
    let kind = match entry.recipe.route() {
        _ if certificate.is_some() => "certificate",
        Some(route) if route.issuer.grants_keys() => "keys",
        _ => "token",
    };
    let (certificate_subject, serial) = certificate.unzip();
    let claims = entry.identity.as_ref().and_then(|(_, claims)| claims.as_ref());
    EntryStatus {
        hostname: entry.recipe.name.to_string(),
        identity: entry.identity.as_ref().map(|(name, _)| name.clone()).unwrap_or_default(),
        subject: claims.and_then(Claims::sub),
        issuer: entry.recipe.route().map(|route| route.issuer_name.to_owned()).unwrap_or_default(),
        kind: kind.to_owned(),
        certificate_subject,
        serial,
        expires: entry.expires().map(|end| end.to_string()),
        remaining_seconds: entry.expires().map(|end| end.remaining(clock::now()).as_secs()),
        renews: entry.renews().map(|due| due.to_string()),
        notes: entry.notes.iter().cloned().chain(offline::notes(entry, clock::now())).collect(),
    }
}
