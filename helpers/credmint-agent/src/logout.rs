//! Signing out: at the issuer, and here with all that was made from the session.
//! Which identity comes in; what was ended, and what could not be, goes out in words.
//! Drops what it cannot revoke, too: nothing that a person signs out of stays in memory.

use std::rc::Rc;
use std::time::{Duration, Instant};

use credmint_agent_protocol::{Logout, Reply};
use credmint_identities::Caller;
use credmint_local_machine::clock;
use credmint_settings::{Identity, Route, Settings};
use credmint_vocabulary::{Deadline, Failure, FailureKind};

use crate::agent::Agent;
use crate::connection::Stream;
use crate::entries::Entry;
use crate::late_renewal;
use crate::logout_remembered as remembered;
use crate::recipe::session_of;
use crate::server::{self, Ended};
use crate::sessions::{Session, Source};

/// What was ended, and what was not.
#[derive(Default)]
pub(crate) struct Account {
    pub(crate) done: Vec<String>,
    pub(crate) failed: Vec<String>,
    /// What a store may still have.
    pub(crate) remains: Vec<String>,
}

impl Account {
    pub(crate) fn note(&mut self, done: Result<String, String>) {
        match done {
            Ok(words) => self.done.push(words),
            Err(words) => self.failed.push(words),
        }
    }
}

/// Signs out, of one identity or of all. Settings that cannot be read keep nobody from it.
pub(crate) async fn logout(agent: &Rc<Agent>, stream: &mut dyn Stream, asked: &Logout) -> Result<Reply, Ended> {
    let settings = agent.settings.in_files(asked.settings.as_deref(), asked.usual_settings.as_deref());
    let settings = settings.map_err(Failure::from);
    agent.sessions.restoring.rest_all(Deadline::after(Instant::now(), FOR_A_RENEWAL)).await;
    let sessions = match asked.identity.as_deref() {
        None | Some("") => agent.sessions.all(),
        Some(name) => of_name(agent, settings.as_ref(), name)?,
    };
    let name = asked.identity.as_deref().filter(|name| !name.is_empty());
    let others = settings.map(|settings| remembered::others(meant(&settings, name), &sessions)).unwrap_or_default();
    let caller = server::caller_of(stream, remembered::reads(&others)).await?;
    let deadline = Deadline::after(Instant::now(), WHOLE_LOGOUT);
    let mut account = Account::default();
    for session in sessions {
        end(agent, &session, deadline, &mut account).await;
    }
    for other in others {
        remembered::end(agent, &other, &caller, deadline, &mut account).await;
    }
    if account.done.is_empty() && account.failed.is_empty() && account.remains.is_empty() {
        account.done.push("nobody was signed in".to_owned());
    }
    Ok(Reply::LoggedOut { done: account.done, failed: account.failed, remains: account.remains })
}

/// Lists the identities of a name, or all.
fn meant<'a>(settings: &'a Settings, name: Option<&str>) -> impl Iterator<Item = (&'a str, &'a Identity)> {
    let all = settings.identities.iter().map(|(own, identity)| (own.as_str(), identity));
    all.filter(move |(own, _)| name.is_none_or(|name| name == *own))
}

/// Signs out the people of a host's route, also whom an agent before this one has remembered; gives what could not be ended, in words.
pub(crate) async fn people_of(agent: &Rc<Agent>, route: &Route<'_>, caller: &Caller) -> Vec<String> {
    agent.sessions.restoring.rest_all(Deadline::after(Instant::now(), FOR_A_RENEWAL)).await;
    let keys = route.identities().filter_map(|(name, identity)| session_of(name, identity));
    let sessions: Vec<_> = keys.filter_map(|key| agent.sessions.get(key)).collect();
    let others = remembered::others(route.identities(), &sessions);
    let (mut account, deadline) = (Account::default(), Deadline::after(Instant::now(), WHOLE_LOGOUT));
    for session in sessions {
        end(agent, &session, deadline, &mut account).await;
    }
    for other in others {
        remembered::end(agent, &other, caller, deadline, &mut account).await;
    }
    [account.failed, account.remains].concat()
}

