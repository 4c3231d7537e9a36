//! Which route a host has, which identity has an answer, which issuer is asked: for `credmint explain`, dry.
//! A host, settings and what the caller supplied come in, an explanation goes out.
//! Asks nobody on the network: identities that would are named, not asked.

use std::rc::Rc;

use credmint_agent_protocol::{Explanation, FailureSeen, Got, IdentityClaims, PhaseSeen, Reply};
use credmint_identities::{Caller, SubjectToken};
use credmint_local_machine::clock;
use credmint_settings::{Deliver, Identity, Issuer, Route, Settings, WhenAbsent};
use credmint_vocabulary::{Deadline, Failure, FailureKind, RouteName};

use crate::agent::Agent;
use crate::asking::Asking;
use crate::recipe::{Recipe, session_of};
use crate::sessions::SessionKey;
use crate::{asking, failure, server, status};

/// Explains what a `get` for this host would do.
pub(crate) async fn explain(
    agent: &Agent,
    (name, settings): (RouteName, Rc<Settings>),
    caller: Caller,
    asking: &Asking,
) -> Explanation {
    let Some(recipe) = Recipe::new(name, settings, caller, &agent.sessions) else { return Explanation::default() };
    let Some(route) = recipe.route() else { return Explanation::default() };
    let kept = |key| agent.entries.get(key).filter(|entry| entry.is_fresh(clock::now()));
    let (entry, token_entry) = (kept(recipe.key), recipe.token.as_ref().and_then(|token| kept(token.key)));
    let (token, plan) = (route.token(), route.plan());
    let plan_entry = recipe.plan.as_ref().and_then(|plan| kept(plan.key));
    Explanation {
        responsible: true,
        identities: identities(agent, &recipe).await,
        issuer: route.issuer_name.to_owned(),
        issuer_words: credmint_issuers::describe(route.issuer),
        token_issuer: token.map(|token| token.issuer_name.to_owned()),
        token_issuer_words: token.map(|token| credmint_issuers::describe(token.issuer)),
        plan_issuer: plan.map(|plan| plan.issuer_name.to_owned()),
        plan_issuer_words: plan.map(|plan| credmint_issuers::describe(plan.issuer)),
        plan_entry: plan_entry.map(|entry| status::of_entry(&entry).into()),
        phase: matches!(recipe.name, RouteName::Provider(_)).then(|| phase(asking)),
        last_failure: last_failure(agent, &recipe),
        when_absent: when_absent(&route),
        placeholder: agent.placeholders.last(&recipe.name).map(|at| at.to_string()),
        allow: route.host.policy.allow.as_ref().map(asking::allowed).unwrap_or_default(),
        grants: grants(route.issuer).to_owned(),
        deliver: word(route.host.deliver).to_owned(),
        upstream: (route.host.deliver == Deliver::Bridge)
            .then(|| route.host.upstream.clone().unwrap_or_else(|| format!("https://{}", recipe.name))),
        confirm: route.host.confirm,
        exec: exec(&recipe),
        entry: entry.map(|entry| status::of_entry(&entry)),
        token_entry: token_entry.map(|entry| status::of_entry(&entry).into()),
    }
}

/// Finds what the other side said last, about any part of the route.
fn last_failure(agent: &Agent, recipe: &Recipe) -> Option<FailureSeen> {
    let told = recipe.keys().filter_map(|key| agent.entries.last_failure(key));
    let (failure, at) = told.max_by_key(|(_, at)| *at)?;
    Some(FailureSeen { at: at.to_string(), what: failure.what })
}

/// Says what a job gets that has no user, if that is more than nothing.
fn when_absent(route: &Route<'_>) -> Option<String> {
    match (&route.host.policy.when_absent, route.fallback()) {
        (WhenAbsent::Fallback { identities, .. }, Some(fallback)) => {
            let whom = if identities.is_empty() { "nobody".to_owned() } else { identities.join(", else ") };
            let words = credmint_issuers::describe(fallback.issuer);
            Some(format!("what {} grants to {whom} ({words})", fallback.issuer_name))
        }
        (WhenAbsent::Placeholder, _) => Some("a placeholder that opens nothing".to_owned()),
        _ => None,
    }
}

/// Says what the run that asks is about.
fn phase(asking: &Asking) -> PhaseSeen {
    PhaseSeen { phase: asking.phase.map(|phase| phase.to_string()), why: asking.why.clone() }
}

