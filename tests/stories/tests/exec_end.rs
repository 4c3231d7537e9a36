//! The end of a run of `credmint exec --provider`: what was granted for it, and nobody else has, is revoked.
//! OpenBao and the OpenID Provider are real.
#![expect(clippy::expect_used, reason = "a story stops at what is not so")]

use std::time::{Duration, Instant};

use credmint_stories::{User, env_identity};
use credmint_test_kit::home::executable;
use credmint_test_kit::processes::{self, Signal};
use credmint_test_kit::run::Running;
use credmint_test_kit::{OpenBao, OpenIdProvider, Run};

/// A home with a provider whose issuer is a login at OpenBao.
struct Place {
    user: User,
    bao: OpenBao,
    _provider: OpenIdProvider,
}

impl Place {
    fn with(lines: &str) -> Self {
        let (provider, bao, mut user) = (OpenIdProvider::start(), OpenBao::start_tls(), User::move_in());
        bao.jwt_auth("jwt", provider.issuer());
        bao.jwt_role("jwt", "terraform", "vault", &["default"]);
        user.secret_variable("WORKLOAD_TOKEN", "subject token", &provider.token_for("alice", "vault", 3600));
        user.canary.allow_variable("VAULT_TOKEN");
        let issuer = format!(
            "[issuer.bao]\nkind = \"vault-token\"\naddress = \"{}\"\nca = \"{}\"\nauth = {{ method = \"jwt\", role = \"terraform\" }}\n\n",
            bao.address(),
            bao.ca_file().display()
        );
        let table = format!("[provider.prod]\nidentity = \"job\"\nissuer = \"bao\"\n{lines}\n");
        user.settings(&(env_identity("WORKLOAD_TOKEN") + &issuer + &table));
        Self { user, bao, _provider: provider }
    }

    fn exec(&self, line: &str) -> Run<'_> {
        self.user.home.run(executable("credmint")).args(["exec", "--provider", "prod", "--", "/bin/sh", "-c", line])
    }

    /// Starts a run that waits, and gives the token that its program has.
    fn waiting(&self) -> (Running<'_>, String) {
        let mut running = self.exec("echo \"has $VAULT_TOKEN.\"; read go").typed().answer().start();
        let token = running.shows("its token", |text| {
            text.lines().find_map(|line| line.trim().strip_prefix("has ")?.strip_suffix('.').map(str::to_owned))
        });
        (running, token)
    }

    /// Tells whether OpenBao takes a token.
    fn takes(&self, token: &str) -> bool {
        self.bao.with_token(token).call("GET", "auth/token/lookup-self", None).status == 200
    }
}

#[test]
fn what_a_run_was_given_ends_with_it() {
    let mut place = Place::with("");
    // 1. While it goes on the token works, and a second run has the same one.
    let (mut first, token) = place.waiting();
    assert!(place.takes(&token));
    let (mut second, same) = place.waiting();
    assert!(same == token && place.bao.logins().len() == 1);
    // 2. The first ends, and leaves it to the second.
    first.type_line("go");
    assert_eq!(first.output().code, Some(0));
    assert!(place.takes(&token));
    // 3. With the last one it is over, before `credmint exec` is.
    second.type_line("go");
    let ended = second.output();
    assert!(ended.code == Some(0) && ended.stderr.is_empty(), "{}", ended.stderr);
    assert!(!place.takes(&token) && place.bao.logins().is_empty());
    // 4. The next run has one of its own.
    place.exec("test -n \"$VAULT_TOKEN\"").output().success();
    assert!(place.bao.logins().is_empty());
    place.user.canary.watch("client token", &token);
    place.user.canary.check(&place.user.home);
}

#[test]
fn a_run_that_is_killed_leaves_nothing_that_works() {
    let mut place = Place::with("");
    let (running, token) = place.waiting();
    assert!(place.takes(&token));
    processes::signal(running.pid(), Signal::KILL);
    place.bao.wait_for("the token is revoked", |client| client.logins().is_empty());
    assert!(!place.takes(&token));
    drop(running);
    place.user.canary.watch("client token", &token);
    place.user.canary.check(&place.user.home);
}

#[test]
fn what_somebody_else_has_or_the_settings_keep_is_left_alone() {
    let place = Place::with("");
    // A program of the provider asked for it: it never says when it is done.
    place.user.home.run("credmint-kubernetes").arg("prod").answer().output().success();
    place.exec("test -n \"$VAULT_TOKEN\"").output().success();
    assert_eq!(place.bao.logins().len(), 1);
    let place = Place::with("after_run = \"keep\"");
    for _ in 0..2 {
        place.exec("test -n \"$VAULT_TOKEN\"").output().success();
    }
    assert_eq!(place.bao.logins().len(), 1, "kept for the next run");
}

#[test]
fn what_could_not_be_revoked_is_said_and_no_run_waits_for_long() {
    let mut place = Place::with("");
    let (mut running, token) = place.waiting();
    place.bao.freeze();
    let start = Instant::now();
    running.type_line("go");
    let ended = running.output();
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
    assert_eq!(ended.code, Some(0), "the program's own");
    assert!(ended.stderr.contains("what the run got for provider/prod could not be revoked: "), "{}", ended.stderr);
    assert!(ended.stderr.contains("it ends by itself at 20"), "{}", ended.stderr);
    place.bao.go_on();
    place.user.canary.watch("client token", &token);
    place.user.canary.check(&place.user.home);
}
