//! The rules of sessions, with an issuer that answers as a test says.
//! A script of answers comes in; how often it was asked, and with which refresh token, goes out.
//! A fake, because the real provider cannot be made to be slow and to lose answers on command.

use super::session::{Kept, State};
use super::*;
use crate::agent::Agent;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use credmint_identities::{Caller, Claims, RefreshError, SignInError, Tokens};
use credmint_local_machine::clock;
use credmint_settings::OidcTokenKind;
use credmint_vocabulary::Deadline;
use credmint_vocabulary::{FailureKind, Secret};
use std::collections::VecDeque;
use std::time::Instant;
use tokio::task::LocalSet;
use tokio::time::sleep;

/// Answers in order, each after a while; notes the refresh tokens that it was asked with.
#[derive(Default, Clone)]
pub(crate) struct Script(Rc<Inner>);

#[derive(Default)]
struct Inner {
    answers: RefCell<VecDeque<Result<Tokens, RefreshError>>>,
    asked_with: RefCell<Vec<String>>,
    revoked: RefCell<Vec<String>>,
    held: Cell<bool>,
    go: tokio::sync::Notify,
}

impl Script {
    pub(crate) fn of(answers: impl IntoIterator<Item = Result<Tokens, RefreshError>>) -> Self {
        let script = Self::default();
        script.0.answers.borrow_mut().extend(answers);
        script
    }

    pub(crate) async fn next(&self, tokens: &Tokens) -> Result<Tokens, RefreshError> {
        let with = tokens.refresh.as_ref().map(|token| token.expose().clone()).unwrap_or_default();
        self.0.asked_with.borrow_mut().push(with);
        if self.0.held.get() {
            self.0.go.notified().await;
        } else {
            sleep(Duration::from_millis(50)).await;
        }
        self.0.answers.borrow_mut().pop_front().expect("an answer is left")
    }

    /// Answers the next question when it is let go.
    pub(crate) fn hold(&self) {
        self.0.held.set(true);
    }

    pub(crate) fn release(&self) {
        self.0.go.notify_one();
    }

    pub(crate) fn note_revoked(&self, tokens: &Tokens) {
        let token = tokens.refresh.as_ref().map(|token| token.expose().clone());
        self.0.revoked.borrow_mut().extend(token);
    }

    pub(crate) fn revoked(&self) -> Vec<String> {
        self.0.revoked.borrow().clone()
    }

    pub(crate) fn asked_with(&self) -> Vec<String> {
        self.0.asked_with.borrow().clone()
    }
}

/// Makes tokens whose access token lives for so many seconds from now.
pub(crate) fn tokens(access: &str, life: Option<u64>, refresh: Option<&str>) -> Tokens {
    Tokens {
        access: Secret::from(access),
        access_expires: life.map(|seconds| clock::now().plus(Duration::from_secs(seconds))),
        id: None,
        claims: None,
        refresh: refresh.map(Secret::from),
        scope: Vec::new(),
        who: "id.corp.example".to_owned(),
        vault: None,
    }
}

pub(crate) fn key() -> SessionKey {
    SessionKey([7; 32])
}

fn session(agent: &Rc<Agent>, script: &Script, tokens: Tokens) -> Rc<Session> {
    let sign_in = (key(), agent.sessions.next());
    let session = Session::new("me", sign_in, OidcTokenKind::Access, Source::Scripted(script.clone()), tokens);
    agent.signed_in(&session);
    session
}

/// Makes the claims of an ID token.
fn claims(sub: &str) -> Option<Claims> {
    claims_of(&format!("{{\"iss\":\"https://id.corp.example\",\"sub\":\"{sub}\"}}"))
}

fn claims_of(payload: &str) -> Option<Claims> {
    let part = |text: &str| base64::Engine::encode(&base64::prelude::BASE64_URL_SAFE_NO_PAD, text);
    Claims::of(&Secret::new(format!("{}.{}.x", part("{}"), part(payload))))
}

fn soon() -> Deadline {
    Deadline::after(Instant::now(), Duration::from_secs(5))
}

fn unreachable() -> RefreshError {
    RefreshError::NotNow(SignInError::CannotRevoke { who: "id.corp.example".to_owned() })
}

/// Runs a test where tasks may be spawned, with an agent that stays.
async fn with_agent(test: impl AsyncFnOnce(Rc<Agent>)) {
    LocalSet::new().run_until(test(Agent::new(false, Vec::new()))).await;
}

