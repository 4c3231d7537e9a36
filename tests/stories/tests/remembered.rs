//! A sign-in that outlives the agent: `remember = "keyring"`, with a real gnome-keyring on a bus of its own, and the kernel's
//! keyring where there is no desktop.

use std::ffi::OsString;
use std::time::Duration;

use credmint_stories::{AS_IT_IS, Company, HOST, User, address, person, token_host, wait_until};
use credmint_test_kit::encoding::claims;
use credmint_test_kit::home::executable;
use credmint_test_kit::openid_provider::wait_for_remaining;
use credmint_test_kit::processes::{self, is_connected, signal};
use credmint_test_kit::{Browser, OpenIdProvider, SecretService};
use rustix::process::Signal;

const REMEMBER: &str = "remember = \"keyring\"";

fn desk() -> (OpenIdProvider, SecretService, User) {
    let (provider, service, mut user) = (OpenIdProvider::start(), SecretService::start(), User::move_in());
    user.home.set("DBUS_SESSION_BUS_ADDRESS", service.address());
    user.settings(&(person(&provider, REMEMBER) + AS_IT_IS + &token_host("\"me\"", "as-it-is")));
    (provider, service, user)
}

/// Ends the agent at once, as a crash or a restart of the machine does.
fn crash(user: &User) {
    let agent = user.home.agent().pid;
    signal(agent, Signal::KILL);
    assert!(processes::wait_for_end(agent, Duration::from_secs(5)));
}

#[test]
fn a_person_is_asked_about_the_sign_in_that_the_next_agent_goes_on_with() {
    let (provider, service, mut user) = desk();
    let host = token_host("\"me\"", "as-it-is").trim_end().to_owned() + "\nconfirm = true\n";
    user.settings(&(person(&provider, REMEMBER) + AS_IT_IS + &host));
    user.signs_in(&provider, "alice");
    crash(&user);
    let mut asked = user.get().terminal().typed().start();
    let who = "as `me` (alice@corp.example). Allow it?";
    asked.shows("whose it is", |text| text.contains(who).then_some(()));
    asked.type_line("y");
    assert_eq!(asked.output().code, Some(0));
    user.watch_issued(&provider);
    drop(service);
    user.canary.check(&user.home);
}

#[test]
fn the_next_agent_goes_on_without_a_person() {
    let (provider, service, mut user) = desk();

    // 1. Signed in: the store has the refresh token, and only in its own, sealed form.
    user.signs_in(&provider, "alice");
    let first = user.got("token");
    let session = user.sessions().remove(0);
    assert_eq!((&session["remembered"], &session["not_remembered"]), (&"the Secret Service".into(), &().into()));
    assert_eq!(service.items(), 1);
    let issued = provider.issued().remove(0);
    assert!(!service.has_in_the_open(&issued.refresh_token));
    // 2. The agent is gone; the next one renews once for six that ask at the same time, and nobody is asked anything.
    crash(&user);
    user.credmint(&["agent", "status"]);
    let gets: Vec<_> = (0..6).map(|_| user.get().start()).collect();
    let tokens: Vec<_> = gets.into_iter().map(|get| get.output().success().json()["token"].clone()).collect();
    user.watch_issued(&provider);
    let second = tokens[0].as_str().expect("a token").to_owned();
    assert!(tokens.iter().all(|token| *token == *second) && second != first, "one token for all");
    assert_eq!(claims(&second)["sub"], "alice");
    assert_eq!(provider.refreshes(), [200]);
    // 3. It is the same sign-in: who, and since when.
    let again = user.sessions().remove(0);
    assert_eq!((&again["since"], &again["subject"]), (&session["since"], &session["subject"]));
    assert_eq!(user.home.run("credmint").args(["needs-login", "me"]).output().code, Some(1));
    // 4. And so on, after an orderly end: what was rotated is what is kept.
    user.credmint(&["agent", "stop"]);
    assert_ne!(user.got("token"), second);
    user.watch_issued(&provider);
    assert_eq!((provider.refreshes(), service.items()), (vec![200, 200], 1));
    assert!(provider.issued().iter().all(|issued| !service.has_in_the_open(&issued.refresh_token)));
    user.canary.check(&user.home);
}

