//! The providers of a run: each asked for before the program starts, by an endpoint or in its environment.
//! Names of providers come in, what the program finds in its environment goes out.
//! Hands out what the settings say, for this run alone. `protocol-spec/bridge-protocol.md` §11.

mod assertion;
mod short;
mod variables;

use std::rc::Rc;
use std::time::{Duration, Instant};

use credmint_agent_protocol::RunProvider;
use credmint_identities::Caller;
use credmint_protocols::{AccessKeys, AnswerError, Credential};
use credmint_settings::{Channel, Settings};
use credmint_vocabulary::{Deadline, Failure, FailureKind, RouteName};

use crate::absence::{self, Instead, Job};
use crate::agent::Agent;
use crate::asking::Asking;
use crate::bridge::OpenRun;
use crate::get::{Pair, pair_of};
use crate::held::Held;
use crate::recipe::Recipe;
use crate::{failure, status};

/// A provider that a run is to have.
pub(crate) struct Wanted {
    /// Name in the settings.
    pub(crate) name: String,
    channel: Channel,
    /// How what the program gets is made: the credential, or what the program itself exchanges for one.
    recipe: Rc<Recipe>,
    /// That with all that may take its place.
    pub(crate) whole: Rc<Recipe>,
    remark: Option<String>,
}

/// What a run says of all its providers.
pub(crate) struct Saying<'a> {
    /// What was read from its caller.
    pub(crate) caller: &'a Caller,
    /// Who asks, and what the run is about.
    pub(crate) asking: &'a Asking,
    /// How long a credential is to live at most.
    pub(crate) ttl: Option<Duration>,
}

/// What the program of a run gets.
pub(crate) enum Fetched {
    /// A credential.
    Granted(Pair),
    /// Keys that open nothing: a job without a user.
    Placeholder(Box<credmint_agent_protocol::Credential>),
}

/// Finds the providers that are wanted, each once; or says which one a run cannot have.
pub(crate) fn wanted(
    agent: &Agent,
    settings: &Rc<Settings>,
    names: &[String],
    saying: &Saying<'_>,
) -> Result<Vec<Wanted>, Failure> {
    let mut all: Vec<Wanted> = Vec::new();
    for asked in names {
        let next = one(agent, settings, asked, saying)?;
        if all.iter().any(|own| own.name == next.name) {
            continue;
        }
        match all.iter().find(|own| own.channel.clashes(next.channel)) {
            Some(other) => return Err(clash(other, &next)),
            None => all.push(next),
        }
    }
    Ok(all)
}

fn one(agent: &Agent, settings: &Rc<Settings>, asked: &str, saying: &Saying<'_>) -> Result<Wanted, Failure> {
    let asking = saying.asking;
    let asked = asked.strip_prefix("provider/").unwrap_or(asked);
    let (name, provider) = settings.provider(asked).ok_or_else(|| unknown(asked))?;
    if provider.host.confirm {
        let what =
            format!("provider/{name} is asked about at each use (confirm), and a run would be a use without end");
        return Err(
            Failure::new(FailureKind::Settings, what).hint("leave `confirm` out for it, or let its own program ask")
        );
    }
    let channel = provider.exec.ok_or_else(|| unsaid(name))?;
    let route = RouteName::Provider(name.to_owned());
    asking.judge(&route, provider.host.policy.allow.as_ref())?;
    let short = saying.ttl.map(|life| short::settings(settings, name, life)).transpose()?;
    let remark = short.as_ref().filter(|(_, chooses)| !chooses).map(|_| short::remark(name));
    let settings = short.map_or_else(|| Rc::clone(settings), |(own, _)| Rc::new(own));
    let own = assertion::settings(&settings, name, channel, asking.phase).map_or(settings, Rc::new);
    let recipe = status::recipe(agent, &own, route.clone(), saying.caller).ok_or_else(|| failure::no_route(&route))?;
    let whole = Rc::new(recipe);
    let name = name.to_owned();
    Ok(Wanted { name, channel, recipe: Rc::clone(whole.during(asking.phase)), whole, remark })
}

/// Has the credentials of all of them, or fails before anything starts.
pub(crate) async fn fetch(
    agent: &Rc<Agent>,
    wanted: Vec<Wanted>,
    job: Option<Job>,
) -> Result<Vec<(Wanted, Fetched)>, Failure> {
    let deadline = Deadline::after(Instant::now(), PATIENCE);
    let begin = |wanted: Wanted| {
        let (agent, recipe) = (Rc::clone(agent), Rc::clone(&wanted.recipe));
        (wanted, tokio::task::spawn_local(async move { pair_of(&agent, &recipe, deadline).await }))
    };
    let asked: Vec<_> = wanted.into_iter().map(begin).collect();
    let mut all = Vec::new();
    for (wanted, flight) in asked {
        let landed = flight.await.unwrap_or_else(|_| Err(failure::too_slow(&wanted.recipe.name)));
        all.push(match landed {
            Ok(pair) => (wanted, Fetched::Granted(pair)),
            Err(failure) => instead(agent, wanted, (job, failure), deadline).await?,
        });
    }
    Ok(all)
}

