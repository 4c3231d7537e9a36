//! A day with a session: tokens that live for seconds are renewed silently, once for everybody who asks, and a refresh token
//! that is over ends it at once.

use std::time::Duration;

use credmint_stories::{AS_IT_IS, Company, HOST, User, person, terraform, token_host, wait_until};
use credmint_test_kit::encoding::claims;
use credmint_test_kit::openid_provider::wait_for_remaining;
use credmint_test_kit::processes::{is_connected, signal};
use credmint_test_kit::{Gate, Links, OpenIdProvider, Registry, Terraform, memory};
use rustix::process::Signal;

/// Life of the tokens of these stories, in seconds.
const LIFE: u32 = 20;

fn plain(provider: &OpenIdProvider) -> String {
    person(provider, "") + AS_IT_IS + &token_host("\"me\"", "as-it-is")
}

#[test]
fn six_inits_at_the_moment_of_refresh_share_one_rotation() {
    let Some(terraform) = terraform() else { return };
    let (provider, mut user) = (OpenIdProvider::start_with_ttl(LIFE), User::move_in());
    let registry = Registry::behind(Gate::AnyBearer).links(Links::Address).start();
    user.use_helper("credmint", &[], &registry);
    user.settings(&plain(&provider));

    // 1. Signed in, and used once.
    user.signs_in(&provider, "alice");
    let first = user.got("token");
    assert_eq!(claims(&first)["sub"], "alice");
    // 2. The token is about to end when six runs begin.
    let works: Vec<_> = (0..6).map(|n| Terraform::write_configuration(&user.home, &format!("work{n}"))).collect();
    wait_for_remaining(&first, 4);
    let init = ["init", "-input=false", "-no-color"];
    let runs: Vec<_> = works.iter().map(|work| terraform.run(&user.home, work, &init).start()).collect();
    for output in runs.into_iter().map(|run| run.output()) {
        output.success();
    }
    // 3. Every refresh token was used once: a second use would have ended the whole family (RFC 9700 section 4.14).
    let refreshed = provider.refreshes();
    assert!(!refreshed.is_empty() && refreshed.iter().all(|status| *status == 200), "{refreshed:?}");
    let lives = provider.issued().len() - 1;
    assert_eq!(refreshed.len(), lives);
    // 4. No run presented a token that was over, and the session goes on.
    let requests = registry.requests();
    let api: Vec<_> = requests.iter().filter(|request| request.path.starts_with("/v1/")).collect();
    assert!(api.len() >= 24 && api.iter().all(|request| !request.authorization.ends_with(&first)), "{}", api.len());
    user.watch_issued(&provider);
    assert_ne!(user.got("token"), first);
    assert_eq!(user.sessions().len(), 1);
    user.canary.check(&user.home);
}

#[test]
fn gets_at_the_moment_of_refresh_ask_the_issuer_once() {
    let (provider, mut user) = (OpenIdProvider::start_with_ttl(LIFE), User::move_in());
    user.settings(&plain(&provider));
    user.signs_in(&provider, "alice");
    let first = user.got("token");

    // 1. Six helpers at once, when the token has less than the least life, and the issuer takes its time.
    wait_for_remaining(&first, 5);
    let before = provider.refreshes().len();
    signal(provider.pid(), Signal::STOP);
    let gets: Vec<_> = (0..6).map(|_| user.get().start()).collect();
    let (agent, port) = (user.home.agent().pid, provider.port());
    wait_until("the issuer is asked", || is_connected(agent, port));
    signal(provider.pid(), Signal::CONT);
    let tokens: Vec<_> = gets.into_iter().map(|get| get.output().success().json()["token"].clone()).collect();
    // 2. All get the same new token; at most one refresh was made for it.
    user.watch_issued(&provider);
    assert!(tokens.iter().all(|token| *token == tokens[0] && *token != first.as_str()));
    assert!(provider.refreshes().len() <= before + 1, "{:?}", provider.refreshes());
    assert_eq!(provider.issued().len(), provider.refreshes().len() + 1);
    // 3. What was replaced is wiped, when nobody holds it any more.
    if memory::is_readable(agent) {
        user.canary.memory_lacks(agent, "refresh token 0");
        wait_until("the old token is wiped", || !memory::holds(agent, first.as_bytes()));
    }
    user.canary.check(&user.home);
}

#[test]
fn a_refresh_token_that_was_revoked_ends_the_session_within_a_second() {
    let (provider, mut user) = (OpenIdProvider::start_with_ttl(LIFE), User::move_in());
    user.settings(&plain(&provider));
    user.signs_in(&provider, "alice");
    let first = user.got("token");

    // 1. Somebody ends the session at the issuer; the agent notices when it has to refresh.
    let refresh = provider.issued().pop().expect("what was issued").refresh_token;
    provider.revoke(&refresh);
    wait_for_remaining(&first, 0);
    let output = user.get().output();
    assert_eq!((output.code, output.stdout.as_str()), (Some(77), ""), "{}", output.stderr);
    assert!(output.stderr.contains("hint: credmint login me"), "{}", output.stderr);
    assert!(output.took < Duration::from_secs(1), "{:?}", output.took);
    // 2. Terminal: the issuer is not asked again with what it refused.
    let asked = provider.requests().len();
    for _ in 0..3 {
        let output = user.get().output();
        assert_eq!(output.code, Some(77), "{}", output.stderr);
        assert!(output.took < Duration::from_secs(1), "{:?}", output.took);
    }
    assert_eq!(provider.requests().len(), asked);
    let sessions = user.sessions();
    assert!(sessions.iter().all(|session| session["over"] == true), "{sessions:?}");
    assert_eq!(user.home.run("credmint").args(["needs-login", "me"]).output().code, Some(0));
    // 3. What the session had is in no memory any more.
    let agent = user.home.agent().pid;
    if memory::is_readable(agent) {
        user.canary.memory_lacks(agent, "refresh token 0");
        user.canary.memory_lacks(agent, "ID token 0");
    }
    // 4. A new sign-in makes everything work again, at once.
    user.signs_in(&provider, "alice");
    assert_ne!(user.got("token"), first);
    user.canary.check(&user.home);
}