#[test]
fn logout_leaves_nothing_with_a_session_and_without_cargo_16955() {
    let (provider, service, mut user) = desk();

    // 1. With a session.
    user.signs_in(&provider, "alice");
    assert_eq!(service.items(), 1);
    user.credmint(&["logout", "me"]);
    assert_eq!(service.items(), 0);
    assert!(!provider.is_active(&provider.issued()[0].refresh_token));
    // 2. Without one: no agent runs, and what it left is revoked and deleted all the same.
    user.signs_in(&provider, "alice");
    crash(&user);
    let kept = provider.issued().pop().expect("issued").refresh_token;
    assert!(provider.is_active(&kept) && service.items() == 1);
    let output = user.credmint(&["logout", "--all"]);
    assert!(output.stdout.contains("revoked") && output.stdout.contains("deleted"), "{}", output.stdout);
    assert!(!provider.is_active(&kept) && service.items() == 0);
    // 3. Nobody is signed in, and once more is no error.
    let output = user.get().output();
    assert_eq!(output.code, Some(77), "{}", output.stderr);
    assert!(output.stderr.contains("hint: credmint login me"), "{}", output.stderr);
    user.credmint(&["logout", "me"]);
    user.canary.check(&user.home);
}

#[test]
fn a_locked_keyring_is_said_and_the_sign_in_goes_on_in_memory_docker_credential_helpers_82() {
    let (provider, mut service, mut user) = desk();
    service.lock();

    // 1. Signed in all the same, at once, with a warning that says what helps.
    let (page, output) = user.signs_in_by(&mut Browser::of("alice"));
    let output = output.success();
    assert_eq!(page.status, 200);
    assert!(output.stderr.contains("locked") && output.stderr.contains("unlock"), "{}", output.stderr);
    user.watch_issued(&provider);
    let session = user.sessions().remove(0);
    assert!(session["remembered"].is_null() && session["not_remembered"].to_string().contains("locked"), "{session}");
    let _token = user.got("token");
    // 2. A logout that does not know what the locked store has says so; here, and at the issuer, it is over.
    let output = user.home.run("credmint").args(["logout", "me"]).output();
    assert_eq!(output.code, Some(77), "{}", output.stderr);
    assert!(output.stderr.contains(NOT_DELETED) && output.stderr.contains(AGAIN), "{}", output.stderr);
    assert!(!provider.is_active(&provider.issued()[0].refresh_token));
    assert!(user.sessions().iter().all(|session| session["over"] == true));
    // 3. Unlocked, it is kept; and locked again, the next agent says what is in its way, within a second.
    service.log_in();
    user.signs_in(&provider, "alice");
    assert_eq!(service.items(), 1);
    service.lock();
    crash(&user);
    //    Nor can it be signed out of without a session: it is not over, and is not said to be.
    let output = user.home.run("credmint").args(["logout", "--all"]).output();
    assert_eq!(output.code, Some(77), "{}", output.stderr);
    assert!(output.stderr.contains(NOT_DELETED) && output.stderr.contains("logout --all"), "{}", output.stderr);
    let output = user.get().output();
    assert!(output.code != Some(0) && output.stderr.contains("locked"), "{}", output.stderr);
    assert!(output.took < Duration::from_secs(1), "{:?}", output.took);
    // 4. Who signs in now is told that the next agent would go on with the sign-in before.
    let (_, output) = user.signs_in_by(&mut Browser::of("bob"));
    let output = output.success();
    assert!(output.stderr.contains("the next agent would go on with"), "{}", output.stderr);
    user.watch_issued(&provider);
    crash(&user);
    // 5. Unlocked, it goes on by itself.
    service.log_in();
    wait_until("the session goes on", || user.get().output().code == Some(0));
    user.watch_issued(&provider);
    user.canary.check(&user.home);
}

const NOT_DELETED: &str =
    "me: what may be remembered is not deleted: the Secret Service is locked; unlock the login keyring";
