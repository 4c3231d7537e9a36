//! A run of `credmint exec`: it lasts as long as the connection, and nothing of it stays.
//! A request comes in, the run's port and a session token for each host go out; the end of the connection comes in.
//! Hands out no credential: of a host that is not known it is used once, to ask what that offers. `protocol-spec/agent-protocol.md` §14.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use credmint_agent_protocol::{
    Got, Reply, RunEnd, RunHost, RunMirror, RunOpen, RunOver, RunProxy, RunStatus, RunWanted,
};
use credmint_https::ProxyOfCaller;
use credmint_identities::Caller;
use credmint_local_machine::{RunDirectory, clock};
use credmint_settings::{Deliver, Host, Settings};
use credmint_vocabulary::{Failure, FailureKind, Hostname, NoProxy, printable};
use url::Url;

use crate::absence::{self, Job};
use crate::agent::Agent;
use crate::answers;
use crate::asking::Asking;
use crate::bridge::{Mirror, OpenRun, WayOut};
use crate::connection::{Stream, receive, send};
use crate::end_of_run;
use crate::recipe::{EntryKey, OfRun, Recipe};
use crate::run_provider::{self, Saying, Wanted};
use crate::server::{Ended, all_reads_of, caller_of};
use crate::services::{self, Said};
use crate::status;

/// Opens a run, and keeps it until the caller ends it or goes away.
pub(crate) async fn run(
    agent: &Rc<Agent>,
    (stream, peer): (&mut dyn Stream, Option<u32>),
    wanted: &RunWanted,
) -> Result<Reply, Ended> {
    agent.lock.check()?;
    let settings = agent.settings.in_files(wanted.settings.as_deref(), wanted.usual_settings.as_deref());
    let settings = settings.map_err(Failure::from)?;
    if agent.bridge_for(&settings).is_none() {
        return Err(answers::needs_to_stay("`credmint exec`").into());
    }
    agent.metrics.want(&settings);
    agent.stay(settings.agent.idle_exit);
    let (caller, asking) = (read(stream, &settings, wanted).await?, Asking::of(peer, wanted.phase.as_deref())?);
    let ttl = wanted.ttl_seconds.map(Duration::from_secs);
    let saying = Saying { caller: &caller, asking: &asking, ttl };
    let providers = run_provider::wanted(agent, &settings, &wanted.providers, &saying)?;
    let recipes = recipes(agent, &settings, &caller);
    let mirrors = wanted.mirrors.iter().filter_map(|wanted| mirror(&recipes, wanted)).collect();
    let open = OpenRun::listen(agent, facts(wanted, peer, names(&recipes, &providers)), mirrors).await?;
    note(agent, wanted);
    let of_run = OfRun { number: open.number(), is_special: ttl.is_some() };
    providers.iter().for_each(|provider| provider.whole.lend_to(of_run));
    let fetched = run_provider::fetch(agent, providers, Job::of_caller(&caller)).await?;
    let directory = RunDirectory::make().map_err(|error| unusable(&error))?;
    let said = services::of_run(agent, &recipes, &wanted.described).await;
    let opened = opened(&open, &directory, (&recipes, said), &settings);
    let opened = opened.and_then(|opened| {
        let (proxy, providers) = (proxy(&open, &recipes, wanted)?, run_provider::open(&open, fetched)?);
        Ok(RunOpen { proxy, providers, ..opened })
    });
    let ended = hold(stream, opened).await;
    // Not when we end before: `credmint` is still there then, and removes it.
    directory.remove();
    agent.stay(settings.agent.idle_exit);
    let not_revoked = end_of_run::give_back(agent, open.number()).await;
    ended?;
    let (failures, not_revoked) =
        (open.failures().iter().map(Into::into).collect(), not_revoked.iter().map(Into::into));
    Ok(Reply::RunOver(RunOver { failures, not_revoked: not_revoked.collect() }))
}

/// Reads from the caller what its routes want, and what tells a job without a user.
async fn read(stream: &mut dyn Stream, settings: &Settings, wanted: &RunWanted) -> Result<Caller, Ended> {
    let mut reads = all_reads_of(settings);
    if !wanted.providers.is_empty() {
        reads.environment.extend(absence::READS.iter().map(|name| (*name).to_owned()));
    }
    Ok(caller_of(stream, reads).await?)
}

/// What `credmint status` says of a run: its caller names the program, the kernel the process.
fn facts(wanted: &RunWanted, process: Option<u32>, mut hosts: Vec<String>) -> RunStatus {
    let others = hosts.split_off(hosts.len().min(MOST_NAMED)).len();
    hosts.extend((others > 0).then(|| format!("{others} more")));
    let (program, since) = (printable(&wanted.program, 60), clock::now().to_string());
    RunStatus { program, process, since, hosts, ..RunStatus::default() }
}

/// Names what a run can reach.
fn names(recipes: &[Rc<Recipe>], providers: &[Wanted]) -> Vec<String> {
    let hosts = recipes.iter().map(|recipe| recipe.name.to_string());
    hosts.chain(providers.iter().map(|provider| format!("provider/{}", provider.name))).collect()
}

/// Waits for the end of a run.
async fn hold(stream: &mut dyn Stream, opened: Result<RunOpen, Failure>) -> Result<RunEnd, Ended> {
    send(stream, &Reply::RunOpen(opened?)).await?;
    Ok(receive(stream).await?)
}

