//! A run of `credmint exec`: it lasts as long as the connection, and nothing of it stays.
//! A request comes in, the run's port and a session token for each host go out; the end of the connection comes in.
//! Mints nothing: the first request through the bridge does. `protocol-spec/agent-protocol.md` §14.

use std::rc::Rc;

use credmint_agent_protocol::{Got, Reply, RunEnd, RunHost, RunMirror, RunOpen, RunOver, RunWanted};
use credmint_local_machine::RunDirectory;
use credmint_settings::{Deliver, Host, Settings};
use credmint_vocabulary::{Failure, FailureKind, Hostname};
use url::Url;

use crate::agent::Agent;
use crate::answers;
use crate::bridge::{Mirror, OpenRun};
use crate::connection::{Stream, receive, send};
use crate::recipe::Recipe;
use crate::server::{Ended, all_reads_of, caller_of};
use crate::status;

/// Opens a run, and keeps it until the caller ends it or goes away.
pub(crate) async fn run(agent: &Rc<Agent>, stream: &mut dyn Stream, wanted: &RunWanted) -> Result<Reply, Ended> {
    agent.lock.check()?;
    let settings = agent.settings.in_files(wanted.settings.as_deref(), wanted.usual_settings.as_deref());
    let settings = settings.map_err(Failure::from)?;
    if agent.bridge_for(&settings).is_none() {
        return Err(answers::needs_to_stay("`credmint exec`").into());
    }
    agent.stay(settings.agent.idle_exit);
    let recipes = recipes(agent, stream, &settings).await?;
    let mirrors = wanted.mirrors.iter().filter_map(|wanted| mirror(&recipes, wanted)).collect();
    let open = OpenRun::listen(agent, mirrors).await?;
    note(agent, wanted);
    let directory = RunDirectory::make().map_err(|error| unusable(&error))?;
    let ended = hold(stream, opened(&open, &directory, &recipes, &settings)).await;
    // Not when we end before: `credmint` is still there then, and removes it.
    directory.remove();
    agent.stay(settings.agent.idle_exit);
    ended?;
    Ok(Reply::RunOver(RunOver { failures: open.failures().iter().map(Into::into).collect() }))
}

/// Waits for the end of a run.
async fn hold(stream: &mut dyn Stream, opened: Result<RunOpen, Failure>) -> Result<RunEnd, Ended> {
    send(stream, &Reply::RunOpen(opened?)).await?;
    Ok(receive(stream).await?)
}

/// Lists the hosts that the bridge serves: those of a run, or those of which a person allows each use. A run would be a
/// use without end that nobody was asked about, so they are no part of it, and the caller's helper asks for them.
fn bridged(settings: &Settings, confirm: bool) -> impl Iterator<Item = &Hostname> {
    let is_bridged = move |host: &Host| host.deliver == Deliver::Bridge && host.confirm == confirm;
    settings.hosts.iter().filter(move |(_, host)| is_bridged(host)).map(|(name, _)| name)
}

/// Makes the recipes of the hosts of a run.
async fn recipes(
    agent: &Rc<Agent>,
    stream: &mut dyn Stream,
    settings: &Rc<Settings>,
) -> Result<Vec<Rc<Recipe>>, Ended> {
    let caller = caller_of(stream, all_reads_of(settings)).await?;
    let recipe = |name| status::recipe(agent, settings, name, &caller);
    Ok(bridged(settings, false).filter_map(recipe).map(Rc::new).collect())
}

/// Finds the host of the run that has a mirror; what leads elsewhere is none of ours.
fn mirror(recipes: &[Rc<Recipe>], wanted: &RunMirror) -> Option<Mirror> {
    let recipe = recipes.iter().find(|recipe| recipe.hostname.as_str() == wanted.hostname)?;
    let root = Url::parse(&format!("https://{}", recipe.hostname)).ok()?;
    let base = root.join(&wanted.path).ok().filter(|base| base.origin() == root.origin())?;
    let registries = wanted.registries.iter().filter_map(|name| Hostname::from_comparison_form(name).ok()).collect();
    Some(Mirror { recipe: Rc::clone(recipe), base, registries })
}

fn opened(
    open: &OpenRun,
    directory: &RunDirectory,
    recipes: &[Rc<Recipe>],
    settings: &Settings,
) -> Result<RunOpen, Failure> {
    let host = |hostname: &Hostname, recipe: &Rc<Recipe>| {
        let token = open.open_session(hostname, recipe)?.into();
        Ok(RunHost { hostname: hostname.to_string(), token })
    };
    let hosts = recipes.iter().map(|recipe| host(&recipe.hostname, recipe)).collect::<Result<_, Failure>>()?;
    let registries = open.registries().filter(|(name, _)| !recipes.iter().any(|recipe| recipe.hostname == **name));
    let registries = registries.map(|(name, recipe)| host(name, recipe)).collect::<Result<_, Failure>>()?;
    let confirm = bridged(settings, true).map(ToString::to_string).collect();
    Ok(RunOpen { port: open.port(), directory: directory.path().display().to_string(), hosts, confirm, registries })
}

/// `terraform login` may come by the run's port, too.
fn note(agent: &Agent, wanted: &RunWanted) {
    let (settings, usual_settings) = (wanted.settings.clone(), wanted.usual_settings.clone());
    agent.terraform_login.note(&Got { settings, usual_settings, ..Got::default() });
}

fn unusable(error: &dyn std::error::Error) -> Failure {
    Failure::new(FailureKind::Settings, error.to_string())
        .hint("set CREDMINT_SOCKET or XDG_RUNTIME_DIR to a directory you can write")
}
