//! The authorization endpoint: Terraform opened a browser here, and the person is sent on to sign in.
//! A browser's request comes in; a redirect to the issuer goes out, or a page that says who is signed in and goes back.
//! Begins nothing for a web page that leads a browser here, and nothing twice. RFC 6749 §4.1.1, RFC 9700 §4.7.

use std::rc::Rc;

use bytes::Bytes;
use credmint_agent_protocol::Login;
use credmint_settings::{Settings, Store};
use credmint_vocabulary::{Failure, FailureKind, Hostname};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;

use super::Place;
use super::attempt::{self, Step};
use super::codes::Outcome;
use super::request::Authorize;
use super::run::Run;
use crate::agent::Agent;
use crate::login::{self, Page};
use crate::recipe::session_of;
use crate::sessions::{Session, SessionKey};
use crate::{logout, loopback};

/// Answers.
pub(super) async fn answer(
    agent: &Rc<Agent>,
    port: u16,
    hostname: Hostname,
    request: &Request<Incoming>,
) -> Response<Full<Bytes>> {
    match authorized(agent, port, hostname, request).await {
        Ok(Next::Page(page)) | Err(page) => page.response(),
        Ok(Next::Issuer(address)) => sent_on(&address),
    }
}

enum Next {
    Issuer(String),
    Page(Page),
}

async fn authorized(
    agent: &Rc<Agent>,
    port: u16,
    hostname: Hostname,
    request: &Request<Incoming>,
) -> Result<Next, Page> {
    by_hand(port, request)?;
    let query = request.uri().query().unwrap_or_default();
    let asked = Authorize::of_query(query).map_err(|wrong| malformed(&hostname, wrong))?;
    let who = person(agent, &hostname).map_err(Page::Refused)?;
    not_again(agent, &hostname, &asked).await?;
    let run = Run::new(hostname, who.key, asked);
    if let Some(session) = agent.sessions.get(who.key).filter(|session| !session.status().over) {
        agent.terraform_login.begin(&run);
        return Ok(Next::Page(known(agent, &run, &session)));
    }
    agent.terraform_login.give_way(who.key);
    agent.terraform_login.begin(&run);
    match attempt::begin(agent, &run, who.login).await {
        Step::Visit(address) => Ok(Next::Issuer(address)),
        Step::Done(Ok(session)) => Ok(Next::Page(known(agent, &run, &session))),
        Step::Done(Err(failure)) => {
            Ok(Next::Page(run.back(agent, Outcome::Failed(failure.clone()), Page::Refused(failure))))
        }
    }
}

/// Goes back to Terraform for somebody who has signed in already; the page says who that is.
fn known(agent: &Agent, run: &Rc<Run>, session: &Session) -> Page {
    run.back(agent, Outcome::Known(session.sign_in), login::signed_in_page(session))
}

/// Takes what a program had a browser open, or what a person typed: no page of the web led there, and nothing runs ahead.
fn by_hand(port: u16, request: &Request<Incoming>) -> Result<(), Page> {
    let headers = request.headers();
    if loopback::own_name(headers, port).is_none() || headers.contains_key(header::ORIGIN) {
        return Err(Page::Stray);
    }
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    // Browsers say where a request comes from (Fetch Metadata); other programs do not, and those of this user may ask.
    let leads = text("sec-fetch-site").is_none_or(|site| site == "none");
    let is_visit = text("sec-fetch-mode").is_none_or(|mode| mode == "navigate");
    match *request.method() {
        Method::GET if leads && is_visit && !login::is_prefetch(headers) && !super::is_a_strangers(request) => Ok(()),
        Method::GET => Err(Page::Stray),
        _ => Err(Page::Nothing),
    }
}

fn malformed(hostname: &Hostname, wrong: &str) -> Page {
    let what = format!("this address is not the one that terraform login made for {hostname}: {wrong} is wrong");
    Page::Refused(Failure::new(FailureKind::Usage, what).hint(format!("terraform login {hostname}")))
}

/// Refuses an address that was opened before, and ends what came of it: others of this machine can read it where Terraform
/// hands it to the browser, and sign in for us as themselves (threat model, 3.1).
async fn not_again(agent: &Rc<Agent>, hostname: &Hostname, asked: &Authorize) -> Result<(), Page> {
    let Some(run) = agent.terraform_login.run_of(&asked.challenge) else { return Ok(()) };
    agent.terraform_login.codes.end(&run);
    run.over.notify_one();
    if let Some(session) = run.kept.take().and_then(|sign_in| current(agent, sign_in)) {
        logout::sign_out(agent, &session).await;
    }
    let what =
        format!("this address was opened before, perhaps by somebody else: nobody is signed in by it to {hostname}");
    Err(Page::Refused(Failure::new(FailureKind::Refused, what).hint(format!("terraform login {hostname}"))))
}

fn current(agent: &Agent, (key, number): (SessionKey, u64)) -> Option<Rc<Session>> {
    agent.sessions.get(key).filter(|session| session.sign_in.1 == number)
}

/// Who is to sign in for a host, and by which settings.
struct Who {
    key: SessionKey,
    login: Login,
}

/// Finds the first person of the host's identities, in the settings of whoever used the bridge last.
fn person(agent: &Agent, hostname: &Hostname) -> Result<Who, Failure> {
    let places: Vec<Place> = agent.terraform_login.places.borrow().iter().rev().cloned().collect();
    for (named, usual) in places {
        let settings = agent.settings.in_files(named.as_deref(), usual.as_deref()).map_err(Failure::from)?;
        if let Some((identity, key)) = person_of(&settings, hostname) {
            let login = Login { identity, settings: named, usual_settings: usual, ..Login::default() };
            return Ok(Who { key, login });
        }
    }
    let what = format!("no settings that the agent knows have a person who signs in for {hostname}");
    Err(Failure::new(FailureKind::Settings, what).hint(format!("credmint setup {hostname}")))
}

fn person_of(settings: &Settings, hostname: &Hostname) -> Option<(String, SessionKey)> {
    let route = settings.host_route(hostname).filter(|route| route.host.store != Store::Refuse)?;
    let (name, identity) = route.person()?;
    Some((name.to_owned(), session_of(name, identity)?))
}

fn sent_on(address: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    let Ok(location) = HeaderValue::try_from(address) else { return Page::Ended.response() };
    *response.status_mut() = StatusCode::SEE_OTHER;
    quiet(response.headers_mut());
    response.headers_mut().insert(header::LOCATION, location);
    response
}

/// Keeps an answer out of caches, and the address out of the next request.
pub(super) fn quiet(headers: &mut HeaderMap) {
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
}