/// Signs out of one session; gives what could not be ended, in words.
pub(crate) async fn sign_out(agent: &Rc<Agent>, session: &Rc<Session>) -> Vec<String> {
    let mut account = Account::default();
    end(agent, session, Deadline::after(Instant::now(), WHOLE_LOGOUT), &mut account).await;
    [account.failed, account.remains].concat()
}

/// Finds the session of a name: as the caller's settings have it, or any of that name when they say nothing of it.
fn of_name(agent: &Agent, settings: Result<&Rc<Settings>, &Failure>, name: &str) -> Result<Vec<Rc<Session>>, Failure> {
    let named = || agent.sessions.all().into_iter().filter(|session| session.name == name).collect::<Vec<_>>();
    let identity = settings.ok().and_then(|settings| settings.identities.get(name));
    match (identity.map(|identity| session_of(name, identity)), named()) {
        (Some(Some(key)), others) => Ok(agent.sessions.get(key).map_or(others, |session| vec![session])),
        (_, others) if !others.is_empty() => Ok(others),
        _ => Err(settings.map_or_else(Clone::clone, |settings| unknown(settings, name))),
    }
}

fn unknown(settings: &Settings, name: &str) -> Failure {
    let people = settings.identities.iter().filter(|(_, identity)| identity.person().is_some());
    let commands: Vec<String> = people.map(|(name, _)| format!("credmint logout {name}")).collect();
    let hint = if commands.is_empty() { "credmint logout --all".to_owned() } else { commands.join(" or ") };
    Failure::new(FailureKind::Usage, format!("`{name}` is no identity that a person signs in for")).hint(hint)
}

/// Ends one session: first here, so that nobody uses it meanwhile, then at the issuer.
async fn end(agent: &Rc<Agent>, session: &Rc<Session>, deadline: Deadline, account: &mut Account) {
    agent.sessions.remove(session.sign_in.0);
    agent.requests.drop_of(session.sign_in.0.digest());
    let entries = agent.take_entries_of(session.sign_in.0);
    session.rest(deadline.at_most(Instant::now(), FOR_A_RENEWAL)).await;
    // Before anything is waited for: it may land meanwhile.
    if session.is_being_renewed() {
        let name = &session.name;
        account.failed.push(format!(
            "{name}: a renewal did not end in time: its new tokens are dropped, and revoked when they come"
        ));
        late_renewal::revoke_when_it_lands(agent, session);
    }
    let revoked = revoked(agent, session, deadline).await;
    let all_went_with_it = matches!(session.source, Source::Vault(_)) && revoked.is_ok();
    account.note(revoked);
    remembered::forget(agent, session, deadline, account).await;
    for entry in entries {
        agent.close_bridge(&entry);
        if all_went_with_it {
            entry.end_with_the_session();
        }
        end_entry(agent, &session.name, &entry, deadline, account).await;
    }
    // The buffers of an idle connection have the tokens that were sent over it.
    agent.https.forget();
    agent.changed.notify_one();
}

pub(crate) async fn revoked(agent: &Agent, session: &Session, deadline: Deadline) -> Result<String, String> {
    let name = &session.name;
    if session.is_sealed() {
        return Err(format!("{name}: signed out here, but not at the issuer: credmint was locked"));
    }
    let Some(kept) = session.to_revoke() else { return Ok(format!("{name}: the session was over already")) };
    match &session.source {
        Source::Provider(provider) => {
            let step = deadline.at_most(Instant::now(), ONE_REVOCATION);
            let revoked = provider.revoke(&kept.tokens, &agent.https, clock::now(), step).await;
            let who = provider.who();
            revoked
                .map(|()| format!("{name}: signed out, here and at {who}; an access token that was handed out lives to its own end"))
                .map_err(|error| format!("{name}: signed out here, but not at the issuer: {error}"))
        }
        Source::Vault(vault) => {
            let who = vault.who();
            let Some(lease) = vault.lease(&kept.tokens) else {
                return Err(format!(
                    "{name}: signed out here, but {who} cannot revoke a batch token: it ends by itself"
                ));
            };
            let step = deadline.at_most(Instant::now(), ONE_REVOCATION);
            let revoked = credmint_issuers::revoke(lease, &agent.https, step).await;
            if revoked.is_err() && session.was_refused(agent, step).await.is_some() {
                return Ok(format!("{name}: the session was over already"));
            }
            revoked
                .map(|()| format!("{name}: signed out, here and at {who}, with all leases of its token"))
                .map_err(|error| format!("{name}: signed out here, but not at {who}: {error}"))
        }
        #[cfg(test)]
        Source::Scripted(_) => Ok(format!("{name}: signed out")),
    }
}

