//! The bridge as Terraform meets it: on both loopback families, for whoever has a session, and with words for others.

use credmint_stories::{Company, HOST, User, file_identity, wait_until};
use credmint_test_kit::http::Request;

const VERSIONS: &str = "v1/modules/corp/network/aws/versions";
const PROVIDER: &str = "v1/providers/corp/widget/versions";

fn user_of(company: &Company) -> User {
    let mut user = User::move_in();
    user.setup(company.registry.address());
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    user.settings(&(file_identity(&token) + &company.issuer() + &company.host("job", "")));
    user
}

fn status_line(answer: &credmint_test_kit::http::Answer) -> String {
    answer.head.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn a_session_opens_both_loopback_families_and_ends_with_forget() {
    let company = Company::found();
    let mut user = user_of(&company);

    // 1. A helper's answer is a session token; every run gets another.
    let token = user.got("token");
    let session = user.canary.watch("session token", token);
    assert_ne!(session, user.got("token"));
    // 2. It is accepted on 127.0.0.1, on ::1 and under the name localhost.
    for name in ["127.0.0.1", "[::1]", "localhost"] {
        let answer = user.ask_bridge(name, VERSIONS, &session);
        assert_eq!((answer.status, answer.body.contains("1.0.0")), (200, true), "{name}: {}", answer.head);
    }
    // 3. HEAD is HEAD.
    let url = format!("http://127.0.0.1:{}/{HOST}/{VERSIONS}", user.port);
    let bearer = format!("Bearer {session}");
    let head = Request::new("HEAD", &url).header("Authorization", &bearer).send();
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    // 4. What the registry says of a path that is not there reaches the client as it is.
    assert_eq!(user.ask_bridge("127.0.0.1", "v1/modules/corp/nothing/aws/versions", &session).status, 404);
    // 5. `forget` ends the session.
    user.home.run("terraform-credentials-credmint").args(["forget", HOST]).output().success();
    assert_eq!(user.ask_bridge("127.0.0.1", VERSIONS, &session).status, 401);
    assert!(company.registry.requests().iter().all(|request| request.authorization.is_empty()));
    user.canary.check(&user.home);
}

#[test]
fn strangers_are_refused_with_a_reason_and_the_registry_hears_nothing() {
    let company = Company::found();
    let user = user_of(&company);
    let session = user.got("token");

    // 1. A wrong session token: 401 for modules, 428 for providers, and the status line says why.
    let wrong = "a".repeat(43);
    for (path, status) in [(VERSIONS, 401), (PROVIDER, 428)] {
        let answer = user.ask_bridge("127.0.0.1", path, &wrong);
        let line = status_line(&answer);
        assert!(
            line.starts_with(&format!("HTTP/1.1 {status} the bridge does not know this session for {HOST}")),
            "{line}"
        );
        assert!(line.contains("hint: "), "{line}");
    }
    // 2. The right one, for another host, for a made-up file, and through a name that a web page could have.
    let url = |path: &str| format!("http://127.0.0.1:{}/{path}", user.port);
    let bearer = format!("Bearer {session}");
    let ask = |path: &str| Request::new("GET", &url(path)).header("Authorization", &bearer);
    assert_eq!(ask(&format!("other.corp.example/{VERSIONS}")).send().status, 401);
    assert_eq!(ask(&format!("{HOST}/.cap/{wrong}/network-1.0.0.zip")).send().status, 403);
    let rebound = Request::new("GET", &url(&format!("{HOST}/{VERSIONS}"))).as_host("evil.example");
    assert_eq!(rebound.header("Authorization", &bearer).send().status, 401);
    // 3. Nothing of this reached the registry, and the status tells it.
    assert_eq!(company.registry.requests().len(), 0);
    let status = user.credmint(&["status"]).stdout;
    assert!(status.contains("the bridge does not know this session"), "{status}");
    user.canary.check(&user.home);
}

#[test]
fn a_certificate_that_ends_during_a_run_is_replaced_behind_the_session() {
    let (company, mut user) = (Company::found(), User::move_in());

    // 1. A certificate for two seconds, and a run that takes longer.
    user.setup(company.registry.address());
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    let issuer = company.issuer_with("common_name = \"{email}\"\nttl = \"2s\"\n");
    user.settings(&(file_identity(&token) + &issuer + &company.host("job", "")));
    let session = user.got("token");
    // 2. The run goes on with the session that it has, and never hears of it.
    wait_until("a second certificate is minted", || {
        assert_eq!(user.ask_bridge("127.0.0.1", VERSIONS, &session).status, 200);
        company.pki.minted() == 2
    });
    assert_eq!(user.ask_bridge("127.0.0.1", VERSIONS, &session).status, 200);
    // 3. The registry saw both, one after the other; the login behind the first is over.
    let mut serials: Vec<String> = company.registry.requests().into_iter().map(|request| request.serial).collect();
    serials.dedup();
    assert_eq!(serials.len(), 2, "{serials:?}");
    company.bao.wait_for("one login is left", |client| client.logins().len() == 1);
    user.canary.check(&user.home);
}
