//! `terraform login` runs credmint's own sign-in: the refresh token stays in the agent, and Terraform gets nothing to keep.

use std::time::Duration;

use credmint_stories::{Company, HOST, User, person, terraform};
use credmint_test_kit::browser::{Page, link};
use credmint_test_kit::http::Request;
use credmint_test_kit::run::Running;
use credmint_test_kit::{Browser, Output, Terraform};

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
    let start = format!("http://127.0.0.1:{}/{HOST}/.login/authorize?", user.port);
    let url = login.shows("the address to open", |text| link(text, &start));
    (login, url)
}

/// Lets the page go on by itself, as a browser does after two seconds. What Terraform answers may be lost: it closes at once.
fn goes_on(page: &Page) {
    let address = header(&page.head, "refresh").and_then(|line| line.split_once("url=")).map(|(_, address)| address);
    assert!(address.is_some(), "the page stays: {}", page.body);
    drop(Request::new("GET", address.unwrap_or_default()).try_send());
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
    has_failed(&login.output(), &["declined", "credmint login me"]);
    assert!(user.sessions().is_empty());
    user.canary.check(&user.home);
}
