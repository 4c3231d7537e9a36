//! Whose session it is: another person at the same place, another identity when nobody is signed in, another agent.

use std::net::TcpListener;
use std::time::Duration;

use credmint_stories::{AS_IT_IS, Company, User, address, person, token_host, wait_until};
use credmint_test_kit::browser::parameter;
use credmint_test_kit::encoding::claims;
use credmint_test_kit::home::executable;
use credmint_test_kit::processes::{signal, wait_for_end};
use credmint_test_kit::random::free_port;
use credmint_test_kit::{Browser, OpenIdProvider, memory};
use rustix::process::Signal;

#[test]
fn the_next_person_gets_nothing_of_the_last_ones() {
    let (company, mut user) = (Company::found(), User::move_in());
    user.settings(&(person(&company.provider, "") + &company.issuer() + &company.host("me", "deliver = \"inline\"\n")));
    let subject = |user: &mut User, who: &str| {
        let answer = user.get().output().success().json();
        user.canary.watch_pem(&format!("key of {who}"), answer["client_private_key_pem"].as_str().unwrap_or_default());
        answer["client_certificate_pem"].clone()
    };

    // 1. Alice signs in, and has a certificate.
    user.signs_in(&company.provider, "alice");
    let hers = subject(&mut user, "alice");
    assert_eq!(subject(&mut user, "alice again"), hers, "the entry is fresh");
    // 2. Bob signs in at the same place: hers is not handed out any more, and her login at OpenBao ends.
    user.signs_in(&company.provider, "bob");
    assert_ne!(subject(&mut user, "bob"), hers);
    assert_eq!(company.pki.minted(), 2);
    company.bao.wait_for("alice's login ends", |client| client.logins().len() == 1);
    let sessions = user.sessions();
    assert_eq!(sessions.len(), 1, "{sessions:?}");
    assert!(sessions[0]["subject"].as_str().is_some_and(|subject| subject.contains("bob")), "{sessions:?}");
    // 3. What hers was made of is wiped. The issuer is not told: it may end more with it than this session.
    let agent = user.home.agent().pid;
    if memory::is_readable(agent) {
        user.canary.memory_lacks(agent, "refresh token 0");
        user.canary.memory_lacks(agent, "ID token 0");
        user.canary.memory_lacks(agent, "key of alice");
    }
    user.canary.check(&user.home);
}

#[test]
fn a_job_answers_where_nobody_is_signed_in() {
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
    let job = "[identity.job]\nkind = \"env\"\nvariable = \"JOB_TOKEN\"\n\n";
    user.settings(&(person(&provider, "") + job + AS_IT_IS + &token_host("[\"me\", \"job\"]", "as-it-is")));

    // 1. Neither: the failure names both.
    let nobody = user.get().output();
    assert_eq!(nobody.code, Some(77), "{}", nobody.stderr);
    assert!(nobody.stderr.contains("me: ") && nobody.stderr.contains("job: "), "{}", nobody.stderr);
    assert!(nobody.stderr.contains("credmint login me"), "{}", nobody.stderr);
    // 2. The job where there is one; the person, who comes first, once they have signed in.
    user.secret_variable("JOB_TOKEN", "job token", &provider.token_for("job", "registry", 300));
    assert_eq!(claims(&user.got("token"))["sub"], "job");
    user.signs_in(&provider, "alice");
    assert_eq!(claims(&user.got("token"))["sub"], "alice");
    user.canary.check(&user.home);
}

#[test]
fn a_session_lives_in_one_agents_memory_alone() {
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
    user.settings(&(person(&provider, "") + AS_IT_IS + &token_host("\"me\"", "as-it-is")));

    // 1. The agent is killed, and so is the session: nothing of it was on the disk.
    user.signs_in(&provider, "alice");
    assert_eq!(claims(&user.got("token"))["sub"], "alice");
    user.canary.check(&user.home);
    let agent = user.home.agent().pid;
    signal(agent, Signal::KILL);
    assert!(wait_for_end(agent, std::time::Duration::from_secs(5)));
    let output = user.get().output();
    assert_eq!(output.code, Some(77), "{}", output.stderr);
    assert!(output.stderr.contains("hint: credmint login me"), "{}", output.stderr);
    // 2. Told to end it ends, with a session, too; and the next one knows nothing of it.
    user.signs_in(&provider, "alice");
    let stopped = user.credmint(&["agent", "stop"]).stdout;
    assert!(stopped.contains("not revoked: who was signed in as me; `credmint logout` revokes"), "{stopped}");
    assert!(provider.revocations().is_empty());
    assert_eq!(user.get().output().code, Some(77));
    user.canary.check(&user.home);
}

