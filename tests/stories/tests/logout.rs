//! The end of a session by `credmint logout`: at the issuer, at OpenBao, in the agent.

use credmint_stories::{AS_IT_IS, Company, User, person, token_host};
use credmint_test_kit::{OpenIdProvider, memory};

#[test]
fn logout_ends_the_session_at_the_issuer_at_openbao_and_in_memory() {
    let (company, mut user) = (Company::found(), User::move_in());
    user.setup(company.registry.address());
    user.settings(&(person(&company.provider, "") + &company.issuer() + &company.host("me", "")));

    // 1. A session in use: tokens, a login at OpenBao, a certificate. They are in the agent's memory, where they belong.
    user.signs_in(&company.provider, "alice");
    let session = user.got("token");
    user.canary.watch("session token of the bridge", session);
    let issued = company.provider.issued().remove(0);
    assert!(company.provider.is_active(&issued.refresh_token) && company.bao.logins().len() == 1);
    user.canary.check(&user.home);
    let agent = user.home.agent().pid;
    let is_readable = memory::is_readable(agent);
    assert!(!is_readable || memory::holds(agent, issued.refresh_token.as_bytes()));
    // 2. Logged out, the issuer knows the refresh token no more; who has a copy of it gets nothing.
    user.credmint(&["logout", "me"]);
    assert!(!company.provider.is_active(&issued.refresh_token));
    assert_eq!(company.provider.refresh(&issued.refresh_token).json()["error"], "invalid_grant");
    let revoked = company.provider.revocations().remove(0);
    assert_eq!((&revoked["token_type_hint"], &revoked["status"]), (&"refresh_token".into(), &200.into()));
    // 3. The login at OpenBao is given back.
    company.bao.wait_for("the login ends with the session", |client| client.logins().is_empty());
    // 4. Nothing is left in memory, and nobody is signed in.
    if is_readable {
        for name in ["refresh token 0", "ID token 0", "access token 0"] {
            user.canary.memory_lacks(agent, name);
        }
    }
    assert!(user.sessions().is_empty());
    let output = user.get().output();
    assert_eq!((output.code, output.stdout.as_str()), (Some(77), ""), "{}", output.stderr);
    assert!(output.stderr.contains("hint: credmint login me"), "{}", output.stderr);
    // 5. Once more is no error.
    user.credmint(&["logout", "me"]);
    user.canary.check(&user.home);
}

#[test]
fn logout_says_what_could_not_be_revoked() {
    let provider = OpenIdProvider::start_with(300, &[("REFUSES", "revocation")]);
    let mut user = User::move_in();
    user.settings(&(person(&provider, "") + AS_IT_IS + &token_host("\"me\"", "as-it-is")));

    // 1. An issuer without an endpoint for it (RFC 7009).
    user.signs_in(&provider, "alice");
    let output = user.home.run("credmint").args(["logout", "--all"]).output();
    let said = format!("{}{}", output.stdout, output.stderr);
    assert!(said.contains("revoke") && said.contains("me"), "{said}");
    // 2. Here it is over all the same.
    assert!(user.sessions().is_empty());
    assert_eq!(user.get().output().code, Some(77));
    user.canary.check(&user.home);
}

#[test]
fn logout_ends_the_session_here_though_the_issuer_is_away() {
    let (mut provider, mut user) = (OpenIdProvider::start(), User::move_in());
    user.settings(&(person(&provider, "") + AS_IT_IS + &token_host("\"me\"", "as-it-is")));
    user.signs_in(&provider, "alice");
    provider.stop();
    let output = user.home.run("credmint").args(["logout", "me"]).output();
    assert_ne!(output.code, Some(0), "what could not be revoked is no success");
    assert!(output.stderr.contains("hint: ") || output.stdout.contains("revoke"), "{}{}", output.stdout, output.stderr);
    assert!(user.sessions().is_empty());
    let agent = user.home.agent().pid;
    if memory::is_readable(agent) {
        user.canary.memory_lacks(agent, "refresh token 0");
    }
    user.canary.check(&user.home);
}
