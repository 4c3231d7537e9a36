//! A host that nobody configured: `{}` at once, without an agent, a socket, or a word to anybody.

use credmint_stories::{HOST, User, file_identity, terraform, token_host};
use credmint_test_kit::{Gate, Links, Registry};

const FOREIGN: &str = "registry.terraform.io";

fn leaves_no_trace(user: &User, arguments: &[&str], program: &str) {
    let output = user.home.run(program).args(arguments).output().success();
    let expected = if arguments.contains(&"get") { "{}\n" } else { "" };
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), (expected, ""), "{program} {arguments:?}");
    assert!(!output.pipe_held);
    assert!(user.home.agents().is_empty() && user.home.sockets().is_empty(), "{program} {arguments:?}");
    // Nothing ran below the helper either: whatever it may have asked, it asked nobody.
    assert!(user.home.seen().iter().all(|process| !process.name.starts_with("credmint")));
}

#[test]
fn nobody_is_started_for_a_host_that_no_settings_name() {
    // 1. No settings at all.
    let user = User::without_settings();
    leaves_no_trace(&user, &["get", FOREIGN], "terraform-credentials-credmint");
    leaves_no_trace(&user, &["forget", FOREIGN], "terraform-credentials-credmint");
    // 2. Settings that name another host.
    let identity = file_identity(&user.home.path().join("token"));
    user.settings(&(identity + "[issuer.x]\nkind = \"oidc\"\n\n" + &token_host("\"job\"", "x")));
    leaves_no_trace(&user, &["get", FOREIGN], "terraform-credentials-credmint");
    leaves_no_trace(&user, &["get", &format!("{HOST}:8443")], "terraform-credentials-credmint");
    // 3. A child for each request, as the environment may say: there is no request.
    let mut user = user;
    user.home.set("CREDMINT_AGENT", "once");
    leaves_no_trace(&user, &["get", FOREIGN], "terraform-credentials-credmint");
    // 4. Helpers with arguments answer by them.
    let host = format!("--host={HOST}");
    for program in ["terraform-credentials-vault-pki", "terraform-credentials-oidc"] {
        leaves_no_trace(&user, &[&host, "--identity-env=WORKLOAD_TOKEN", "get", FOREIGN], program);
    }
    user.canary.check(&user.home);
}

#[test]
fn init_from_a_host_that_no_settings_name_is_anonymous_and_starts_nobody() {
    let Some(terraform) = terraform() else { return };
    let mut user = User::without_settings();
    let registry = Registry::behind(Gate::Open).links(Links::Address).start();

    user.use_helper("credmint", &[], &registry);
    terraform.init(&user.home, &user.work).success();
    assert!(registry.requests().iter().all(|request| request.authorization.is_empty()));
    assert!(user.home.agents().is_empty() && user.home.sockets().is_empty());
    user.canary.check(&user.home);
}