const AGAIN: &str = "hint: then credmint logout me: until then the next agent would go on with it";

#[test]
fn a_keyring_that_hangs_costs_a_few_seconds_and_no_sign_in_gcx_964() {
    let (provider, service, mut user) = desk();
    service.signal(Signal::STOP);
    let (_, output) = user.signs_in_by(&mut Browser::of("alice"));
    let output = output.success();
    assert!(output.stderr.contains("did not answer in time"), "{}", output.stderr);
    user.watch_issued(&provider);
    let output = user.get().output();
    assert!(output.code == Some(0) && output.took < Duration::from_secs(1), "{:?} {}", output.took, output.stderr);
    user.canary.check(&user.home);
}

#[test]
fn what_the_issuer_has_ended_is_forgotten_and_says_login_within_a_second() {
    let (provider, service, mut user) = desk();
    user.signs_in(&provider, "alice");
    crash(&user);
    provider.revoke(&provider.issued()[0].refresh_token);
    let output = user.get().output();
    assert_eq!((output.code, output.stdout.as_str()), (Some(77), ""), "{}", output.stderr);
    assert!(output.stderr.contains("hint: credmint login me"), "{}", output.stderr);
    assert!(output.took < Duration::from_secs(1), "{:?}", output.took);
    assert_eq!(service.items(), 0);
    user.signs_in(&provider, "alice");
    let _token = user.got("token");
    user.watch_issued(&provider);
    user.canary.check(&user.home);
}

#[test]
fn a_rotated_refresh_token_outlives_a_crash_between_the_answer_and_its_use_coder_17069() {
    let (provider, service) = (OpenIdProvider::start_with_ttl(20), SecretService::start());
    let (company, mut user) = (Company::found_with(provider), User::move_in());
    user.home.set("DBUS_SESSION_BUS_ADDRESS", service.address());
    user.settings(&(person(&company.provider, REMEMBER) + &company.issuer() + &company.host("me", "")));
    user.signs_in(&company.provider, "alice");
    let first = company.provider.issued().remove(0);
    wait_for_remaining(&first.id_token, 0);

    // 1. OpenBao takes connections and answers none. The issuer's answer has rotated the refresh token; before it was of any
    //    use to anybody, the agent is gone.
    signal(company.bao.pid(), Signal::STOP);
    let get = user.get().start();
    let agent = user.home.agent().pid;
    wait_until("the new token is about to be used", || is_connected(agent, company.bao.port()));
    assert_eq!(company.provider.refreshes(), [200]);
    crash(&user);
    signal(company.bao.pid(), Signal::CONT);
    let _gone = get.output();
    // 2. The one before would end the whole family (RFC 9700 section 4.14): the next agent has the new one.
    user.watch_issued(&company.provider);
    let _token = user.got("token");
    assert_eq!(company.provider.refreshes(), [200, 200]);
    user.watch_issued(&company.provider);
    user.canary.check(&user.home);
}

#[test]
fn the_token_that_another_agent_has_renewed_is_found_before_the_session_is_given_up_coder_17069() {
    let (provider, service) = (OpenIdProvider::start_with_ttl(20), SecretService::start());
    let mut user = User::move_in();
    user.home.set("DBUS_SESSION_BUS_ADDRESS", service.address());
    let settings = person(&provider, REMEMBER) + AS_IT_IS + &token_host("\"me\"", "as-it-is");
    user.settings(&settings);
    user.signs_in(&provider, "alice");
    let first = user.got("token");

    // 1. Another agent of the same person, elsewhere on the same desktop, goes on with the sign-in and uses up its token.
    let mut elsewhere = User::move_in();
    elsewhere.home.set("DBUS_SESSION_BUS_ADDRESS", service.address());
    elsewhere.settings(&settings);
    assert_ne!(elsewhere.got("token"), first);
    user.watch_issued(&provider);
    // 2. The first agent, whose refresh token is used up, finds the newer one. This provider ends the family of a token that
    //    is used twice, so that it is over; one that only refuses it goes on. Nobody gets an answer that is not true.
    wait_for_remaining(&first, 0);
    let output = user.get().output();
    assert!(output.code == Some(77) && output.stderr.contains("credmint login me"), "{}", output.stderr);
    assert_eq!(service.items(), 0, "what is over is not kept");
    let refreshes = provider.refreshes();
    assert_eq!(refreshes[refreshes.len() - 2..], [400, 400], "the newer one was tried");
    user.watch_issued(&provider);
    user.canary.check(&user.home);
    elsewhere.canary.check(&elsewhere.home);
}

