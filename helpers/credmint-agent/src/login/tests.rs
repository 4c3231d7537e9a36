//! The rules of a sign-in that need no issuer: who, for how long, one at a time, and what happens when the caller goes away.
//! Streams in memory stand for callers.
//! The ways to sign in are proved with the real provider in `tests/stories`.

use super::refused::command;
use super::*;
use crate::connection::{receive, send};
use credmint_agent_protocol::{Ask, BUILD, FailureOnWire, Request, VERSION};
use tokio::io::{AsyncWriteExt, DuplexStream, duplex};
use tokio::task::LocalSet;
use tokio::time::timeout;

fn settings(text: &str) -> Settings {
    credmint_settings::read(&[("test".into(), text.into())]).expect("valid")
}

const TWO: &str = "
    [identity.ada]
    kind = \"oidc\"
    issuer = \"https://id.corp.example\"
    client_id = \"terraform\"
    [identity.bob]
    kind = \"oidc\"
    issuer = \"https://id.corp.example\"
    client_id = \"terraform\"
    [identity.job]
    kind = \"env\"
    variable = \"TOKEN\"
";

#[test]
fn the_person_is_named_or_the_only_one() {
    let (two, none) = (settings(TWO), Settings::default());
    let mut one = two.clone();
    one.identities.remove("bob");
    assert_eq!(person(&one, "").expect("the only one").0, "ada");
    assert_eq!(person(&two, "bob").expect("named").0, "bob");
    let failure = person(&two, "").expect_err("two");
    assert_eq!(failure.hint.as_deref(), Some("credmint login ada or credmint login bob"));
    assert!(person(&two, "job").expect_err("no person").what.contains("`job`"));
    assert!(person(&none, "").expect_err("none").hint.is_some_and(|hint| hint.contains("kind = \"oidc\"")));
}

#[test]
fn a_hint_names_the_command_that_signs_in() {
    for (hint, told) in [
        ("sign in again and agree", "credmint login me and agree"),
        ("check the clock, then sign in again", "check the clock, then credmint login me"),
        ("check resource in the settings", "check resource in the settings, then credmint login me"),
        ("sign in without --device, or with --paste", "credmint login me --no-browser, or credmint login me --paste"),
    ] {
        assert_eq!(command("me", hint), told);
    }
}

#[test]
fn what_keeps_nothing_holds_no_session() {
    let (keeps, once) = (Agent::new(false, Vec::new()), Agent::new(true, Vec::new()));
    let mut settings = settings(TWO);
    assert!(can_be_kept(&keeps, &settings, "ada").is_ok());
    assert_eq!(can_be_kept(&once, &settings, "ada").expect_err("--once").kind, FailureKind::Settings);
    settings.agent.once = true;
    assert!(can_be_kept(&keeps, &settings, "ada").is_err(), "mode = \"once\"");
}

#[test]
fn the_callers_deadline_counts_and_else_the_settings() {
    let settings = settings(TWO);
    let (_, identity) = person(&settings, "ada").expect("a person");
    let seconds = |deadline_ms| {
        let asked = Login { deadline_ms, ..Login::default() };
        deadline_of(&asked, identity).remaining(Instant::now()).as_secs_f64().round()
    };
    assert_eq!([0, 20_000, u64::MAX].map(seconds), [180.0, 20.0, 3600.0]);
}

#[tokio::test]
async fn whoever_goes_away_ends_the_sign_in() {
    let (mut ours, mut theirs) = duplex(1024);
    theirs.write_all(b"not asked for").await.expect("sent");
    let until = || ("me", Deadline::after(Instant::now(), Duration::from_millis(50)));
    let late = while_there(&mut ours, until(), std::future::pending::<()>()).await;
    assert!(matches!(late, Err(Ended::Failed(failure)) if failure.what.contains("in time")));
    drop(theirs);
    let ended = while_there(&mut ours, until(), std::future::pending::<()>()).await;
    assert!(matches!(ended, Err(Ended::Gone(_))));
}

