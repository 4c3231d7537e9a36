//! The services that a host offers, for `credmint setup` and `credmint exec`: a `host` block has to name them all, since it gives no fall-back.
//! A host and settings come in, its discovery document goes out with the host's own addresses as paths of the bridge.
//! Asks the upstream of the settings and no other; a redirect to another host is a failure. Terraform's remote service discovery.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use credmint_agent_protocol::{Got, Reply, ServicesOffered};
use credmint_https::Upstream;
use credmint_vocabulary::{Deadline, Failure, FailureKind};
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Incoming;
use serde_json::Value;
use tokio::time::timeout_at;
use url::Url;

use crate::agent::Agent;
use crate::bridge::{self, authorize, connections_of, refusal, unreachable};
use crate::connection::Stream;
use crate::entries::Entry;
use crate::get::{self, Pair};
use crate::recipe::{EntryKey, Recipe};
use crate::server::{Ended, deadline_of, recipe_of};

/// Tells what a host offers.
pub(crate) async fn services(agent: &Rc<Agent>, stream: &mut dyn Stream, got: &Got) -> Result<Reply, Ended> {
    let deadline = deadline_of(got);
    let Some(recipe) = recipe_of(agent, stream, got).await? else { return Ok(Reply::None) };
    let pair = get::pair_of(agent, &Rc::new(recipe), deadline).await?;
    let offered = timeout_at(deadline.instant().into(), discover(agent, &pair)).await;
    if pair.first.recipe.settings.agent.once {
        pair.all().for_each(|entry| agent.keep_nothing(entry));
    }
    let offered = offered.map_err(|_| slow(&pair.first.recipe.name))?;
    Ok(Reply::Services(ServicesOffered { services: offered? }))
}

/// Keeps what hosts said, or why they did not.
#[derive(Default)]
pub(crate) struct Discovered(RefCell<HashMap<EntryKey, (Instant, Said)>>);

type Services = BTreeMap<String, Value>;
/// What a host said, or why it did not.
pub(crate) type Said = Result<Services, String>;

impl Discovered {
    fn keep(&self, key: EntryKey, said: &Said) {
        let mut all = self.0.borrow_mut();
        if all.len() >= MOST_HOSTS {
            all.clear();
        }
        all.insert(key, (Instant::now(), said.clone()));
    }

    /// Gives what is known, and whether it is to be asked again.
    fn get(&self, key: EntryKey, now: Instant) -> Option<(Said, bool)> {
        let (when, said) = self.0.borrow().get(&key).cloned()?;
        let is_old = now.saturating_duration_since(when) >= if said.is_ok() { KNOWN } else { UNKNOWN };
        // What a host said once is better than nothing; why it did not is not.
        (said.is_ok() || !is_old).then_some((said, is_old))
    }
}

/// Tells what the hosts of a run offer, and does not wait for it longer than a person would notice: who is slow is asked on, for
/// the next run.
pub(crate) async fn of_run(
    agent: &Rc<Agent>,
    recipes: &[Rc<Recipe>],
    described: &[String],
) -> BTreeMap<EntryKey, Said> {
    let now = Instant::now();
    let (mut known, mut asked) = (BTreeMap::new(), Vec::new());
    for recipe in recipes.iter().filter(|recipe| !described.iter().any(|name| *name == recipe.name.to_string())) {
        let said = agent.discovered.get(recipe.key, now);
        if said.as_ref().is_none_or(|(_, is_old)| *is_old) {
            let asking = tokio::task::spawn_local(find_out(Rc::clone(agent), Rc::clone(recipe)));
            if said.is_none() {
                asked.push((recipe.key, asking));
            }
        }
        known.extend(said.map(|(said, _)| (recipe.key, said)));
    }
    for (key, asking) in asked {
        let said = timeout_at((now + PATIENCE_OF_A_RUN).into(), asking).await;
        let slow = || Err("it did not say so in time".to_owned());
        known.insert(key, said.ok().and_then(Result::ok).unwrap_or_else(slow));
    }
    fit_in(&mut known);
    known
}

/// A frame has 64 KiB for all hosts of a run.
fn fit_in(known: &mut BTreeMap<EntryKey, Said>) {
    let mut room = MOST_IN_A_RUN;
    for said in known.values_mut() {
        let length = said.as_ref().map_or(0, length);
        if length > room {
            *said = Err("the run has too many services".to_owned());
        } else {
            room -= length;
        }
    }
}

fn length(offered: &Services) -> usize {
    serde_json::to_vec(offered).map_or(usize::MAX, |text| text.len())
}

