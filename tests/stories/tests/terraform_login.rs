//! `terraform login` runs credmint's own sign-in: the refresh token stays in the agent, and Terraform gets nothing to keep.

use std::time::Duration;

use credmint_stories::{Company, HOST, User, person, terraform, wait_until};
use credmint_test_kit::browser::{Page, link};
use credmint_test_kit::http::Request;
use credmint_test_kit::processes::signal;
use credmint_test_kit::run::Running;
use credmint_test_kit::{Browser, Output, Terraform};
use rustix::process::Signal;

/// Somebody whose host is set up for `terraform login`, from an empty home.
fn set_up(company: &Company, lines: &str) -> User {
    let user = User::move_in();
    user.settings(&(person(&company.provider, lines) + &company.issuer() + &company.host("me", "")));
    user.setup(company.registry.address());
    user
}

/// Begins `terraform login`, says yes, and gives the address that it shows.
fn login<'home>(terraform: &Terraform, user: &'home User) -> (Running<'home>, String) {
    let run = terraform.run(&user.home, &user.work, &["login", "-no-color", HOST]).typed();
    let mut login = run.deadline(Duration::from_secs(60)).start();
    login.type_line("yes");
    // Terraform indents it; an opener that finds no browser shows it in quotation marks.
    let start = format!("    http://127.0.0.1:{}/{HOST}/.login/authorize?", user.port);
    let shown = |text: &str| link(text.split_once(&start)?.1, "").map(|rest| start.clone() + &rest);
    let url = login.shows("the address to open", shown);
    (login, url.trim_start().to_owned())
}