/// Has what a job gets that has no user, or fails.
async fn instead(
    agent: &Rc<Agent>,
    wanted: Wanted,
    why: (Option<Job>, Failure),
    deadline: Deadline,
) -> Result<(Wanted, Fetched), Failure> {
    let routes = (&wanted.recipe, wanted.whole.fallback.as_ref());
    Ok(match absence::instead(agent, routes, why, deadline).await? {
        Instead::Fallback(recipe, pair) => (Wanted { recipe, ..wanted }, Fetched::Granted(pair)),
        Instead::Placeholder(keys) => {
            // An endpoint would go on asking for what nobody gets.
            (Wanted { channel: Channel::AwsKeys, ..wanted }, Fetched::Placeholder(keys))
        }
    })
}

/// Opens the endpoints, and says what the program finds in its environment.
pub(crate) fn open(open: &OpenRun, fetched: Vec<(Wanted, Fetched)>) -> Result<Vec<RunProvider>, Failure> {
    let of_one = |(wanted, fetched): (Wanted, Fetched)| {
        let Wanted { name, channel, recipe, remark, .. } = wanted;
        let endpoint = match channel.is_endpoint() {
            true => Some((open.open_endpoint(channel, &recipe)?, open.endpoint(channel))),
            false => None,
        };
        let variables = match fetched {
            Fetched::Granted(pair) => variables::of(channel, (&name, &recipe), endpoint, &pair)?,
            Fetched::Placeholder(keys) => variables::of_placeholder(*keys),
        };
        let is_set = |name: &&&str| variables.contains_key(**name);
        let left_out = channel.left_out().iter().filter(|name| !is_set(name)).map(|name| (*name).to_owned()).collect();
        let emptied = channel.emptied().iter().map(|name| (*name).to_owned()).collect();
        Ok(RunProvider { name, channel: channel.word().to_owned(), variables, left_out, emptied, remark })
    };
    fetched.into_iter().map(of_one).collect()
}

/// Lends what is kept, in the words of the formats.
pub(crate) fn with_credential<T>(pair: &Pair, see: impl FnOnce(&Credential<'_>) -> T) -> Result<T, Failure> {
    let first = pair.first.held.get().ok_or_else(failure::locked)?;
    let second = match &pair.token {
        Some(entry) => Some(entry.held.get().ok_or_else(failure::locked)?),
        None => None,
    };
    let mut credential = Credential { expires: pair.expires(), ..Credential::default() };
    let (mut certificate, mut key) = (String::new(), None);
    for held in std::iter::once(&first).chain(&second) {
        match &**held {
            Held::Token(token) => credential.token = Some(&token.token),
            Held::Identity(identity) => {
                certificate = identity.certificate_pem();
                key = Some(identity.private_key_pem());
            }
            Held::Keys(keys) => {
                credential.keys = Some(AccessKeys {
                    access_key_id: &keys.access_key_id,
                    secret_access_key: &keys.secret_access_key,
                    session_token: &keys.session_token,
                    account_id: keys.account_id.as_deref(),
                });
            }
        }
    }
    let pem = key.as_ref().map(|key| (certificate.as_str(), key));
    Ok(see(&Credential {
        certificate_pem: pem.map(|(certificate, _)| certificate),
        private_key_pem: pem.map(|(_, key)| key),
        ..credential
    }))
}

/// Says that what is granted does not fit where it is to go.
pub(crate) fn unfit(recipe: &Recipe, error: &AnswerError) -> Failure {
    // What has ended may be had anew in a moment.
    let kind = if *error == AnswerError::Expired { FailureKind::Unreachable } else { FailureKind::Settings };
    Failure::new(kind, format!("{}: {error}", recipe.name)).hint(format!("credmint explain {}", recipe.name))
}

fn unknown(asked: &str) -> Failure {
    let name = RouteName::Provider(asked.to_owned());
    Failure::new(FailureKind::Settings, format!("the settings have no table [provider.{asked}]"))
        .hint(format!("credmint explain {name}"))
}

fn unsaid(name: &str) -> Failure {
    let what = format!(
        "what the issuer of provider/{name} grants may be for anything: the settings do not say how a program gets it"
    );
    Failure::new(FailureKind::Settings, what)
        .hint(format!("exec = \"azure-oidc\", \"vault-jwt\", \"gitlab\" or another word, in [provider.{name}]"))
}

fn clash(one: &Wanted, other: &Wanted) -> Failure {
    let (first, second) = (one.channel, other.channel);
    let what = format!(
        "provider/{} ({}) and provider/{} ({}) want the same variables, and a program has one of each",
        one.name,
        first.word(),
        other.name,
        second.word()
    );
    let hint = match first {
        Channel::AwsContainer | Channel::AwsKeys => {
            "a profile for each in ~/.aws/config, with credential_process = credmint-aws NAME, and no --provider"
        }
        _ => "one of the two in this run, and the other in one of its own",
    };
    Failure::new(FailureKind::Usage, what).hint(hint)
}

/// Longer than one flight.
const PATIENCE: Duration = Duration::from_millis(9_500);