/// Revokes what an entry was lent; an entry without a lease is dropped, and ends by itself where it was handed out.
async fn end_entry(agent: &Agent, name: &str, entry: &Rc<Entry>, deadline: Deadline, account: &mut Account) {
    let hostname = &entry.recipe.name;
    if entry.lease.is_sealed() {
        account
            .failed
            .push(format!("{name}: what it got for {hostname} is dropped, but not revoked: credmint was locked"));
    }
    let Some(lease) = entry.lease.take() else { return };
    let step = deadline.at_most(Instant::now(), ONE_REVOCATION);
    let revoked = credmint_issuers::revoke(lease, &agent.https, step).await;
    account.note(
        revoked
            .map(|()| format!("{name}: what it got for {hostname} is revoked"))
            .map_err(|error| format!("{name}: what it got for {hostname} is dropped, but not revoked: {error}")),
    );
}

const WHOLE_LOGOUT: Duration = Duration::from_secs(9);
const FOR_A_RENEWAL: Duration = Duration::from_secs(3);
pub(crate) const ONE_REVOCATION: Duration = Duration::from_secs(4);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::remembering_tests::{self as remembering, Shelf};
    use crate::sessions::subject;
    use crate::sessions::tests::{Script, tokens};
    use credmint_settings::OidcTokenKind;
    use tokio::task::LocalSet;

    /// Speaks HTTP to one client, which it has for as long as the connection stands.
    async fn served_until_closed(listener: tokio::net::TcpListener) {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let (mut stream, _) = listener.accept().await.expect("a client");
        let mut room = [0; 1024];
        while let Ok(1..) = stream.read(&mut room).await {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await.expect("answered");
        }
    }

    #[tokio::test]
    async fn no_connection_that_a_token_went_over_outlives_the_sign_out() {
        let test = async {
            let agent = Agent::new(false, Vec::new());
            let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.expect("listens");
            let address = format!("http://{}/", listener.local_addr().expect("bound"));
            let mut serving = tokio::task::spawn_local(served_until_closed(listener));
            let request = http::Request::get(address).header("x-vault-token", "t").body(Vec::new()).expect("valid");
            let soon = || Deadline::after(Instant::now(), Duration::from_secs(5));
            agent.https.send(&credmint_https::Trust::default(), request, soon()).await.expect("answered");
            let early = tokio::time::timeout(Duration::from_millis(100), &mut serving).await;
            assert!(early.is_err(), "it is kept for the next request");
            let session = Session::new(
                "me",
                (crate::sessions::tests::key(), agent.sessions.next()),
                OidcTokenKind::Access,
                Source::Scripted(Script::default()),
                tokens("a", None, None),
            );
            agent.signed_in(&session);
            sign_out(&agent, &session).await;
            tokio::time::timeout(Duration::from_secs(5), serving).await.expect("closed").expect("served");
        };
        LocalSet::new().run_until(test).await;
    }

    #[tokio::test]
    async fn a_renewal_that_outlasts_the_sign_out_is_told_and_revoked_when_it_lands() {
        let soon = |milliseconds| Deadline::after(Instant::now(), Duration::from_millis(milliseconds));
        let test = async {
            let agent = Agent::new(false, Vec::new());
            let script = Script::of([Ok(tokens("b", Some(3600), Some("r2")))]);
            let source = Source::Scripted(script.clone());
            let text = "[identity.me]\nkind = \"oidc\"\nissuer = \"https://id.example\"\nclient_id = \"a\"";
            let settings = credmint_settings::read(&[("test".into(), text.into())]).expect("valid");
            let sign_in = (session_of("me", &settings.identities["me"]).expect("a person"), agent.sessions.next());
            let ended = tokens("a", Some(0), Some("r1"));
            let session = Session::new("me", sign_in, OidcTokenKind::Access, source, ended);
            agent.signed_in(&session);
            assert!(subject(&agent, &session, soon(5)).await.is_err(), "it flies on");
            let mut account = Account::default();
            end(&agent, &session, soon(5), &mut account).await;
            assert!(
                account.failed.iter().any(|words| words.contains("revoked when they come")),
                "{:?}",
                account.failed
            );
            session.rest(soon(5000)).await;
            while Rc::strong_count(&agent.busy) > 1 {
                tokio::task::yield_now().await;
            }
            assert_eq!(script.revoked(), ["r2"], "the token that came after the sign-out");
            let mut account = Account::default();
            end(&agent, &session, soon(5), &mut account).await;
            assert!(account.failed.is_empty(), "{:?}", account.failed);
        };
        LocalSet::new().run_until(test).await;
    }

    #[tokio::test]
    async fn a_sign_out_by_terraform_ends_what_an_agent_before_this_one_remembered() {
        let shelf = Shelf::default();
        let agent = remembering::agent(&shelf);
        let text = "[identity.me]\nkind = \"oidc\"\nissuer = \"https://127.0.0.1:9\"\nclient_id = \"a\"\nremember = \"keyring\"\n\
                    [issuer.pass]\nkind = \"oidc\"\n[host.\"registry.corp.example\"]\nidentity = \"me\"\nissuer = \"pass\"\n";
        let settings = credmint_settings::read(&[("test".into(), text.into())]).expect("valid");
        let person = settings.identities["me"].person().expect("a person");
        let item = crate::sessions::item("me", person).expect("remembered");
        let refresh = credmint_vocabulary::Secret::from("r1");
        crate::sessions::Remembering::new(item).keep(&agent.keyring, Some(&refresh)).await;
        assert!(!shelf.is_empty());
        let host = credmint_vocabulary::Hostname::from_comparison_form("registry.corp.example").expect("valid");
        let failed = people_of(&agent, &settings.route(&host.into()).expect("routed"), &Caller::default()).await;
        assert!(shelf.is_empty(), "the next `get` would go on with it");
        assert!(failed.iter().any(|words| words.contains("not revoked at the issuer")), "{failed:?}");
    }

    #[tokio::test]
    async fn a_renewal_that_outlasts_the_sign_out_is_not_remembered_cargo_16955() {
        let soon = |milliseconds| Deadline::after(Instant::now(), Duration::from_millis(milliseconds));
        let shelf = Shelf::default();
        let test = async {
            let agent = remembering::agent(&shelf);
            let script = Script::of([Ok(tokens("b", Some(3600), Some("r2"))), Ok(tokens("b", Some(3600), Some("r4")))]);
            let text = "[identity.me]\nkind = \"oidc\"\nissuer = \"https://id.example\"\nclient_id = \"a\"";
            let settings = credmint_settings::read(&[("test".into(), text.into())]).expect("valid");
            let key = session_of("me", &settings.identities["me"]).expect("a person");
            for (first, again) in [("r1", None), ("r3", Some("r9"))] {
                script.hold();
                let session = remembering::signed_in(&agent, key, &script, (0, first)).await;
                assert!(subject(&agent, &session, soon(5)).await.is_err(), "it flies on");
                let (mut account, writes) = (Account::default(), shelf.writes());
                end(&agent, &session, soon(5), &mut account).await;
                assert!(shelf.is_empty() && account.done.iter().any(|words| words.contains("is deleted")));
                if let Some(again) = again {
                    remembering::signed_in(&agent, key, &script, (3600, again)).await;
                }
                script.release();
                while Rc::strong_count(&agent.busy) > 1 {
                    tokio::task::yield_now().await;
                }
                match again {
                    None => assert!(shelf.is_empty() && shelf.writes() == writes),
                    Some(again) => assert!(remembering::is_kept(&agent, again).await),
                }
            }
            assert_eq!(script.revoked(), ["r2", "r4"]);
        };
        LocalSet::new().run_until(test).await;
    }
}
