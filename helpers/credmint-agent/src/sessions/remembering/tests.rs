//! What is kept, when it is written, and who wins.
//! A shelf in place of the operating system's store: what is on it, and how often it was read and written, goes out.
//! A fake, because a real store cannot be asked how often it was asked.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use credmint_identities::Caller;
use credmint_os_store::Store;
use credmint_vocabulary::Deadline;
use tokio::task::{LocalSet, spawn_local};

use super::*;
use crate::agent::Agent;
use crate::sessions::tests::{Script, tokens};
use crate::sessions::{self, Session, SessionKey, Source, subject};

/// Keeps everything in memory, shared by its clones.
#[derive(Clone, Default)]
pub(crate) struct Shelf(Arc<Mutex<On>>);

#[derive(Default)]
struct On {
    values: BTreeMap<String, Vec<u8>>,
    reads: usize,
    writes: usize,
    /// Takes nothing new.
    full: bool,
    /// Lets nobody in.
    locked: bool,
}

impl Store for Shelf {
    fn name(&self) -> &'static str {
        "the shelf"
    }

    fn limit(&self) -> usize {
        100_000
    }

    fn get(&self, name: &str) -> Result<Option<Secret<Vec<u8>>>, StoreError> {
        let mut on = self.on()?;
        on.reads += 1;
        Ok(on.values.get(name).cloned().map(Secret::new))
    }

    fn set(&self, name: &str, value: &[u8]) -> Result<(), StoreError> {
        let mut on = self.on()?;
        if on.full {
            return Err(StoreError::TooLarge { store: "the shelf", length: value.len() });
        }
        on.writes += 1;
        on.values.insert(name.to_owned(), value.to_vec());
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.on()?.values.remove(name);
        Ok(())
    }
}

impl Shelf {
    fn on(&self) -> Result<MutexGuard<'_, On>, StoreError> {
        let on = self.0.lock().expect("one thread");
        if on.locked { Err(StoreError::Locked { store: "the shelf" }) } else { Ok(on) }
    }

    pub(crate) fn keyring(&self) -> Keyring {
        let own = self.clone();
        Keyring::of(move || Ok(OsStore::of(vec![Box::new(own.clone())])))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().expect("one thread").values.is_empty()
    }

    pub(crate) fn writes(&self) -> usize {
        self.0.lock().expect("one thread").writes
    }

    fn reads(&self) -> usize {
        self.0.lock().expect("one thread").reads
    }
}

/// Makes an agent with a shelf.
pub(crate) fn agent(shelf: &Shelf) -> Rc<Agent> {
    let mut agent = Agent::new(false, Vec::new());
    Rc::get_mut(&mut agent).expect("new").keyring = shelf.keyring();
    agent
}

/// Signs in for a key, and remembers it.
pub(crate) async fn signed_in(
    agent: &Rc<Agent>,
    key: SessionKey,
    script: &Script,
    (life, refresh): (u64, &str),
) -> Rc<Session> {
    let tokens = tokens("a", Some(life), Some(refresh));
    let sign_in = (key, agent.sessions.next());
    let session = Session::new("me", sign_in, OidcTokenKind::Access, Source::Scripted(script.clone()), tokens);
    assert!(session.remembering.set(Remembering::new(ITEM.to_owned())).is_ok());
    sessions::sign_in(agent, &session).await;
    session
}

/// Tells whether this is the token that is kept.
pub(crate) async fn is_kept(agent: &Agent, refresh: &str) -> bool {
    let stored = Stored::read(&agent.keyring, ITEM).await.expect("read");
    stored.is_some_and(|stored| stored.refresh.same_as(refresh.as_bytes()))
}

const ITEM: &str = "sign-in of a test";

fn settings(lines: &str) -> credmint_settings::Settings {
    let text = format!("[identity.me]\nkind = \"oidc\"\nissuer = \"https://127.0.0.1:9\"\nclient_id = \"a\"\n{lines}");
    credmint_settings::read(&[("test".into(), text)]).expect("valid")
}

fn key() -> SessionKey {
    crate::recipe::session_of("me", &settings("").identities["me"]).expect("a person")
}