#[test]
fn an_issuer_that_is_away_for_a_moment_does_not_end_the_session() {
    let (provider, mut user) = (OpenIdProvider::start_with_ttl(LIFE), User::move_in());
    user.settings(&plain(&provider));
    user.signs_in(&provider, "alice");
    let first = user.got("token");

    // 1. The issuer takes connections and answers none while the token is to be refreshed: the old one is still good.
    signal(provider.pid(), Signal::STOP);
    wait_for_remaining(&first, 5);
    let kept = user.get().output();
    signal(provider.pid(), Signal::CONT);
    assert_eq!(kept.code, Some(0), "{}", kept.stderr);
    assert_eq!(kept.json()["token"], first.as_str());
    assert!(kept.took < Duration::from_secs(5), "{:?}", kept.took);
    // 2. It comes back, and so does the session.
    wait_until("the session goes on", || user.get().output().code == Some(0));
    user.watch_issued(&provider);
    assert!(provider.refreshes().iter().all(|status| *status == 200), "{:?}", provider.refreshes());
    user.canary.check(&user.home);
}

#[test]
fn without_a_refresh_token_the_session_ends_with_its_token_and_says_so() {
    let (provider, mut user) = (OpenIdProvider::start_with_ttl(LIFE), User::move_in());
    user.settings(&plain(&provider).replace("\"offline_access\", ", ""));

    // 1. An issuer that gives none, because nobody asked for one: the sign-in works, and its end is told.
    user.signs_in(&provider, "alice");
    assert!(provider.issued().iter().all(|issued| issued.refresh_token.is_empty()));
    let first = user.got("token");
    let session = user.sessions().remove(0);
    assert!(
        session["renews"].is_null() && session["how_it_ends"].as_str().is_some_and(|end| !end.is_empty()),
        "{session}"
    );
    // 2. When the token is over, so is the session.
    wait_for_remaining(&first, 0);
    let output = user.get().output();
    assert_eq!((output.code, output.stdout.as_str()), (Some(77), ""), "{}", output.stderr);
    assert!(output.stderr.contains("hint: credmint login me"), "{}", output.stderr);
    assert!(output.took < Duration::from_secs(1), "{:?}", output.took);
    assert_eq!(user.home.run("credmint").args(["needs-login", "me"]).output().code, Some(0));
    user.canary.check(&user.home);
}

#[test]
fn an_access_token_that_nobody_can_read_is_handed_out_and_renewed_like_any_other() {
    let (provider, mut user) = (OpenIdProvider::start_with_ttl(12), User::move_in());
    let lines = "resource = [\"https://opaque.corp.example\"]\ntoken = \"access\"\n";
    user.settings(&(person(&provider, lines) + AS_IT_IS + &token_host("\"me\"", "as-it-is")));
    user.signs_in(&provider, "alice");

    // 1. It has no claims and no end of its own: the issuer said how long it lives.
    let first = user.got("token");
    assert!(!first.contains('.') && provider.is_active(&first));
    assert!(user.sessions()[0]["until"].is_string(), "{:?}", user.sessions());
    let explained = user.credmint(&["explain", HOST]).stdout;
    assert!(explained.contains("chosen") && !explained.contains(&first), "{explained}");
    // 2. It is replaced before it is over, for the same resource.
    wait_until("it is renewed", || user.got("token") != first);
    assert!(provider.refreshes().iter().all(|status| *status == 200));
    let second = user.got("token");
    assert!(!second.contains('.') && provider.is_active(&second));
    user.watch_issued(&provider);
    user.canary.check(&user.home);
}

#[test]
fn certificates_are_minted_all_day_with_tokens_that_live_for_seconds() {
    let Some(terraform) = terraform() else { return };
    let (company, mut user) = (Company::found_with(OpenIdProvider::start_with_ttl(LIFE)), User::move_in());
    user.setup(company.registry.address());
    let issuer = company.issuer_with("common_name = \"{email}\"\nttl = \"30s\"\n");
    user.settings(&(person(&company.provider, "") + &issuer + &company.host("me", "")));

    // 1. Signed in and used once: one certificate, for half a minute.
    user.signs_in(&company.provider, "alice");
    terraform.init(&user.home, &user.work).success();
    assert!(company.pki.minted() >= 1);
    // 2. The token of the sign-in is over long before the day is, and so is that certificate. Nothing prompts.
    let first = company.provider.issued().remove(0).id_token;
    wait_for_remaining(&first, 0);
    terraform.run(&user.home, &user.work, &["init", "-input=false", "-upgrade"]).output().success();
    wait_until("the certificate is minted anew", || user.get().output().code == Some(0) && company.pki.minted() >= 2);
    let requests = company.registry.requests();
    assert!(requests.iter().all(|request| request.verify == "SUCCESS"), "{requests:?}");
    assert!(company.provider.refreshes().iter().all(|status| *status == 200), "{:?}", company.provider.refreshes());
    user.watch_issued(&company.provider);
    user.canary.check(&user.home);
}