#[test]
fn an_issuer_that_wants_fixed_ports_gets_the_first_that_is_free_kubelogin_354_vault_15421() {
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
    let (taken, free) = (free_port(), free_port());
    let _somebody = TcpListener::bind(("127.0.0.1", taken));
    let lines = format!(
        "redirect_ports = [{taken}, {free}]\nredirect_host = \"localhost\"\nredirect_path = \"/sign-in/done\"\n"
    );
    user.settings(&(person(&provider, &lines) + AS_IT_IS + &token_host("\"me\"", "as-it-is")));
    let mut login = user.login(&["--no-browser"]);
    let url = address(&mut login);
    assert!(
        url.starts_with(&format!("http://localhost:{free}/begin/")),
        "the cookie is the host's that comes back: {url}"
    );
    let mut browser = Browser::of("alice");
    let url = browser.led_on(&url);
    assert_eq!(parameter(&url, "redirect_uri"), Some(format!("http://localhost:{free}/sign-in/done")));
    assert_eq!(browser.sign_in(&url).status, 200);
    login.output().success();
    user.watch_issued(&provider);
    // With every port taken, that is said.
    let mut another = None;
    wait_until("the sign-in gives the port back", || {
        another = TcpListener::bind(("127.0.0.1", free)).ok();
        another.is_some()
    });
    let output = user.login(&["--no-browser"]).output();
    assert!(output.code != Some(0) && output.stderr.contains(&taken.to_string()), "{}", output.stderr);
    assert!(
        output.stderr.contains("hint: credmint login me --device, or credmint login me --paste; "),
        "{}",
        output.stderr
    );
    // Unless any other would do.
    user.settings(&(person(&provider, &lines.replace(']', ", 0]")) + AS_IT_IS + &token_host("\"me\"", "as-it-is")));
    assert!(user.signs_in(&provider, "alice").url.contains("/sign-in/done"));
    user.canary.check(&user.home);
}

#[test]
fn an_agent_for_one_question_holds_no_session_and_says_so() {
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
    user.settings(&(person(&provider, "") + AS_IT_IS + &token_host("\"me\"", "as-it-is")));
    user.home.set("CREDMINT_AGENT", "once");
    let get = user.get().output();
    assert_eq!(get.code, Some(77), "{}", get.stderr);
    assert!(get.stderr.contains("hint: "), "{}", get.stderr);
    let login = user.login(&["--no-browser"]).output();
    assert!(login.code != Some(0) && login.stderr.contains("CREDMINT_AGENT=once"), "{}", login.stderr);
    wait_until("no agent is left", || user.home.agents().is_empty());
    user.canary.check(&user.home);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test plays the package that updates the agent's executable")]
fn an_updated_agent_takes_the_old_ones_place_once_nobody_is_signed_in() {
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
    let copy = |name: &str| {
        let file = user.home.write(name, std::fs::read(executable("credmint-agent")).expect("the agent's executable"));
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o700)).expect("a program");
        file
    };
    let (program, update) = (copy("credmint-agent"), copy("update"));
    user.home.set("CREDMINT_AGENT_PROGRAM", &program);
    user.settings(&(person(&provider, "") + AS_IT_IS + &token_host("\"me\"", "as-it-is")));
    user.signs_in(&provider, "alice");
    let old = user.home.agent().pid;
    assert!(!user.credmint(&["status"]).stdout.contains("another build"));
    // 1. The update: the agent that holds the sign-in goes on, and says what to do.
    std::fs::rename(&update, &program).expect("the update");
    assert!(user.credmint(&["status"]).stdout.contains("another build"));
    assert_eq!(claims(&user.got("token"))["sub"], "alice");
    // 2. When nobody is signed in any more it ends by itself, and the next question starts the new one.
    user.credmint(&["logout", "me"]);
    assert!(wait_for_end(old, Duration::from_secs(20)), "it ends by itself");
    assert_eq!(user.get().output().code, Some(77));
    assert!(!user.credmint(&["status"]).stdout.contains("another build"));
    user.canary.check(&user.home);
}