fn soon(milliseconds: u64) -> Deadline {
    Deadline::after(Instant::now(), Duration::from_millis(milliseconds))
}

fn item_of(name: &str, lines: &str) -> Option<String> {
    let text =
        format!("[identity.{name}]\nkind = \"oidc\"\nissuer = \"https://id.example\"\nclient_id = \"a\"\n{lines}");
    let settings = credmint_settings::read(&[("test".into(), text)]).expect("valid");
    item(name, settings.identities[name].person()?)
}

const REMEMBER: &str = "remember = \"keyring\"\n";

#[test]
fn a_name_is_the_same_in_every_version_and_covers_what_is_asked_of_whom() {
    let plain = item_of("me", REMEMBER).expect("remembered");
    assert_eq!(plain, "sign-in 862002fddeee5a59be5d09ddd7c2a50f9d77f3d230e63243d4255d6e650232e5");
    for lines in
        ["scopes = \"openid\"", "resource = \"https://a.example\"", "token = \"access\"", "client_auth = \"none\""]
    {
        let same = lines.starts_with("client_auth");
        assert_eq!(item_of("me", &format!("{REMEMBER}{lines}\n")) == Some(plain.clone()), same, "{lines}");
    }
    assert_ne!(item_of("boss", REMEMBER), Some(plain.clone()));
    assert_eq!(item_of("me", &format!("{REMEMBER}sign_in_timeout = \"1m\"\nbrowser = [\"x\"]\n")), Some(plain));
    assert_eq!(item_of("me", ""), None);
}

#[tokio::test]
async fn a_store_that_fails_is_said_with_what_helps_go_keyring_88() {
    let keyring = Keyring::of(|| Err(StoreError::Locked { store: "the Secret Service" }));
    let remembering = Remembering::new("sign-in x".to_owned());
    remembering.keep(&keyring, Some(&Secret::from("r1"))).await;
    let (kept, why) = remembering.words();
    assert!(kept.is_none() && why.is_some_and(|why| why.starts_with("the Secret Service is locked; ")));
    assert!(remembering.newer(&keyring, Some(&Secret::from("r0"))).await.is_none());
}

#[tokio::test]
async fn what_has_not_changed_is_not_written_again_kubelogin_1569() {
    let shelf = Shelf::default();
    let (keyring, remembering) = (shelf.keyring(), Remembering::new(ITEM.to_owned()));
    for (refresh, writes) in [("r1", 1), ("r1", 1), ("r2", 2), ("r2", 2)] {
        remembering.keep(&keyring, Some(&Secret::from(refresh))).await;
        assert_eq!(shelf.writes(), writes, "{refresh}");
    }
    // What the next agent reads is not written by it either.
    let stored = Stored::read(&keyring, ITEM).await.expect("read").expect("kept");
    Remembering::of(ITEM.to_owned(), &stored).keep(&keyring, Some(&Secret::from("r2"))).await;
    assert_eq!(shelf.writes(), 2);
}

#[tokio::test]
async fn six_that_ask_at_once_read_the_store_once_onepassword_140() {
    let shelf = Shelf::default();
    let test = async {
        let agent = agent(&shelf);
        let settings = Rc::new(settings(REMEMBER));
        let item = item("me", settings.identities["me"].person().expect("a person")).expect("remembered");
        Remembering::new(item).keep(&agent.keyring, Some(&Secret::from("r1"))).await;
        let before = shelf.reads();
        let ask = || {
            let (agent, settings) = (Rc::clone(&agent), Rc::clone(&settings));
            spawn_local(async move {
                let person = settings.identities["me"].person().expect("a person");
                sessions::restore(&agent, ("me", key()), person, &Caller::default(), soon(5000)).await
            })
        };
        let all: Vec<_> = std::iter::repeat_with(ask).take(6).collect();
        for one in all {
            assert!(one.await.expect("ran").is_err(), "nobody is at that issuer");
        }
        assert_eq!(shelf.reads() - before, 1);
    };
    LocalSet::new().run_until(test).await;
}