#[test]
fn other_settings_never_get_what_these_have_left() {
    let (provider, service, mut user) = desk();
    user.signs_in(&provider, "alice");
    crash(&user);
    let asked = provider.requests().len();
    let other = person(&provider, REMEMBER).replace(", \"email\"", "") + AS_IT_IS + &token_host("\"me\"", "as-it-is");
    user.settings(&other);
    assert_eq!(user.get().output().code, Some(77));
    user.settings(&other.replace(REMEMBER, ""));
    assert_eq!(user.get().output().code, Some(77));
    assert_eq!((provider.requests().len(), service.items()), (asked, 1));
    user.canary.check(&user.home);
}

#[test]
fn where_there_is_no_desktop_the_kernel_keyring_keeps_it() {
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
    user.settings(&(person(&provider, REMEMBER) + AS_IT_IS + &token_host("\"me\"", "as-it-is")));
    // A log-in with a session keyring of its own, as pam_keyinit gives it; each run is another one.
    let logged_in = |program: &str, words: &[&str]| {
        let own = ["session", "-"].map(OsString::from).into_iter().chain([executable(program).into()]);
        user.home.run("keyctl").args(own.chain(words.iter().map(OsString::from)))
    };

    // 1. Signed in, in one log-in.
    let mut login = logged_in("credmint", &["login", "me", "--no-browser"]).start();
    let url = address(&mut login);
    assert_eq!(Browser::of("alice").sign_in(&url).status, 200);
    login.output().success();
    let status = logged_in("credmint", &["status", "--json"]).output().success();
    assert!(status.stdout.contains("the kernel keyring"), "{}", status.stdout);
    // 2. The next agent, in the next log-in, goes on.
    crash(&user);
    let token = logged_in("terraform-credentials-credmint", &["get", HOST]).answer().output().success();
    assert!(token.stdout.contains("\"token\""), "{}", token.stderr);
    assert_eq!(provider.refreshes(), [200]);
    // 3. Signed out, nothing is left: a third one finds nobody.
    crash(&user);
    let output = logged_in("credmint", &["logout", "me"]).output().success();
    assert!(output.stdout.contains("deleted"), "{}", output.stdout);
    crash(&user);
    let output = logged_in("terraform-credentials-credmint", &["get", HOST]).answer().output();
    assert_eq!(output.code, Some(77), "{}", output.stderr);
    user.watch_issued(&provider);
    user.canary.check(&user.home);
}

#[test]
fn without_any_store_the_sign_in_works_and_says_that_it_is_not_kept_compose_cli_510() {
    let (provider, service, mut user) = (OpenIdProvider::start(), SecretService::bus_alone(), User::move_in());
    user.settings(&(person(&provider, REMEMBER) + AS_IT_IS + &token_host("\"me\"", "as-it-is")));
    for bus in [None, Some(service.address())] {
        bus.into_iter().for_each(|address| user.home.set("DBUS_SESSION_BUS_ADDRESS", address));
        let (_, output) = user.signs_in_by(&mut Browser::of("alice"));
        let output = output.success();
        assert!(output.stderr.contains("warning: ") && output.stderr.contains("no store"), "{}", output.stderr);
        user.watch_issued(&provider);
        let _token = user.got("token");
        user.credmint(&["logout", "me"]);
        user.credmint(&["agent", "stop"]);
        assert_eq!(user.get().output().code, Some(77));
        user.credmint(&["agent", "stop"]);
    }
    user.canary.check(&user.home);
}
