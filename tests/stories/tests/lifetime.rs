//! `credmint login --lifetime`: a session ends when the person said, at the issuer too, with all that was made of it.

use credmint_stories::{AS_IT_IS, User, address, person, token_host, wait_until};
use credmint_test_kit::{Browser, OpenIdProvider, memory};

#[test]
fn a_session_ends_when_the_person_said_here_and_at_the_issuer() {
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
    user.settings(&(person(&provider, "lifetime = \"8h\"\n") + AS_IT_IS + &token_host("\"me\"", "as-it-is")));

    // 1. Signed in for six seconds: what works says when it ends.
    let mut login = user.login(&["--no-browser", "--lifetime", "6s"]);
    let url = address(&mut login);
    assert_eq!(Browser::of("alice").sign_in(&url).status, 200);
    let said = login.output().success().stdout;
    assert!(said.contains("as chosen"), "{said}");
    user.watch_issued(&provider);
    let _ = user.got("token");
    let refresh = provider.issued().remove(0).refresh_token;
    assert!(provider.is_active(&refresh));
    // 2. Then it is over, and nobody has to come by for that: revoked, wiped, and said so.
    wait_until("the issuer knows it no more", || !provider.is_active(&refresh));
    let output = user.get().output();
    assert_eq!((output.code, output.stdout.as_str()), (Some(77), ""), "{}", output.stderr);
    assert!(
        output.stderr.contains("has ended") && output.stderr.contains("hint: credmint login me"),
        "{}",
        output.stderr
    );
    let agent = user.home.agent().pid;
    wait_until("it is said to be over", || user.sessions().first().is_some_and(|session| session["over"] == true));
    if memory::is_readable(agent) {
        for name in ["refresh token 0", "ID token 0", "access token 0"] {
            user.canary.memory_lacks(agent, name);
        }
    }
    user.canary.check(&user.home);
}

#[test]
fn the_settings_have_the_last_word_on_the_lifetime() {
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
    user.settings(&(person(&provider, "lifetime = \"5s\"\n") + AS_IT_IS + &token_host("\"me\"", "as-it-is")));
    user.signs_in(&provider, "alice");
    let refresh = provider.issued().remove(0).refresh_token;
    wait_until("the issuer knows it no more", || !provider.is_active(&refresh));
    let wrong = user.login(&["--lifetime", "8"]).output();
    assert!(wrong.code == Some(64) && wrong.stderr.contains("8h, 30m or 1h30m"), "{}", wrong.stderr);
    user.canary.check(&user.home);
}
