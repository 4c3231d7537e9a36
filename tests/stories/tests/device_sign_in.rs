//! A person signs in on a machine without a browser, and approves on another device (RFC 8628).

use credmint_stories::{AS_IT_IS, User, person, token_host};
use credmint_test_kit::browser::link;
use credmint_test_kit::encoding::claims;
use credmint_test_kit::run::Running;
use credmint_test_kit::{Browser, OpenIdProvider};

/// Waits for the code; the provider's are two groups of four letters.
#[track_caller]
fn user_code(login: &mut Running<'_>) -> String {
    let is_code = |word: &&str| {
        let groups: Vec<_> = word.split('-').collect();
        groups.len() == 2
            && groups.iter().all(|group| group.len() == 4 && group.bytes().all(|b| b.is_ascii_uppercase()))
    };
    login.shows("the code", |text| text.split_whitespace().find(is_code).map(ToOwned::to_owned))
}

#[test]
fn a_second_device_approves_and_the_first_is_signed_in() {
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
    user.settings(&(person(&provider, "") + AS_IT_IS + &token_host("\"me\"", "as-it-is")));

    // 1. The code, where to type it, and the warning that it must be one's own.
    let mut login = user.login(&["--device"]);
    let code = user_code(&mut login);
    let start = format!("{}/device", provider.issuer());
    let page = login.shows("where to approve", |text| link(text, &start));
    login.shows("the warning", |text| text.to_lowercase().contains("nobody").then_some(()));
    // 2. Another browser approves it; nothing listens on this machine.
    let approved = Browser::of("alice").approve(&page, &code);
    assert!(approved.body.contains("Sign-in Success"), "{}", approved.body);
    let output = login.output();
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    user.watch_issued(&provider);
    assert_eq!(claims(&user.got("token"))["sub"], "alice");
    // 3. While it was pending the issuer was asked no faster than it wants: five seconds apart if it does not say.
    let asked = provider.requests();
    let waited = output.took.as_secs() / 5 + 1;
    assert!(asked.len() as u64 <= waited, "{} requests in {:?}", asked.len(), output.took);
    user.canary.check(&user.home);
}

#[test]
fn a_machine_without_a_display_takes_this_way_by_itself() {
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
    user.settings(&(person(&provider, "") + AS_IT_IS + &token_host("\"me\"", "as-it-is")));
    user.home.set("SSH_CONNECTION", "192.0.2.1 50000 192.0.2.2 22");

    // 1. No word, no browser: a code. A person on the other side says no.
    let mut login = user.login(&[]);
    let code = user_code(&mut login);
    let page = login.shows("where to approve", |text| link(text, &format!("{}/device", provider.issuer())));
    Browser::of("mallory").refusing().approve(&page, &code);
    // 2. That is said, and there is no session.
    let output = login.output();
    assert_eq!(output.code, Some(77), "{}{}", output.stdout, output.stderr);
    assert!(output.stderr.contains("declined") && output.stderr.contains("hint: "), "{}", output.stderr);
    assert!(user.sessions().is_empty());
    user.canary.check(&user.home);
}

#[test]
fn an_issuer_without_device_authorization_is_told() {
    let provider = OpenIdProvider::start_with(300, &[("REFUSES", "device")]);
    let user = User::move_in();
    user.settings(&(person(&provider, "") + AS_IT_IS + &token_host("\"me\"", "as-it-is")));
    let output = user.login(&["--device"]).output();
    assert!(output.code != Some(0) && output.stderr.contains("device"), "{}", output.stderr);
    assert!(output.stderr.contains("hint: credmint login me"), "{}", output.stderr);
    user.canary.check(&user.home);
}
