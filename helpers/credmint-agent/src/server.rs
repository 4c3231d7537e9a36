//! One connection, one request: what is asked, what is needed from the caller, what is answered.
//! A stream to a caller comes in; everything that the caller may know goes out over it.
//! Trusts nothing of the caller but what the kernel says of it (checked before this).

use std::rc::Rc;
use std::time::{Duration, Instant};

use credmint_agent_protocol::{Ask, BUILD, Credential, Got, Need, Reply, Request, Supply, VERSION};
use credmint_identities::Caller;
use credmint_local_machine::clock;
use credmint_settings::{CallerReads, Settings};
use credmint_vocabulary::{Deadline, Failure, FailureKind, RouteName, Secret};
use tokio::time::timeout;

use crate::absence::{self, Instead, Job};
use crate::agent::Agent;
use crate::asking::Asking;
use crate::confirm::Consent;
use crate::connection::{ConnectionError, Stream, receive_soon, send};
use crate::recipe::{EntryKey, Recipe};
use crate::sessions::Sessions;
use crate::{
    answers, certificate, confirm, exec, explain, failure, get, lock, login, logout, metrics, offline, services,
    sessions, status, terraform_login,
};

/// Serves the one request of a connection; `peer` is the caller's process, where the kernel tells it.
pub(crate) async fn serve(
    agent: &Rc<Agent>,
    stream: &mut dyn Stream,
    peer: Option<u32>,
) -> Result<(), ConnectionError> {
    let Ok(request) = timeout(FIRST_FRAME, receive_soon::<Request>(stream)).await else { return Ok(()) };
    let request = request?;
    let _busy = Rc::clone(&agent.busy);
    if is_of_another_build(&request.ask) && agent.can_be_replaced(clock::now(), 1) {
        // Who was not answered asks once more, and starts the agent of its own build: our name is withdrawn before we end.
        agent.stop.notify_one();
        return std::future::pending().await;
    }
    let reply = if request.version == VERSION {
        match dispatch(agent, (stream, peer), request.ask).await {
            Ok(reply) => reply,
            Err(Ended::Failed(failure)) => answers::failed(&failure),
            Err(Ended::Gone(error)) => return Err(error),
        }
    } else {
        answers::failed(&other_version(request.version))
    };
    send(stream, &reply).await
}

/// Tells the requests that start an agent, when their caller is of another build; one that does not say is none.
fn is_of_another_build(ask: &Ask) -> bool {
    let build = match ask {
        Ask::Get(got) | Ask::Listen(got) => &got.build,
        Ask::Login(login) => &login.build,
        Ask::Run(run) => &run.build,
        _ => return false,
    };
    !build.is_empty() && build != BUILD
}