#[tokio::test]
async fn who_comes_second_waits_is_told_once_and_gets_the_session_or_the_lead() {
    LocalSet::new()
        .run_until(async {
            let agent = Agent::new(false, Vec::new());
            let settings = settings(TWO);
            let (name, identity) = person(&settings, "ada").expect("a person");
            let key = SessionKey::of(name, identity);
            let until = ("ada", Deadline::after(Instant::now(), Duration::from_secs(5)));
            for signs_in in [true, false] {
                let lead = agent.sessions.lead(key).expect("the first");
                let (mut ours, mut theirs) = duplex(1024);
                let waiting = turn::take(&agent, &mut ours, key, until);
                let first = async {
                    assert!(matches!(receive::<Reply>(&mut theirs).await, Ok(Reply::Waiting)));
                    if signs_in {
                        agent.signed_in(&signed_in(&agent, key));
                    }
                    drop(lead);
                };
                let (turn, ()) = tokio::join!(waiting, first);
                match turn.ok().expect("in time") {
                    Turn::Theirs(session) => assert!(signs_in && session.name == "ada"),
                    Turn::Ours(_) => assert!(!signs_in),
                }
            }
        })
        .await;
}

fn signed_in(agent: &Agent, key: SessionKey) -> Rc<Session> {
    let tokens = crate::sessions::tests::tokens("a", Some(3600), None);
    let kind = credmint_settings::OidcTokenKind::Access;
    Session::new("ada", (key, agent.sessions.next()), kind, Source::Scripted(Default::default()), tokens)
}

/// Asks an agent over a stream and gives the far end.
async fn asked(agent: &Rc<Agent>, ask: Ask) -> DuplexStream {
    let (mut ours, mut theirs) = duplex(64 * 1024);
    let agent = Rc::clone(agent);
    tokio::task::spawn_local(async move { crate::server::serve(&agent, &mut ours, None).await.is_ok() });
    send(&mut theirs, &Request { version: VERSION, ask }).await.expect("sent");
    theirs
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the test needs settings in a file")]
async fn an_agent_that_keeps_nothing_says_so() {
    let directory = std::env::temp_dir().join(format!("credmint-login-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("made");
    let file = directory.join("config.toml");
    std::fs::write(&file, TWO).expect("written");
    LocalSet::new()
        .run_until(async {
            let agent = Agent::new(true, Vec::new());
            let settings = Some(file.display().to_string());
            let login = Login { identity: "ada".into(), settings, ..Login::default() };
            let mut stream = asked(&agent, Ask::Login(login)).await;
            let reply = timeout(Duration::from_secs(5), receive::<Reply>(&mut stream)).await.expect("in time");
            let Ok(Reply::Failure(FailureOnWire { kind, what, hint, .. })) = reply else { panic!("a failure") };
            assert_eq!(kind, "settings");
            assert!(what.contains("needs an agent that stays") && hint.is_some_and(|hint| hint.contains("login ada")));
        })
        .await;
    std::fs::remove_dir_all(directory).expect("removed");
}

#[tokio::test]
async fn an_agent_of_another_build_makes_way_unless_somebody_is_signed_in() {
    let test = async {
        let agent = Agent::new(false, Vec::new());
        let login = || Ask::Login(Login { identity: "ada".into(), build: "another".into(), ..Login::default() });
        let session = signed_in(&agent, SessionKey::of("ada", person(&settings(TWO), "ada").expect("a person").1));
        agent.signed_in(&session);
        let mut stream = asked(&agent, login()).await;
        let reply = timeout(Duration::from_secs(5), receive::<Reply>(&mut stream)).await.expect("in time");
        assert!(matches!(reply, Ok(Reply::Failure(_))), "it serves, and has no such settings");
        agent.sessions.clear();
        let same = Ask::Login(Login { identity: "ada".into(), build: BUILD.into(), ..Login::default() });
        let reply = timeout(Duration::from_secs(5), receive::<Reply>(&mut asked(&agent, same).await)).await;
        assert!(matches!(reply.expect("in time"), Ok(Reply::Failure(_))));
        let mut stream = asked(&agent, login()).await;
        timeout(Duration::from_secs(5), agent.stop.notified()).await.expect("it ends");
        let silent = timeout(Duration::from_millis(50), receive::<Reply>(&mut stream)).await;
        assert!(silent.is_err(), "and says nothing until its name is withdrawn");
    };
    LocalSet::new().run_until(test).await;
}
