//! The certificate that a host would get, for `credmint cert`: kept, or made as `get` makes it.
//! A host, settings and what the caller supplied come in, a report goes out: public data, never the key.
//! Asks the upstream for its opinion where the caller wants that. `protocol-spec/agent-protocol.md`, section 11.

use std::rc::Rc;
use std::time::{Duration, Instant};

use credmint_agent_protocol::{CertificateDetails, CertificateReport, CertificateWanted, Finding, Reply, SelfCheck};
use credmint_client_identity::{ClientIdentity, Description};
use credmint_issuers::Effect;
use credmint_local_machine::clock;
use credmint_vocabulary::{Deadline, Failure, FailureKind};

use crate::agent::Agent;
use crate::connection::Stream;
use crate::entries::Entry;
use crate::held::Held;
use crate::recipe::Recipe;
use crate::server::{Ended, recipe_of};
use crate::{get, offline, self_check};

/// Reports on the certificate of a host.
pub(crate) async fn certificate(
    agent: &Rc<Agent>,
    stream: &mut dyn Stream,
    wanted: &CertificateWanted,
) -> Result<Reply, Ended> {
    let deadline = deadline_of(wanted);
    let Some(recipe) = recipe_of(agent, stream, &wanted.got).await? else { return Ok(Reply::None) };
    let recipe = Rc::new(recipe);
    let route = recipe.route().ok_or_else(|| crate::failure::no_route(&recipe.name))?;
    if !route.issuer.grants_certificate() {
        return Err(gets_no_certificate(&recipe).into());
    }
    let entry = get::entry_of(agent, &recipe, deadline.at_most(Instant::now(), LONGEST_MINT)).await?;
    let report = report(agent, &recipe, &entry, wanted.self_check, deadline).await;
    if entry.recipe.settings.agent.once {
        agent.keep_nothing(&entry);
    }
    Ok(Reply::Certificate(report?))
}

async fn report(
    agent: &Rc<Agent>,
    recipe: &Rc<Recipe>,
    entry: &Entry,
    checks: bool,
    deadline: Deadline,
) -> Result<CertificateReport, Failure> {
    let held = entry.held.get().ok_or_else(crate::failure::locked)?;
    let Held::Identity(identity) = &*held else { return Err(gets_no_certificate(recipe)) };
    let route = recipe.route().ok_or_else(|| crate::failure::no_route(&recipe.name))?;
    let self_check = if checks { Some(checked(agent, recipe, identity, deadline).await) } else { None };
    Ok(CertificateReport {
        identity: entry.identity.as_ref().map(|(name, _)| name.clone()).unwrap_or_default(),
        issuer: route.issuer_name.to_owned(),
        issuer_words: credmint_issuers::describe(route.issuer),
        path: identity.certificates_der().iter().filter_map(|der| details(der)).collect(),
        anchor: identity.anchor_der().and_then(details),
        certificate_pem: identity.certificate_pem(),
        notes: entry.notes.iter().cloned().chain(offline::notes(entry, clock::now())).collect(),
        findings: findings(agent, recipe, deadline).await,
        self_check,
    })
}

/// Has the upstream asked with all that the host gets, as the bridge asks it.
async fn checked(agent: &Rc<Agent>, recipe: &Rc<Recipe>, identity: &ClientIdentity, deadline: Deadline) -> SelfCheck {
    let pair = match get::pair_of(agent, recipe, deadline.at_most(Instant::now(), LONGEST_MINT)).await {
        Ok(pair) => pair,
        Err(failure) => return self_check::failed(failure),
    };
    let told = self_check::of(agent, &pair, identity, deadline).await;
    if recipe.settings.agent.once {
        pair.token.iter().for_each(|token| agent.keep_nothing(token));
    }
    told
}

/// Asks what the issuer's rules say; that it cannot be asked is told, and is no failure: the certificate is there.
async fn findings(agent: &Rc<Agent>, recipe: &Rc<Recipe>, deadline: Deadline) -> Vec<Finding> {
    let deadline = deadline.at_most(Instant::now(), LONGEST_PREFLIGHT);
    match get::preflight(agent, recipe, deadline).await {
        Ok(findings) => findings.into_iter().map(on_wire).collect(),
        Err(failure) => {
            let what = format!("the issuer's rules were not read: {}", failure.what);
            vec![Finding { effect: "unknown".to_owned(), what, hint: failure.hint }]
        }
    }
}

fn on_wire(finding: credmint_issuers::Finding) -> Finding {
    let effect = match finding.effect {
        Effect::Refuses => "refuses",
        Effect::Changes => "changes",
        Effect::Warns => "warns",
        _ => "unknown",
    };
    Finding { effect: effect.to_owned(), what: finding.what, hint: finding.hint }
}

fn details(der: &[u8]) -> Option<CertificateDetails> {
    let read = Description::of(der)?;
    let names = &read.names;
    let kinds = [
        names.dns_names.iter().map(|name| format!("DNS:{name}")).collect::<Vec<_>>(),
        names.email_addresses.iter().map(|name| format!("email:{name}")).collect(),
        names.ip_addresses.iter().map(|name| format!("IP:{name}")).collect(),
        names.uris.iter().map(|name| format!("URI:{name}")).collect(),
    ];
    Some(CertificateDetails {
        names: kinds.concat(),
        subject: read.subject,
        issuer: read.issuer,
        serial: read.serial,
        key: read.key,
        not_before: read.not_before.to_string(),
        not_after: read.not_after.to_string(),
        usages: read.usages,
    })
}

fn gets_no_certificate(recipe: &Recipe) -> Failure {
    let route = recipe.route();
    let issuer = route.map(|route| route.issuer_name).unwrap_or_default();
    let granted = if route.is_some_and(|route| route.issuer.grants_keys()) { "keys of AWS" } else { "a bearer token" };
    let what = format!("{} gets {granted} from issuer {issuer}, and no certificate", recipe.name);
    Failure::new(FailureKind::Settings, what).hint(format!("credmint explain {}", recipe.name))
}

/// Gives the caller's deadline; a person waits longer than Terraform does.
fn deadline_of(wanted: &CertificateWanted) -> Deadline {
    let theirs = if wanted.got.deadline_ms == 0 { LONGEST } else { Duration::from_millis(wanted.got.deadline_ms) };
    Deadline::after(Instant::now(), LONGEST.min(theirs).saturating_sub(TIME_TO_ANSWER))
}

const LONGEST: Duration = Duration::from_secs(30);
const LONGEST_PREFLIGHT: Duration = Duration::from_secs(5);
const LONGEST_MINT: Duration = Duration::from_secs(10);
const TIME_TO_ANSWER: Duration = Duration::from_millis(100);