/// Why a request ends without its answer.
pub(crate) enum Ended {
    /// The caller is told why.
    Failed(Failure),
    /// There is nobody to tell.
    Gone(ConnectionError),
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<ConnectionError> for Ended {
    fn from(error: ConnectionError) -> Self {
        Self::Gone(error)
    }
}

async fn dispatch(agent: &Rc<Agent>, caller: (&mut dyn Stream, Option<u32>), ask: Ask) -> Result<Reply, Ended> {
    if !needs_the_key(&ask) {
        return answer(agent, caller, ask).await;
    }
    agent.lock.check()?;
    tokio::select! {
        reply = answer(agent, caller, ask) => reply,
        () = agent.lock.closing.notified() => Err(failure::locked().into()),
    }
}

async fn answer(agent: &Rc<Agent>, (stream, peer): (&mut dyn Stream, Option<u32>), ask: Ask) -> Result<Reply, Ended> {
    match ask {
        Ask::Get(got) => credential(agent, stream, &got, peer).await,
        Ask::Store { got, object } => terraform_login::store(agent, stream, &got, &object).await,
        Ask::Listen(got) => Ok(listen(agent, &got).await?),
        Ask::Forget(got) => forget(agent, stream, &got).await,
        Ask::Explain(got) => {
            let (name, settings) = place(agent, &got)?;
            let caller = caller_of(stream, reads_of(&settings, &name)).await?;
            let asking = Asking::of(peer, got.phase.as_deref())?;
            Ok(Reply::Explanation(explain::explain(agent, (name, settings), caller, &asking).await.into()))
        }
        Ask::Anchor(got) => Ok(explain::anchor(agent, &got)?),
        Ask::Certificate(wanted) => certificate::certificate(agent, stream, &wanted).await,
        Ask::Status { settings, usual_settings } => {
            sessions::end_those_over(agent, clock::now(), Instant::now());
            let read = agent.settings.in_files(settings.as_deref(), usual_settings.as_deref());
            let settings = read.unwrap_or_default();
            agent.metrics.want(&settings);
            metrics::listen(agent).await;
            let caller = caller_of(stream, all_reads_of(&settings)).await?;
            Ok(Reply::Status(status::status(agent, &settings, &caller).await))
        }
        Ask::Services(got) => services::services(agent, stream, &got).await,
        Ask::Enrol(asked) => offline::enrol(agent, stream, &asked).await,
        Ask::Login(login) => login::login(agent, stream, &login).await,
        Ask::Logout(logout) => logout::logout(agent, stream, &logout).await,
        Ask::Run(wanted) => exec::run(agent, (stream, peer), &wanted).await,
        Ask::Lock(passphrase) => Ok(lock::lock(agent, passphrase).await?),
        Ask::Unlock(passphrase) => Ok(lock::unlock(agent, passphrase).await?),
        Ask::Stop => {
            agent.stop.notify_one();
            Ok(Reply::Done)
        }
        _ => Err(Failure::new(FailureKind::Usage, "the agent does not know this request").hint(RESTART).into()),
    }
}

/// Tells whether it can be done only while nothing is locked away.
fn needs_the_key(ask: &Ask) -> bool {
    matches!(
        ask,
        Ask::Get(_)
            | Ask::Store { .. }
            | Ask::Explain(_)
            | Ask::Anchor(_)
            | Ask::Certificate(_)
            | Ask::Services(_)
            | Ask::Enrol(_)
            | Ask::Login(_)
    )
}

async fn credential(agent: &Rc<Agent>, stream: &mut dyn Stream, got: &Got, peer: Option<u32>) -> Result<Reply, Ended> {
    let mut deadline = deadline_of(got);
    let Some((recipe, mut more)) = recipe_with(agent, stream, got, more_reads).await? else {
        return Ok(Reply::None);
    };
    let route = recipe.route();
    // Most routes are the same for everybody: nobody's parents are looked at for them.
    let seen = peer.filter(|_| route.is_some_and(|route| route.host.policy.is_about_who_asks()));
    let asking = Asking::of(seen, got.phase.as_deref())?;
    asking.judge(&recipe.name, route.and_then(|route| route.host.policy.allow.as_ref()))?;
    let desktop = more.extract_if(.., |(name, _)| confirm::reads_it(name)).collect();
    let (whole, job) = (Rc::new(recipe), Job::of(&more));
    let recipe = Rc::clone(whole.during(asking.phase));
    let mut consent = Consent::new(agent, &recipe, peer, desktop);
    if agent.stored.has(recipe.stored_key()) {
        consent.ask(stream).await?;
        if let Some(token) = agent.stored.get(recipe.stored_key()) {
            return Ok(Reply::Credential(Credential { token: Some(token.into()), ..Credential::default() }));
        }
    }
    agent.terraform_login.note(got);
    answers::prepare(agent, &recipe).await?;
    if consent.ask_if_of_use(stream, deadline).await? {
        // The person took their time, and nothing of ours.
        deadline = deadline_of(got);
    }
    let made = get::pair_of(agent, &recipe, deadline).await;
    let (recipe, pair) = match made {
        Ok(pair) => (Rc::clone(&recipe), pair),
        Err(failure) => {
            let routes = (&recipe, whole.fallback.as_ref());
            match absence::instead(agent, routes, (job, failure), deadline).await? {
                Instead::Fallback(recipe, pair) => (recipe, pair),
                Instead::Placeholder(credential) => return Ok(Reply::Credential(*credential)),
            }
        }
    };
    consent.ask(stream).await?;
    let credential = answers::deliver(agent, &recipe, &pair);
    // What was made for somebody else stays: only the settings that made it say for how long.
    pair.all().filter(|entry| entry.recipe.settings.agent.once).for_each(|entry| agent.keep_nothing(entry));
    Ok(Reply::Credential(credential?))
}

async fn forget(agent: &Rc<Agent>, stream: &mut dyn Stream, got: &Got) -> Result<Reply, Ended> {
    let Some(recipe) = recipe_of(agent, stream, got).await? else { return Ok(Reply::Done) };
    if let Some(bridge) = &agent.bridge {
        bridge.close(&recipe);
    }
    let given_back: Vec<bool> = recipe.keys().map(|key| agent.forget(key)).collect();
    agent.stored.forget(recipe.stored_key());
    // What is left signed in would get the next credential without a word: that is no logout.
    let mut failed = match recipe.route() {
        Some(route) => logout::people_of(agent, &route, &*recipe.caller()?).await,
        None => Vec::new(),
    };
    if given_back.contains(&false) {
        failed.push(format!("what {} had is dropped, but not revoked: credmint was locked", recipe.name));
    }
    if failed.is_empty() {
        return Ok(Reply::Done);
    }
    Err(Failure::new(FailureKind::Unreachable, failed.join("; ")).hint(AT_THE_ISSUER).into())
}

/// Has the bridge listen before any helper asks for a credential: `terraform login` does without.
async fn listen(agent: &Rc<Agent>, got: &Got) -> Result<Reply, Failure> {
    let (name, settings) = place(agent, got)?;
    let Some(recipe) = Recipe::new(name, settings, Caller::default(), &agent.sessions) else {
        return Ok(Reply::None);
    };
    agent.terraform_login.note(got);
    answers::prepare(agent, &recipe).await?;
    Ok(Reply::Done)
}

/// Gives the key under which a token is stored for this caller.
pub(crate) async fn stored_key(
    stream: &mut dyn Stream,
    name: &RouteName,
    settings: &Rc<Settings>,
) -> Result<Option<EntryKey>, Ended> {
    let caller = caller_of(stream, reads_of(settings, name)).await?;
    let recipe = Recipe::new(name.clone(), Rc::clone(settings), caller, &Sessions::default());
    Ok(recipe.map(|recipe| recipe.stored_key()))
}

/// Finds the host and the settings that a request is about.
pub(crate) fn place(agent: &Agent, got: &Got) -> Result<(RouteName, Rc<Settings>), Failure> {
    let name = RouteName::from_text(&got.hostname)
        .map_err(|error| Failure::new(FailureKind::Usage, format!("not a hostname: {error}")))?;
    let settings = agent.settings.of(got)?;
    agent.metrics.want(&settings);
    agent.stay(if settings.agent.once { ONE_MORE_MOMENT } else { settings.agent.idle_exit });
    Ok((own_name(name, &settings), settings))
}

/// Gives a provider that is asked for by a host the name that it has in the settings.
fn own_name(name: RouteName, settings: &Settings) -> RouteName {
    match &name {
        RouteName::Provider(asked) => {
            settings.provider(asked).map_or(name.clone(), |(own, _)| RouteName::Provider(own.to_owned()))
        }
        RouteName::Host(_) => name,
    }
}

/// Makes the recipe of a request about a host; `None` when no route names it.
pub(crate) async fn recipe_of(agent: &Agent, stream: &mut dyn Stream, got: &Got) -> Result<Option<Recipe>, Ended> {
    Ok(recipe_with(agent, stream, got, |_, _| Vec::new()).await?.map(|(recipe, _)| recipe))
}

/// Lists what more of the caller's environment a `get` looks at.
fn more_reads(settings: &Settings, name: &RouteName) -> Vec<&'static str> {
    [confirm::reads(settings, name), absence::reads(settings, name)].concat()
}