/// Asks those identities that answer without a network, in order, until one does.
pub(crate) async fn identities(agent: &Agent, recipe: &Recipe) -> Vec<IdentityClaims> {
    let mut all: Vec<IdentityClaims> = Vec::new();
    for (name, identity) in recipe.route().into_iter().flat_map(|route| route.identities()) {
        let chosen = all.iter().any(|identity| identity.state == "chosen");
        let mut claims =
            IdentityClaims { name: name.to_owned(), kind: kind(identity).to_owned(), ..Default::default() };
        if chosen {
            "not asked".clone_into(&mut claims.state);
        } else if let Some(key) = session_of(name, identity) {
            look_at_session(agent, key, &mut claims);
        } else if !is_dry(identity) {
            "not asked".clone_into(&mut claims.state);
        } else {
            ask(agent, recipe, identity, &mut claims).await;
        }
        all.push(claims);
    }
    all
}

async fn ask(agent: &Agent, recipe: &Recipe, identity: &Identity, claims: &mut IdentityClaims) {
    let deadline = Deadline::after(std::time::Instant::now(), std::time::Duration::from_secs(5));
    let caller = recipe.caller.get().unwrap_or_default();
    let (state, why) = match credmint_identities::ask(identity, &caller, &agent.https, clock::now(), deadline).await {
        Ok(Some(token)) => ("chosen", tell(&token, claims)),
        Ok(None) => ("absent", Some(credmint_identities::absence(identity, &caller).to_string())),
        Err(error) => ("failed", Some(error.to_string())),
    };
    state.clone_into(&mut claims.state);
    claims.why = why;
}

/// Shows the person of a session, without renewing it.
fn look_at_session(agent: &Agent, key: SessionKey, claims: &mut IdentityClaims) {
    let (state, why) = match agent.sessions.get(key).map(|session| session.subject_now()) {
        None => ("absent", Some(failure::signed_out(&claims.name))),
        Some(Ok(token)) => ("chosen", tell(&token, claims)),
        Some(Err(failure)) => ("failed", Some(failure.what)),
    };
    state.clone_into(&mut claims.state);
    claims.why = why;
}

/// Copies what may be shown of a token's claims; they are not verified, and say so.
fn tell(token: &SubjectToken, to: &mut IdentityClaims) -> Option<String> {
    let Some(claims) = &token.claims else { return Some("the token is opaque: its claims cannot be read".to_owned()) };
    to.iss = claims.iss();
    to.sub = claims.sub();
    to.aud = claims.aud();
    to.groups = claims.texts("groups").unwrap_or_default();
    to.exp = claims.exp().map(|end| end.to_string());
    None
}

/// Tells the identities that answer without a network and without running a program.
fn is_dry(identity: &Identity) -> bool {
    match identity {
        Identity::Workload(workload) => !workload.is_asked(),
        _ => matches!(identity, Identity::Env { .. } | Identity::File { .. } | Identity::Kubernetes { .. }),
    }
}

fn kind(identity: &Identity) -> &'static str {
    match identity {
        Identity::Env { .. } => "env",
        Identity::File { .. } => "file",
        Identity::Kubernetes { .. } => "kubernetes",
        Identity::Spiffe(_) => "spiffe",
        Identity::Command(_) => "command",
        Identity::ClientCredentials(_) => "client-credentials",
        Identity::Oidc(_) => "oidc",
        Identity::VaultOidc(_) => "vault-oidc",
        Identity::AwsCaller(_) => "aws-caller",
        Identity::Workload(workload) => workload.kind(),
        _ => "of a later version",
    }
}

/// Says by which way a program of a run gets a provider's credential.
fn exec(recipe: &Recipe) -> Option<String> {
    let RouteName::Provider(name) = &recipe.name else { return None };
    let Some(channel) = recipe.settings.provider(name)?.1.exec else {
        return Some("by no way yet: `exec` says one, as \"azure-oidc\" or \"gitlab\"".to_owned());
    };
    Some(format!("{}, {}", channel.word(), channel.words()))
}

fn grants(issuer: &Issuer) -> &'static str {
    match issuer {
        _ if issuer.grants_certificate() => "certificate",
        _ if issuer.grants_keys() => "keys",
        _ => "token",
    }
}

fn word(deliver: Deliver) -> &'static str {
    match deliver {
        Deliver::Bridge => "bridge",
        Deliver::Token => "token",
        Deliver::Inline => "inline",
        _ => "of a later version",
    }
}

/// Gives the trust anchor that a `local-ca` issuer signs with; public.
pub(crate) fn anchor(agent: &Agent, got: &Got) -> Result<Reply, Failure> {
    let (hostname, settings) = server::place(agent, got)?;
    let settings_failure =
        |what| Failure::new(FailureKind::Settings, what).hint(format!("credmint explain {hostname}"));
    let none = || settings_failure(format!("the issuer of {hostname} is no local-ca, and has no anchor to print"));
    let no_route = || settings_failure(format!("the settings do not name {hostname}"));
    let route = settings.route(&hostname).ok_or_else(no_route)?;
    let anchor = credmint_issuers::anchor(route.issuer_name, route.issuer, &agent.authorities, clock::now());
    anchor.map(|certificate_pem| Reply::Anchor { certificate_pem }).ok_or_else(none)
}