/// Lets the page go on by itself, as a browser does after two seconds. What Terraform answers may be lost: it closes at once.
fn goes_on(page: &Page) {
    let address = header(&page.head, "refresh").and_then(|line| line.split_once("url=")).map(|(_, address)| address);
    assert!(address.is_some(), "the page stays: {}", page.body);
    let send = || Request::new("GET", address.unwrap_or_default()).try_send();
    let answer = send().or_else(|_| send());
    assert!(answer.as_ref().map_or(true, |answer| answer.status == 200), "{:?}", answer.map(|answer| answer.body));
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut fields = head.lines().filter_map(|line| line.split_once(": "));
    fields.find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

/// Goes where the address leads, signs in at the issuer, and goes back to Terraform.
fn approve(browser: &mut Browser, url: &str) -> Page {
    let onward = Request::new("GET", url).send();
    assert_eq!(onward.status, 303, "{}", onward.body);
    let issuer = header(&onward.head, "location").unwrap_or_default();
    assert!(issuer.contains("/begin/"), "{issuer}");
    let page = browser.sign_in(issuer);
    goes_on(&page);
    page
}

fn has_failed(output: &Output, words: &[&str]) {
    assert_eq!(output.code, Some(1), "{}{}", output.stdout, output.stderr);
    let text = one_line(&output.stderr);
    for word in words {
        assert!(text.contains(word), "{word} in {text}");
    }
}

/// Undoes what Terraform does to long lines.
fn one_line(text: &str) -> String {
    let words = text.split_whitespace().filter(|word| !["│", "╷", "╵"].contains(word));
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn terraform_login_signs_a_person_in_and_terraform_keeps_nothing() {
    let Some(terraform) = terraform() else { return };
    let company = Company::found();
    let mut user = set_up(&company, "");

    // 1. Terraform shows an address of the bridge; it leads to the issuer, and back.
    let (login, url) = login(&terraform, &user);
    let page = approve(&mut Browser::of("alice"), &url);
    assert!(page.body.contains("alice") && page.body.contains("goes on to Terraform"), "{}", page.body);
    let output = login.output();
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    user.watch_issued(&company.provider);
    // 2. The session is the agent's; Terraform wrote nothing.
    assert!(user.sessions()[0]["subject"].as_str().is_some_and(|subject| subject.contains("alice")));
    assert!(!user.home.path().join(".terraform.d/credentials.tfrc.json").exists());
    // 3. It serves.
    terraform.init(&user.home, &user.work).success();
    assert_eq!(company.pki.minted(), 1);
    // 4. `terraform logout` ends it, here and at the issuer.
    let logout = terraform.run(&user.home, &user.work, &["logout", "-no-color", HOST]).output();
    assert_eq!(logout.code, Some(0), "{}{}", logout.stdout, logout.stderr);
    assert!(user.sessions().is_empty());
    assert_eq!(user.get().output().code, Some(77));
    user.canary.check(&user.home);
}

#[test]
fn who_refuses_is_told_so_by_terraform() {
    let Some(terraform) = terraform() else { return };
    let company = Company::found();
    let user = set_up(&company, "");
    let (login, url) = login(&terraform, &user);
    approve(&mut Browser::of("alice").refusing(), &url);
    has_failed(&login.output(), &["did not assign an auth token", "declined", "hint: credmint login me"]);
    assert!(user.sessions().is_empty());
    user.canary.check(&user.home);
}

#[test]
fn who_is_signed_in_already_is_shown_and_terraform_goes_on_at_once() {
    let Some(terraform) = terraform() else { return };
    let company = Company::found();
    let mut user = set_up(&company, "");
    user.signs_in(&company.provider, "alice");
    let (login, url) = login(&terraform, &user);
    let page = Browser::of("somebody").opens(&url);
    assert!(page.status == 200 && page.body.contains("alice"), "{} {}", page.status, page.body);
    goes_on(&page);
    let output = login.output();
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    assert_eq!((company.provider.issued().len(), user.sessions().len()), (1, 1));
    user.canary.check(&user.home);
}

#[test]
fn an_agent_that_has_ended_is_started_by_whatever_terraform_ran_before() {
    let Some(terraform) = terraform() else { return };
    let company = Company::found();
    let user = set_up(&company, "");
    let bridge = format!("http://127.0.0.1:{}/", user.port);
    let is_there = || Request::new("GET", &bridge).try_send().is_ok();
    assert!(is_there(), "setup has started it");

    // 1. Terraform asks no helper before it opens the browser: with no agent, nobody listens.
    user.credmint(&["agent", "stop"]);
    wait_until("the port is given back", || !is_there());
    // 2. An `init` that fails for want of a sign-in starts it, and says what to do; so does a command of ours.
    assert_ne!(terraform.init(&user.home, &user.work).code, Some(0));
    assert!(is_there());
    user.credmint(&["agent", "stop"]);
    wait_until("the port is given back", || !is_there());
    let started = user.credmint(&["agent", "start", HOST]);
    assert!(started.stdout.contains(HOST), "{}", started.stdout);
    // 3. Then `terraform login` works.
    let (login, url) = login(&terraform, &user);
    approve(&mut Browser::of("alice"), &url);
    login.output().success();
    user.canary.check(&user.home);
}

#[test]
fn a_port_that_somebody_else_holds_is_said_by_setup() {
    let (company, user) = (Company::found(), User::move_in());
    user.settings(&(person(&company.provider, "") + &company.issuer() + &company.host("me", "")));
    let held = std::net::TcpListener::bind(("127.0.0.1", user.port));
    assert!(held.is_ok());
    let output = user.credmint(&["setup", HOST, "--upstream", company.registry.address(), "--yes"]);
    assert!(output.stdout.contains("terraform login cannot work yet"), "{}", output.stdout);
    assert!(output.stdout.contains(&format!("127.0.0.1:{}", user.port)), "{}", output.stdout);
    let output = user.home.run("credmint").args(["agent", "start", HOST]).output();
    assert!(output.code == Some(78) && output.stderr.contains("hint: "), "{}", output.stderr);
}

#[test]
fn a_sign_out_that_the_issuer_did_not_hear_of_is_a_failure_of_terraform_logout() {
    let Some(terraform) = terraform() else { return };
    let company = Company::found();
    let mut user = set_up(&company, "");
    user.signs_in(&company.provider, "alice");
    signal(company.provider.pid(), Signal::STOP);
    let logout = terraform.run(&user.home, &user.work, &["logout", "-no-color", HOST]).output();
    signal(company.provider.pid(), Signal::CONT);
    has_failed(&logout, &["signed out here, but not at the issuer"]);
    // It is over here all the same; and forgetting nothing succeeds.
    assert!(user.sessions().is_empty());
    let logout = terraform.run(&user.home, &user.work, &["logout", "-no-color", HOST]).output();
    assert_eq!(logout.code, Some(0), "{}{}", logout.stdout, logout.stderr);
    user.canary.check(&user.home);
}

#[test]
fn setup_shows_it_repeats_nothing_leaves_it_out_and_takes_it_back() {
    let (company, user) = (Company::found(), User::move_in());
    user.settings(&(person(&company.provider, "") + &company.issuer() + &company.host("me", "")));
    let before = "disable_checkpoint = true\n";
    user.home.write(".terraformrc", before);
    let setup = |words: &[&str]| {
        let words = ["setup", HOST, "--yes"].iter().chain(words).copied().collect::<Vec<_>>();
        user.credmint(&words).stdout
    };
    let shown = setup(&[]);
    let line = format!("http://127.0.0.1:{}/{HOST}/.login/authorize", user.port);
    assert!(shown.contains("login.v1") && shown.contains(&line), "{shown}");
    assert!(shown.contains(&format!("Next: terraform login {HOST}")), "{shown}");
    assert!(setup(&[]).contains("Nothing to change."));
    let without = setup(&["--no-login"]);
    assert!(without.contains("credmint login me") && !user.home.read(".terraformrc").contains("login.v1"), "{without}");
    let explained = user.credmint(&["explain", HOST]).stdout;
    assert!(!explained.contains("credmint setup"), "leaving it out is no mistake: {explained}");
    setup(&[]);
    setup(&["--remove"]);
    assert_eq!(user.home.read(".terraformrc"), before);
}
