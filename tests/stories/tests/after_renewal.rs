//! `after_renewal`: a program of the user's is told what was renewed, and never a secret.
#![expect(clippy::disallowed_methods, reason = "a story reads what the user's program wrote")]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use credmint_stories::{AS_IT_IS, User, person, token_host, wait_until};
use credmint_test_kit::OpenIdProvider;

#[test]
fn a_program_is_told_of_a_renewal_with_a_clean_environment() {
    let (provider, mut user) = (OpenIdProvider::start_with_ttl(12), User::move_in());
    let told = user.home.write("told", "");
    let hook = user.home.write("hook", format!("#!/bin/sh\nenv >> {}\n", told.display()));
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o700)).expect("executable");
    let agent = format!("[agent]\nafter_renewal = [\"{}\"]\n\n", hook.display());
    user.settings(&(agent + &person(&provider, "") + AS_IT_IS + &token_host("\"me\"", "as-it-is")));

    // 1. A session whose token lives for seconds: it is renewed while nobody asks, or by who asks.
    user.signs_in(&provider, "alice");
    let read = || fs::read_to_string(&told).unwrap_or_default();
    wait_until("the hook is run", || {
        let _ = user.get().output();
        read().contains("CREDMINT_IDENTITY=me\n")
    });
    user.watch_issued(&provider);
    // 2. It knows what happened, and has nothing else but what programs cannot do without.
    let variables = read();
    assert!(variables.contains("CREDMINT_EVENT=renewed\n") && variables.contains("CREDMINT_EXPIRES=2"), "{variables}");
    let expected = [
        "PATH",
        "HOME",
        "CREDMINT_EVENT",
        "CREDMINT_IDENTITY",
        "CREDMINT_HOST",
        "CREDMINT_EXPIRES",
        "PWD",
        "_",
        "SHLVL",
        "OLDPWD",
    ];
    for line in variables.lines() {
        assert!(expected.iter().any(|name| line.starts_with(&format!("{name}="))), "{line}");
    }
    // 3. How it ended is known.
    let status = || user.credmint(&["status"]).stdout;
    wait_until("status knows", || status().contains("ended with success"));
    user.canary.check(&user.home);
}