#[tokio::test]
async fn a_fresh_token_is_given_without_asking_anybody() {
    with_agent(async |agent| {
        let script = Script::default();
        let session = session(&agent, &script, tokens("a", Some(3600), Some("r1")));
        assert!(subject(&agent, &session, soon()).await.expect("given").token.same_as(b"a"));
        assert!(script.asked_with().is_empty());
    })
    .await;
}

#[tokio::test]
async fn six_at_once_share_one_renewal_and_a_rotated_refresh_token_is_used_next_coder_17069() {
    with_agent(async |agent| {
        let script = Script::of([Ok(tokens("b", Some(0), Some("r2"))), Ok(tokens("c", Some(3600), Some("r3")))]);
        let session = session(&agent, &script, tokens("a", Some(0), Some("r1")));
        let ask = || {
            let (agent, session) = (Rc::clone(&agent), Rc::clone(&session));
            tokio::task::spawn_local(async move { subject(&agent, &session, soon()).await })
        };
        let all: Vec<_> = std::iter::repeat_with(ask).take(6).collect();
        for one in all {
            assert!(one.await.expect("ran").expect("given").token.same_as(b"b"));
        }
        assert_eq!(script.asked_with(), ["r1"]);
        assert!(subject(&agent, &session, soon()).await.expect("given").token.same_as(b"c"));
        assert_eq!(script.asked_with(), ["r1", "r2"]);
    })
    .await;
}

#[tokio::test]
async fn who_goes_away_during_a_renewal_loses_nobodys_refresh_token() {
    with_agent(async |agent| {
        let script = Script::of([Ok(tokens("b", Some(3600), Some("r2")))]);
        let session = session(&agent, &script, tokens("a", Some(0), Some("r1")));
        let deadline = Deadline::after(Instant::now(), Duration::from_millis(5));
        let failure = subject(&agent, &session, deadline).await.expect_err("too slow");
        assert_eq!(failure.kind, FailureKind::Unreachable);
        session.rest(soon()).await;
        assert!(session.kept().is_ok_and(|kept| kept.tokens.refresh.as_ref().is_some_and(|r| r.same_as(b"r2"))));
    })
    .await;
}

#[tokio::test]
async fn what_the_issuer_has_ended_is_over_at_once_and_asked_for_once_oidc_agent_507() {
    with_agent(async |agent| {
        let script = Script::of([Err(RefreshError::Over("id.corp.example says invalid_grant".to_owned()))]);
        let session = session(&agent, &script, tokens("a", Some(0), Some("r1")));
        let began = Instant::now();
        for _ in 0..3 {
            let failure = subject(&agent, &session, soon()).await.expect_err("over");
            assert_eq!(failure.kind, FailureKind::Refused);
            assert_eq!(failure.hint.as_deref(), Some("credmint login me"));
        }
        assert!(began.elapsed() < Duration::from_secs(1));
        assert_eq!(script.asked_with(), ["r1"]);
        let status = session.status();
        assert!(status.over && status.how_it_ends.starts_with("over: id.corp.example") && status.renews.is_none());
        assert!(!session.is_in_use(clock::now()), "it keeps no agent");
    })
    .await;
}

#[tokio::test]
async fn a_renewal_that_fails_for_now_leaves_the_last_good_token_and_is_not_repeated_at_once() {
    with_agent(async |agent| {
        let script = Script::of([Err(unreachable())]);
        let session = session(&agent, &script, tokens("a", Some(30), Some("r1")));
        // It is due only when less than half of its life is left.
        session.state.replace(State::Live(Rc::new(Kept {
            tokens: tokens("a", Some(30), Some("r1")),
            kind: OidcTokenKind::Access,
            got: clock::now().minus(Duration::from_secs(60)),
            began: Instant::now(),
        })));
        for _ in 0..3 {
            assert!(subject(&agent, &session, soon()).await.expect("still good").token.same_as(b"a"));
        }
        assert_eq!(script.asked_with(), ["r1"], "within ten seconds once");
    })
    .await;
}