/// Makes it, and asks the caller for more of its environment, which makes no difference to the entry.
async fn recipe_with(
    agent: &Agent,
    stream: &mut dyn Stream,
    got: &Got,
    more: fn(&Settings, &RouteName) -> Vec<&'static str>,
) -> Result<Option<(Recipe, Vec<(String, Secret<String>)>)>, Ended> {
    let (name, settings) = place(agent, got)?;
    if settings.route(&name).is_none() {
        return Ok(None);
    }
    let (reads, more) = (reads_of(&settings, &name), more(&settings, &name));
    let mut all = reads.clone();
    all.environment.extend(more.iter().map(|name| (*name).to_owned()));
    let mut caller = caller_of(stream, all).await?;
    let mut found = Vec::new();
    for name in more {
        match caller.environment.get(name) {
            Some(value) if reads.environment.contains(name) => found.push((name.to_owned(), value.copied())),
            _ => found.extend(caller.environment.remove(name).map(|value| (name.to_owned(), value))),
        }
    }
    Ok(Recipe::new(name, settings, caller, &agent.sessions).map(|recipe| (recipe, found)))
}

fn reads_of(settings: &Settings, name: &RouteName) -> CallerReads {
    settings.route(name).map(|route| credmint_identities::caller_reads(&route)).unwrap_or_default()
}