#[tokio::test]
async fn who_signs_in_again_wins_over_a_renewal_of_the_sign_in_before() {
    let test = async {
        let agent = agent(&Shelf::default());
        let script = Script::of([
            Ok(tokens("b", Some(3600), Some("r2"))),
            Err(credmint_identities::RefreshError::Over("used".into())),
        ]);
        for _ in 0..2 {
            script.hold();
            let before = signed_in(&agent, key(), &script, (0, "r1")).await;
            assert!(subject(&agent, &before, soon(5)).await.is_err(), "it flies on");
            let session = signed_in(&agent, key(), &script, (3600, "r9")).await;
            script.release();
            before.rest(soon(5000)).await;
            assert!(is_kept(&agent, "r9").await, "neither overwritten, nor used, nor deleted");
            assert!(session.comes_back());
        }
        assert_eq!(script.asked_with(), ["r1", "r1"]);
    };
    LocalSet::new().run_until(test).await;
}

#[tokio::test]
async fn a_sign_in_that_is_to_end_leaves_nothing_for_the_next_agent() {
    let agent = agent(&Shelf::default());
    signed_in(&agent, key(), &Script::default(), (3600, "r1")).await;
    let remembering = Remembering::new(ITEM.to_owned());
    remembering.close();
    remembering.begin(&agent.keyring, Some(&Secret::from("r2"))).await;
    assert!(!is_kept(&agent, "r1").await && !is_kept(&agent, "r2").await);
    assert_eq!(remembering.words(), (None, None));
}

#[tokio::test]
async fn a_sign_in_that_is_not_kept_leaves_no_older_one_zero_937() {
    let shelf = Shelf::default();
    let keyring = shelf.keyring();
    let begin = async |refresh, closed: bool| {
        let remembering = Remembering::new(ITEM.to_owned());
        closed.then(|| remembering.close());
        remembering.begin(&keyring, Some(&Secret::from(refresh))).await;
        remembering.words()
    };
    begin("r1", false).await;
    shelf.0.lock().expect("one thread").full = true;
    let (kept, why) = begin("r2", false).await;
    assert!(kept.is_none() && shelf.is_empty(), "somebody else may have signed in with it");
    assert!(why.is_some_and(|why| why.contains("too many") && !why.contains(OLDER)));
    shelf.0.lock().expect("one thread").full = false;
    begin("r3", false).await;
    shelf.0.lock().expect("one thread").locked = true;
    for closed in [false, true] {
        let why = begin("r4", closed).await.1.expect("why");
        assert!(why.contains("locked") && why.contains(OLDER), "{why}");
    }
    assert!(!shelf.is_empty());
}

#[tokio::test]
async fn a_token_that_was_kept_too_late_is_deleted_and_no_other() {
    let shelf = Shelf::default();
    let (keyring, remembering) = (shelf.keyring(), Remembering::new(ITEM.to_owned()));
    remembering.keep(&keyring, Some(&Secret::from("r2"))).await;
    remembering.forget_only(&keyring, &Secret::from("r1")).await;
    assert!(!shelf.is_empty());
    remembering.forget_only(&keyring, &Secret::from("r2")).await;
    assert!(shelf.is_empty());
}

#[tokio::test]
async fn an_agent_may_be_replaced_whose_sign_ins_come_back() {
    let test = async {
        let agent = agent(&Shelf::default());
        let script = Script::of([Ok(tokens("b", Some(3600), Some("r2")))]);
        script.hold();
        let session = signed_in(&agent, key(), &script, (0, "r1")).await;
        assert!(agent.can_be_replaced(clock::now(), 0));
        assert!(subject(&agent, &session, soon(5)).await.is_err(), "it flies on");
        assert!(!agent.can_be_replaced(clock::now(), 0), "the issuer may have taken the token that is kept");
        script.release();
        session.rest(soon(5000)).await;
        assert!(agent.can_be_replaced(clock::now(), 0));
        Rc::clone(&agent).sessions.clear();
        let unkept = Session::new(
            "me",
            (key(), 9),
            OidcTokenKind::Access,
            Source::Scripted(script),
            tokens("a", Some(60), Some("r")),
        );
        agent.signed_in(&unkept);
        assert!(!agent.can_be_replaced(clock::now(), 0), "nothing brings that back");
    };
    LocalSet::new().run_until(test).await;
}