#[tokio::test]
async fn an_id_token_that_has_ended_is_nobodys_proof_after_a_renewal_without_a_new_one() {
    with_agent(async |agent| {
        let with_id = |exp: i64| {
            let claims = claims_of(&format!("{{\"sub\":\"ada\",\"exp\":{exp}}}"));
            Tokens { claims, id: Some(Secret::from("id")), ..tokens("a", Some(3600), Some("r")) }
        };
        let script = Script::of([Ok(with_id(1000)), Ok(with_id(clock::now().unix() + 3600))]);
        let (sign_in, source) = ((key(), agent.sessions.next()), Source::Scripted(script.clone()));
        let session = Session::new("me", sign_in, OidcTokenKind::Id, source, with_id(1000));
        let failure = subject(&agent, &session, soon()).await.expect_err("ended in 1970");
        assert!(failure.what.contains("without a new ID token"), "{failure:?}");
        session.tried.set(Instant::now().checked_sub(Duration::from_secs(60)));
        assert!(!session.has_rested(), "the background does not ask for it every ten seconds");
        assert!(subject(&agent, &session, soon()).await.expect("given").token.same_as(b"id"));
        assert_eq!(script.asked_with(), ["r", "r"]);
    })
    .await;
}

#[tokio::test]
async fn without_a_refresh_token_a_session_ends_with_its_token_kubelogin_405() {
    with_agent(async |agent| {
        let session = session(&agent, &Script::default(), tokens("a", Some(0), None));
        let failure = subject(&agent, &session, soon()).await.expect_err("ended");
        assert!(failure.what.contains("gave none to renew it with"), "{failure:?}");
        assert_eq!(failure.hint.as_deref(), Some("credmint login me"));
    })
    .await;
}

#[tokio::test]
async fn a_session_keeps_the_agent_for_a_working_day_after_its_last_use() {
    with_agent(async |agent| {
        let session = session(&agent, &Script::default(), tokens("a", None, Some("r1")));
        let after = |hours: u64| clock::now().plus(Duration::from_secs(hours * 3600));
        assert!(!agent.is_idle(after(11)) && agent.is_idle(after(13)));
        agent.sessions.remove(session.sign_in.0);
        assert!(agent.is_idle(after(11)));
    })
    .await;
}

#[tokio::test]
async fn the_next_sign_in_has_another_number_and_nobody_is_number_0() {
    with_agent(async |agent| {
        assert_eq!(agent.sessions.sign_in(key()), (key(), 0));
        let first = session(&agent, &Script::default(), tokens("a", None, None)).sign_in;
        let second = session(&agent, &Script::default(), tokens("b", None, None)).sign_in;
        assert!(first.1 > 0 && second.1 > first.1);
        assert_eq!(agent.sessions.sign_in(key()), second);
    })
    .await;
}

#[tokio::test]
async fn a_run_goes_on_when_the_same_person_signs_in_again_and_not_with_another_or_after_a_sign_out() {
    with_agent(async |agent| {
        let sign_in = |sub: &str| {
            let tokens = Tokens { claims: claims(sub), ..tokens("a", None, None) };
            session(&agent, &Script::default(), tokens)
        };
        let (ada, again) = (sign_in("ada"), sign_in("ada"));
        assert!(again.serves(ada.sign_in) && again.serves(again.sign_in) && !again.serves((key(), 0)));
        let bob = sign_in("bob");
        assert!(!bob.serves(ada.sign_in) && !bob.serves(again.sign_in));
        agent.sessions.remove(key());
        assert!(!sign_in("bob").serves(bob.sign_in));
    })
    .await;
}

#[tokio::test]
async fn entries_of_the_sign_in_before_are_dropped_and_what_a_run_holds_is_kept_for_the_logout() {
    with_agent(async |agent| {
        let first = session(&agent, &Script::default(), tokens("a", None, None));
        let mut entry = crate::entries::tests::entry(Some(3600));
        entry.sign_in = Some(first.sign_in);
        agent.keep(&Rc::new(entry));
        let other = Rc::new(crate::entries::tests::entry(Some(3600)));
        agent.superseded.borrow_mut().push(Rc::clone(&other));
        session(&agent, &Script::default(), tokens("b", None, None));
        assert!(agent.entries.all().is_empty());
        assert!(
            agent.superseded.borrow().iter().all(|kept| Rc::ptr_eq(kept, &other)),
            "behind the bridge nobody holds it"
        );
        assert!(agent.take_entries_of(key()).is_empty());
    })
    .await;
}

