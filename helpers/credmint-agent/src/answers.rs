//! How an entry is delivered: the bridge's session token, the bearer token, or PEM properties.
//! An entry comes in, a reply of the agent protocol goes out.
//! Reads the trust anchors of the host from disk, and nothing else.

use std::rc::Rc;

use credmint_agent_protocol::{Credential, Reply};
use credmint_client_identity::ClientIdentity;
use credmint_issuers::AccessKeys;
use credmint_local_machine::{below_home, files};
use credmint_settings::{Deliver, Host};
use credmint_vocabulary::{Failure, FailureKind, RouteName, Secret};

use crate::agent::Agent;
use crate::bridge::Bridge;
use crate::get::Pair;
use crate::held::Held;
use crate::recipe::Recipe;

/// Does what has to be done before anybody is asked: a bridge listens first.
pub(crate) async fn prepare(agent: &Rc<Agent>, recipe: &Recipe) -> Result<(), Failure> {
    match recipe.route().map(|route| route.host.deliver) {
        Some(Deliver::Bridge) => bridge(agent, recipe)?.listen(agent, recipe).await,
        _ => Ok(()),
    }
}

/// Turns an entry into what the caller's settings say: those that made it may have another port for the bridge.
pub(crate) fn deliver(agent: &Agent, recipe: &Rc<Recipe>, pair: &Pair) -> Result<Credential, Failure> {
    let route = recipe.route().ok_or_else(|| crate::failure::no_route(&recipe.name))?;
    let held = pair.first.held.get().ok_or_else(crate::failure::locked)?;
    match (route.host.deliver, &*held) {
        (Deliver::Bridge, _) => session(agent, recipe),
        (Deliver::Token | Deliver::Inline, Held::Token(token)) => {
            Ok(Credential { username: username(recipe), ..bearer(&token.token, pair) })
        }
        (Deliver::Inline, Held::Identity(identity)) => inline(identity, route.host, pair),
        (Deliver::Inline, Held::Keys(keys)) => Ok(signing_keys(keys, pair)),
        (Deliver::Token, Held::Keys(_)) => {
            let what = format!("the issuer of {} grants keys of AWS, not a token", recipe.name);
            Err(Failure::new(FailureKind::Settings, what).hint("name the issuer in a [provider.NAME] table"))
        }
        _ => {
            let what = format!("the issuer of {} grants a certificate, not a token", recipe.name);
            Err(Failure::new(FailureKind::Settings, what).hint("deliver = \"bridge\" or \"inline\""))
        }
    }
}

fn session(agent: &Agent, recipe: &Rc<Recipe>) -> Result<Credential, Failure> {
    let token = bridge(agent, recipe)?.open_session(recipe)?;
    Ok(Credential { token: Some(token.into()), ..Credential::default() })
}

fn bridge<'a>(agent: &'a Agent, recipe: &Recipe) -> Result<&'a Bridge, Failure> {
    agent.bridge_for(&recipe.settings).ok_or_else(|| needs_to_stay(&format!("the bridge for {}", recipe.name)))
}

/// Says that there is no bridge where nothing is kept.
pub(crate) fn needs_to_stay(who: &str) -> Failure {
    let hint =
        "do not ask for CREDMINT_AGENT=once or mode = \"once\", or deliver = \"inline\" or \"token\" for this host";
    Failure::new(FailureKind::Settings, format!("{who} needs an agent that stays")).hint(hint)
}

/// Gives the user name that the settings have for a provider.
fn username(recipe: &Recipe) -> Option<String> {
    match &recipe.name {
        RouteName::Provider(name) => recipe.settings.provider(name)?.1.username.clone(),
        RouteName::Host(_) => None,
    }
}

fn bearer(token: &Secret<String>, pair: &Pair) -> Credential {
    Credential { token: Some(token.copied().into()), expires_at: expires_at(pair), ..Credential::default() }
}

fn inline(identity: &ClientIdentity, host: &Host, pair: &Pair) -> Result<Credential, Failure> {
    Ok(Credential {
        token: token_of(pair)?.map(Into::into),
        client_certificate_pem: Some(identity.certificate_pem()),
        client_private_key_pem: Some(identity.private_key_pem().into()),
        client_ca_certificate_pem: anchors(host)?,
        expires_at: expires_at(pair),
        ..Credential::default()
    })
}

/// Hands keys over whole: one without the others opens nothing.
fn signing_keys(keys: &AccessKeys, pair: &Pair) -> Credential {
    Credential {
        access_key_id: Some(keys.access_key_id.clone()),
        secret_access_key: Some(keys.secret_access_key.copied().into()),
        session_token: Some(keys.session_token.copied().into()),
        account_id: keys.account_id.clone(),
        expires_at: expires_at(pair),
        ..Credential::default()
    }
}

/// Copies the token that goes with a certificate.
fn token_of(pair: &Pair) -> Result<Option<Secret<String>>, Failure> {
    let Some(entry) = &pair.token else { return Ok(None) };
    match &*entry.held.get().ok_or_else(crate::failure::locked)? {
        Held::Token(token) => Ok(Some(token.token.copied())),
        Held::Identity(_) | Held::Keys(_) => Ok(None),
    }
}

/// Reads the host's own trust anchors; they are public.
fn anchors(host: &Host) -> Result<Option<String>, Failure> {
    let Some(path) = &host.peer.ca else { return Ok(None) };
    let unreadable = |why: String| {
        let what = format!("the trust anchors {} cannot be read ({why})", path.display());
        Failure::new(FailureKind::Settings, what).hint(format!("ls -l {}", path.display()))
    };
    let found = below_home(path).map_err(|error| unreadable(error.to_string()))?;
    match files::read_bounded(&found, MAXIMUM_ANCHORS) {
        Ok(Some(bytes)) => String::from_utf8(bytes).map(Some).map_err(|_| unreadable("not PEM".to_owned())),
        Ok(None) => Err(unreadable("not there".to_owned())),
        Err(error) => Err(unreadable(error.to_string())),
    }
}

fn expires_at(pair: &Pair) -> Option<String> {
    pair.expires().map(|end| end.to_string())
}

/// Turns a failure into its reply.
pub(crate) fn failed(failure: &Failure) -> Reply {
    Reply::Failure(failure.into())
}

/// A frame has 64 KiB; key and certificate need their share.
const MAXIMUM_ANCHORS: usize = 40 * 1024;
