//! What a caller can do with a question: answer it, answer something else, go away.
//! The far end of the stream is the test; the settings are real, the identity is a variable of the caller.
//! Nothing of it needs a network.

use credmint_agent_protocol::{Ask, Got, Request, Supply, VERSION, WireSecret};
use tokio::io::{DuplexStream, duplex};
use tokio::task::LocalSet;

use super::*;

const SETTINGS: &str = r#"
    [identity.job]
    kind = "env"
    variable = "WORKLOAD_TOKEN"
    [issuer.pass]
    kind = "oidc"
    [host."registry.corp.example"]
    identity = "job"
    issuer = "pass"
    confirm = true
"#;

/// Begins a `get` and gives the far end, with the agent's question read.
async fn asked(agent: &Rc<Agent>, settings: &str, token: Option<&str>) -> (DuplexStream, Reply) {
    let (mut ours, mut theirs) = duplex(64 * 1024);
    let agent = Rc::clone(agent);
    tokio::task::spawn_local(async move { crate::server::serve(&agent, &mut ours, None).await.is_ok() });
    let hostname = "registry.corp.example".to_owned();
    let got = Got { hostname, settings: Some(settings.to_owned()), ..Got::default() };
    send(&mut theirs, &Request { version: VERSION, ask: Ask::Get(got) }).await.expect("sent");
    let Ok(Reply::Need(need)) = receive::<Reply>(&mut theirs).await else { panic!("a need") };
    assert_eq!(need.environment, ["WORKLOAD_TOKEN"], "no display where no program asks");
    let mut supply = Supply::default();
    let token = token.map(|token| ("WORKLOAD_TOKEN".to_owned(), WireSecret::from(Secret::from(token))));
    supply.environment.extend(token);
    send(&mut theirs, &supply).await.expect("sent");
    let reply = next(&mut theirs).await;
    (theirs, reply)
}

async fn next(stream: &mut DuplexStream) -> Reply {
    let soon = timeout(Duration::from_secs(5), receive::<Reply>(stream)).await;
    soon.expect("in time").unwrap_or_else(|error| panic!("{error}"))
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the test needs settings in a file")]
async fn only_a_yes_is_one_and_who_goes_away_is_no_answer() {
    let directory = std::env::temp_dir().join(format!("credmint-confirm-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("made");
    let file = directory.join("config.toml");
    std::fs::write(&file, SETTINGS).expect("written");
    LocalSet::new().run_until(conversations(&file.display().to_string())).await;
    std::fs::remove_dir_all(directory).expect("removed");
}

async fn conversations(settings: &str) {
    let agent = Agent::new(false, Vec::new());
    // 1. Nobody is asked to allow what comes to nothing.
    let (_, reply) = asked(&agent, settings, None).await;
    assert!(matches!(reply, Reply::Failure(failure) if failure.what.contains("no identity has an answer")));
    // 2. Who goes away frees the place, and nothing is remembered of it.
    let (mut first, reply) = asked(&agent, settings, Some("a.b.c")).await;
    assert!(matches!(reply, Reply::Confirm(asked) if asked.what.starts_with("a program wants") && !asked.elsewhere));
    let (mut second, reply) = asked(&agent, settings, Some("a.b.c")).await;
    assert!(matches!(reply, Reply::Waiting));
    assert!(agent.entries.all().is_empty(), "nothing is made before it is allowed");
    drop(first);
    assert!(matches!(next(&mut second).await, Reply::Confirm(_)));
    send(&mut second, &Confirmed::Unable { why: "\u{1b}[2Jnone".to_owned() }).await.expect("sent");
    let Reply::Failure(failure) = next(&mut second).await else { panic!("refused") };
    assert!(
        failure.kind == "refused" && failure.what.contains("allowed by a person") && !failure.what.contains('\u{1b}')
    );
    // 3. A yes is for one request.
    for _ in 0..2 {
        (first, _) = asked(&agent, settings, Some("a.b.c")).await;
        send(&mut first, &Confirmed::Yes).await.expect("sent");
        assert!(matches!(next(&mut first).await, Reply::Credential(_)));
    }
    // 4. A word of a later version is no yes; it holds for a moment, and not for somebody else's entry.
    let (mut third, _) = asked(&agent, settings, Some("a.b.c")).await;
    send(&mut third, &serde_json::json!({ "answer": "always" })).await.expect("sent");
    assert!(matches!(next(&mut third).await, Reply::Failure(failure) if failure.what.contains("not allowed")));
    let (_, reply) = asked(&agent, settings, Some("a.b.c")).await;
    assert!(matches!(reply, Reply::Failure(failure) if failure.what.contains("not allowed")));
    assert!(matches!(asked(&agent, settings, Some("d.e.f")).await.1, Reply::Confirm(_)));
}