/// Asks a host, and keeps what it said.
async fn find_out(agent: Rc<Agent>, recipe: Rc<Recipe>) -> Said {
    let deadline = Deadline::after(Instant::now(), PATIENCE);
    let said = async {
        let pair = get::pair_of(&agent, &recipe, deadline).await?;
        let offered = timeout_at(deadline.instant().into(), discover(&agent, &pair)).await;
        offered.map_err(|_| slow(&recipe.name))?
    };
    let said = said.await.map_err(|failure: Failure| failure.what);
    agent.discovered.keep(recipe.key, &said);
    said
}

async fn discover(agent: &Agent, pair: &Pair) -> Result<BTreeMap<String, Value>, Failure> {
    let entry = &pair.first;
    let hostname = &entry.recipe.name;
    let upstream = connections_of(agent, entry)?;
    let mut url = Url::parse(&format!("https://{hostname}{PATH}")).map_err(|_| unusable(hostname, "it has no URL"))?;
    for _ in 0..=MOST_REDIRECTS {
        let answer = ask(&upstream, pair, &url).await?;
        match next(entry, &url, &answer)? {
            Some(other) => url = other,
            None => return read(entry, &url, answer).await,
        }
    }
    Err(unusable(hostname, "it is redirected more than three times"))
}

async fn ask(upstream: &Upstream, pair: &Pair, url: &Url) -> Result<Response<Incoming>, Failure> {
    let hostname = &pair.first.recipe.name;
    let path = url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
    let request = Request::get(path).header(header::ACCEPT, JSON).header(header::ACCEPT_ENCODING, "identity");
    let mut request =
        request.body(Empty::<Bytes>::new()).map_err(|_| unusable(hostname, "its address is malformed"))?;
    authorize(request.headers_mut(), pair)?;
    upstream.request(request).await.map_err(|error| unreachable(hostname, &error))
}

/// Gives where a redirect leads.
fn next(entry: &Entry, url: &Url, answer: &Response<Incoming>) -> Result<Option<Url>, Failure> {
    if !answer.status().is_redirection() {
        return Ok(None);
    }
    let location = answer.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
    let inside = location.and_then(|location| bridge::ours(&entry.recipe, url, location));
    inside.map(Some).ok_or_else(|| unusable(&entry.recipe.name, "it is redirected to another host"))
}

async fn read(entry: &Entry, url: &Url, answer: Response<Incoming>) -> Result<BTreeMap<String, Value>, Failure> {
    let hostname = &entry.recipe.name;
    let (parts, body) = answer.into_parts();
    let broken = |_| unusable(hostname, "it breaks off, or is larger than 1 MiB");
    let page = Limited::new(body, LARGEST).collect().await.map_err(broken)?.to_bytes();
    if let (Some((subject, _)), true) = (&entry.facts.certificate, refusal::may_be_one(&parts))
        && let Some(failure) = refusal::of_page(&page, hostname, subject)
    {
        return Err(failure);
    }
    if parts.status != StatusCode::OK {
        return Err(unusable(hostname, &format!("it answers {}", parts.status)));
    }
    let document: BTreeMap<String, Value> =
        serde_json::from_slice(&page).map_err(|_| unusable(hostname, "it is no JSON object"))?;
    Ok(document.into_iter().map(|(name, value)| (name, translated(entry, url, value))).collect())
}

/// Makes an address of the host's own a path, and every other one absolute.
fn translated(entry: &Entry, url: &Url, value: Value) -> Value {
    let Value::String(address) = &value else { return value };
    match (bridge::ours(&entry.recipe, url, address), url.join(address)) {
        (Some(own), _) => {
            Value::String(own.query().map_or_else(|| own.path().to_owned(), |query| format!("{}?{query}", own.path())))
        }
        (None, Ok(elsewhere)) => Value::String(elsewhere.into()),
        (None, Err(_)) => value,
    }
}

fn slow(hostname: &impl Display) -> Failure {
    Failure::new(FailureKind::Unreachable, format!("{hostname} did not say in time which services it offers"))
        .hint("run the command again")
}

fn unusable(hostname: &impl Display, why: &str) -> Failure {
    let what = format!("the discovery document of {hostname} cannot be used: {why}");
    Failure::new(FailureKind::Unreachable, what).hint(format!("credmint explain {hostname}"))
}

/// Where a host says what it offers.
const PATH: &str = "/.well-known/terraform.json";
const JSON: &str = "application/json";
/// How long what a host said is believed without another look, and how long it is left alone after it could not be asked.
const KNOWN: Duration = Duration::from_secs(10 * 60);
const UNKNOWN: Duration = Duration::from_secs(30);
/// How long a run waits for who is asked the first time.
const PATIENCE_OF_A_RUN: Duration = Duration::from_millis(1500);
const PATIENCE: Duration = Duration::from_secs(8);
const MOST_IN_A_RUN: usize = 32 * 1024;
const MOST_HOSTS: usize = 256;
const MOST_REDIRECTS: usize = 3;
const LARGEST: usize = 1024 * 1024;