pub(crate) fn all_reads_of(settings: &Settings) -> CallerReads {
    let mut all = CallerReads::default();
    for name in settings.names() {
        let reads = reads_of(settings, &name);
        all.environment.extend(reads.environment);
        all.files.extend(reads.files);
    }
    all
}

/// Asks the caller for what a route reads from it, and for nothing else.
pub(crate) async fn caller_of(stream: &mut dyn Stream, reads: CallerReads) -> Result<Caller, ConnectionError> {
    if reads == CallerReads::default() {
        return Ok(Caller::default());
    }
    let need = Need {
        environment: reads.environment.into_iter().collect(),
        files: reads.files.iter().map(|path| path.display().to_string()).collect(),
    };
    send(stream, &Reply::Need(need)).await?;
    let gone = |_| std::io::Error::from(std::io::ErrorKind::TimedOut);
    let supply = timeout(FIRST_FRAME, receive_soon::<Supply>(stream)).await.map_err(gone)??;
    Ok(supplied(supply))
}

/// Takes over what a caller supplied.
pub(crate) fn supplied(supply: Supply) -> Caller {
    Caller {
        environment: supply.environment.into_iter().map(|(name, value)| (name, value.into_secret())).collect(),
        files: supply.files.into_iter().map(|(path, value)| (path.into(), value.into_secret())).collect(),
        unreadable: supply.unreadable.into_iter().map(|(path, why)| (path.into(), why)).collect(),
    }
}

/// Gives the caller's deadline, never more than our own.
pub(crate) fn deadline_of(got: &Got) -> Deadline {
    let own = Duration::from_secs(10);
    let theirs = if got.deadline_ms == 0 { own } else { Duration::from_millis(got.deadline_ms) };
    Deadline::after(Instant::now(), own.min(theirs).saturating_sub(TIME_TO_ANSWER))
}

fn other_version(version: u32) -> Failure {
    let what = format!("the agent speaks version {VERSION} of the agent protocol, the caller version {version}");
    Failure::new(FailureKind::Usage, what).hint(RESTART)
}

/// What helps when two versions meet.
pub(crate) const RESTART: &str =
    "credmint agent stop, then run the command again: it starts the agent of its own version";
const AT_THE_ISSUER: &str = "end the session at the issuer, on its own pages";
/// How long an agent stays that keeps nothing: the other helpers of one `init` need not start their own.
const ONE_MORE_MOMENT: Duration = Duration::from_secs(1);
/// How long a caller may take to say what it wants.
const FIRST_FRAME: Duration = Duration::from_secs(5);
/// What is left of the caller's deadline to hand the answer over.
const TIME_TO_ANSWER: Duration = Duration::from_millis(100);