#[tokio::test]
async fn who_signs_out_while_a_token_is_renewed_for_an_entry_keeps_no_entry() {
    with_agent(async |agent| {
        let settings = credmint_settings::read(&[("test".into(), ROUTED.into())]).expect("valid");
        let key = crate::recipe::session_of("me", &settings.identities["me"]).expect("a person");
        let source = Source::Scripted(Script::of([Ok(tokens("b", Some(3600), Some("r2")))]));
        let sign_in = (key, agent.sessions.next());
        let ended = tokens("a", Some(0), Some("r1"));
        agent.signed_in(&Session::new("me", sign_in, OidcTokenKind::Access, source, ended));
        let host = credmint_vocabulary::Hostname::from_comparison_form("registry.corp.example").expect("valid");
        let recipe = crate::recipe::Recipe::new(host.into(), Rc::new(settings), Caller::default(), &agent.sessions);
        let recipe = Rc::new(recipe.expect("routed"));
        let signs_out = async {
            sleep(Duration::from_millis(10)).await;
            agent.sessions.remove(key)
        };
        let (outcome, _) = tokio::join!(crate::get::entry_of(&agent, &recipe, soon()), signs_out);
        let failure = outcome.err().expect("nobody's");
        assert!(failure.what.contains("was forgotten"), "{failure:?}");
        assert!(agent.entries.all().is_empty());
    })
    .await;
}

const ROUTED: &str = r#"
    [identity.me]
    kind = "oidc"
    issuer = "https://id.corp.example"
    client_id = "terraform"
    token = "access"
    [issuer.pass]
    kind = "oidc"
    [host."registry.corp.example"]
    identity = "me"
    issuer = "pass"
"#;

#[tokio::test]
async fn one_signs_in_at_a_time_kubelogin_904() {
    let sessions = Sessions::default();
    let lead = sessions.lead(key()).expect("nobody else");
    let mut other = sessions.lead(key()).err().expect("somebody else");
    assert!(sessions.lead(SessionKey([8; 32])).is_ok(), "for another identity");
    drop(lead);
    assert!(other.changed().await.is_err(), "told at once");
    assert!(sessions.lead(key()).is_ok());
}

#[test]
fn it_is_due_a_third_before_its_end_at_least_a_minute_at_most_half() {
    for (life, before) in [(3600, 1200), (120, 60), (60, 30), (10, 5)] {
        let kept = Kept::new(tokens("a", Some(life), None), OidcTokenKind::Access);
        assert_eq!(kept.ends().expect("an end").unix() - kept.due().unix(), before, "{life}");
    }
}

#[test]
fn another_browser_is_the_same_person_and_another_client_is_not() {
    let key = |more: &str, client: &str| {
        let text = format!(
            "[identity.me]\nkind = \"oidc\"\nissuer = \"https://id.corp.example\"\nclient_id = \"{client}\"\n{more}\n"
        );
        let settings = credmint_settings::read(&[("test".into(), text)]).expect("valid");
        crate::recipe::session_of("me", &settings.identities["me"]).expect("a person")
    };
    assert_eq!(
        key("", "a"),
        key("browser = [\"firefox\"]\nsign_in_timeout = \"1m\"\nredirect_ports = [8250]\nredirect_path = \"/\"", "a")
    );
    assert_ne!(key("", "a"), key("", "b"));
    assert_ne!(key("", "a"), key("scopes = [\"groups\"]", "a"));
}

#[test]
fn who_signed_in_is_told_by_an_address_only_if_it_may_be_theirs() {
    let who = |claims: &str| {
        let token = format!("e30.{}.x", URL_SAFE_NO_PAD.encode(claims));
        super::session::readable(&Claims::of(&Secret::new(token)).expect("claims"))
    };
    assert_eq!(who(r#"{"sub":"7","email":"boss@corp.example","email_verified":false}"#).as_deref(), Some("7"));
    for more in ["", r#","email_verified":true"#] {
        let claims = format!(r#"{{"sub":"7","name":"Ada","email":"ada@corp.example"{more}}}"#);
        assert_eq!(who(&claims).as_deref(), Some("ada@corp.example"));
    }
}

/// A machine that slept has a wall clock that moved and a monotonic one that did not.
#[test]
fn after_sleep_what_is_due_is_due_smallstep_certificates_10() {
    let kept = Kept::new(tokens("a", Some(3600), Some("r")), OidcTokenKind::Access);
    let woken = clock::now().plus(Duration::from_secs(3_000));
    assert!(!kept.is_due(clock::now()) && kept.is_due(woken) && kept.is_alive(woken));
    assert!(!kept.is_alive(clock::now().plus(Duration::from_secs(4_000))));
}