/// Lists the hosts that the bridge serves: those of a run, or those of which each use is judged, by a person or by who asks. A run
/// would be a use without end that nobody judged, so they are no part of it, and the caller's helper asks for them.
fn bridged(settings: &Settings, judged: bool) -> impl Iterator<Item = &Hostname> {
    let is_judged = |host: &Host| host.confirm || host.policy.allow.is_some();
    let is_bridged = move |host: &Host| host.deliver == Deliver::Bridge && is_judged(host) == judged;
    settings.hosts.iter().filter(move |(_, host)| is_bridged(host)).map(|(name, _)| name)
}

/// Makes the recipes of the hosts of a run.
fn recipes(agent: &Agent, settings: &Rc<Settings>, caller: &Caller) -> Vec<Rc<Recipe>> {
    let recipe = |name: &Hostname| status::recipe(agent, settings, name.clone().into(), caller);
    bridged(settings, false).filter_map(recipe).map(Rc::new).collect()
}

/// Finds the host of the run that has a mirror; what leads elsewhere is none of ours.
fn mirror(recipes: &[Rc<Recipe>], wanted: &RunMirror) -> Option<Mirror> {
    let recipe = recipes.iter().find(|recipe| recipe.name.to_string() == wanted.hostname)?;
    let root = Url::parse(&format!("https://{}", recipe.name)).ok()?;
    let base = root.join(&wanted.path).ok().filter(|base| base.origin() == root.origin())?;
    let registries = wanted.registries.iter().filter_map(|name| Hostname::from_comparison_form(name).ok()).collect();
    Some(Mirror { recipe: Rc::clone(recipe), base, registries })
}

fn opened(
    open: &OpenRun,
    directory: &RunDirectory,
    (recipes, mut said): (&[Rc<Recipe>], BTreeMap<EntryKey, Said>),
    settings: &Settings,
) -> Result<RunOpen, Failure> {
    let host = |hostname: &Hostname, recipe: &Rc<Recipe>, said: Option<Said>| {
        let token = open.open_session(hostname, recipe)?.into();
        let (services, unasked) = said.map_or((None, None), |said| match said {
            Ok(services) => (Some(services), None),
            Err(why) => (None, Some(why)),
        });
        Ok(RunHost { hostname: hostname.to_string(), token, services, unasked })
    };
    let hosts = recipes
        .iter()
        .map(|recipe| host(recipe.host()?, recipe, said.remove(&recipe.key)))
        .collect::<Result<_, Failure>>()?;
    let registries = open.registries().filter(|(name, _)| !recipes.iter().any(|recipe| recipe.name == **name));
    let registries = registries.map(|(name, recipe)| host(name, recipe, None)).collect::<Result<_, Failure>>()?;
    let confirm = bridged(settings, true).map(ToString::to_string).collect();
    let directory = directory.path().display().to_string();
    Ok(RunOpen { port: open.port(), directory, hosts, confirm, registries, ..RunOpen::default() })
}

/// Makes the run's port a proxy, where that is wanted and there is a host to reach.
fn proxy(open: &OpenRun, recipes: &[Rc<Recipe>], wanted: &RunWanted) -> Result<Option<RunProxy>, Failure> {
    let Some(proxy) = wanted.proxy.as_ref().filter(|_| !recipes.is_empty()) else { return Ok(None) };
    let outer = proxy.outer.as_ref().map(|outer| ProxyOfCaller::of(outer.secret())).transpose();
    let outer = outer.map_err(|error| {
        let hint = "credmint exec --carrier host -- CMD, or set HTTPS_PROXY to an http:// proxy";
        Failure::new(FailureKind::Settings, format!("HTTPS_PROXY: {error}")).hint(hint)
    })?;
    let way_out = WayOut { proxy: outer, no_proxy: NoProxy::of(&proxy.no_proxy) };
    let hosts = recipes.iter().filter_map(|recipe| recipe.name.host().cloned()).collect();
    let (token, certificate) = open.carry(hosts, way_out)?;
    Ok(Some(RunProxy { token: token.into(), certificate }))
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

/// How many hosts of a run are named in the status.
const MOST_NAMED: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridge::recipe_for_tests;

    #[test]
    fn a_mirror_is_at_a_host_of_the_run_and_stays_there() {
        let recipes = [recipe_for_tests()];
        let base = |hostname: &str, path: &str| {
            let (hostname, path) = (hostname.to_owned(), path.to_owned());
            let registries = vec!["registry.terraform.io".to_owned(), "NO HOST".to_owned()];
            mirror(&recipes, &RunMirror { hostname, path, registries })
                .map(|m| (m.base.to_string(), m.registries.len()))
        };
        let host = "registry.corp.example";
        assert_eq!(base(host, "/p/"), Some(("https://registry.corp.example/p/".to_owned(), 1)));
        assert_eq!(base(host, ""), Some(("https://registry.corp.example/".to_owned(), 1)));
        for path in [
            "//elsewhere.example/",
            "https://elsewhere.example/",
            "http://registry.corp.example/",
            "/\\elsewhere.example:1/",
        ] {
            assert_eq!(base(host, path), None, "{path}");
        }
        assert_eq!(base("other.example", "/p/"), None);
    }
}
