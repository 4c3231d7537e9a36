//! `CREDMINT_AGENT=once`: each request by a child of its own; no process stays, no socket is made, nothing is kept.

use credmint_stories::{Company, HOST, User, env_identity, file_identity, terraform, token_host, wait_until};
use credmint_test_kit::home::files_below;
use credmint_test_kit::{Gate, Links, OpenIdProvider, Registry};

fn user_without_agent() -> User {
    let mut user = User::without_settings();
    user.home.set("CREDMINT_AGENT", "once");
    user
}

/// The child hands its answer over first, then revokes its login, then ends.
fn nothing_is_left(user: &User) {
    wait_until("no process is left", || user.home.processes().is_empty());
    let files = files_below(&user.home.runtime_directory());
    assert!(files.is_empty(), "{files:?}");
}

#[test]
fn tokens_are_passed_on_and_exchanged_by_a_child_for_each_request() {
    let Some(terraform) = terraform() else { return };
    let (provider, mut user) = (OpenIdProvider::start(), user_without_agent());

    // 1. Passed on, by the settings.
    let token = provider.token_for("alice", HOST, 300);
    user.secret_variable("WORKLOAD_TOKEN", "subject token", &token);
    let registry = Registry::behind(Gate::Bearer(token)).links(Links::Address).start();
    user.use_helper("credmint", &[], &registry);
    let identity = env_identity("WORKLOAD_TOKEN");
    user.settings(&(identity.clone() + "[issuer.x]\nkind = \"oidc\"\n\n" + &token_host("\"job\"", "x")));
    terraform.init(&user.home, &user.work).success();
    nothing_is_left(&user);
    // 2. Exchanged, by the settings: each request is an exchange of its own.
    let issuer =
        format!("[issuer.x]\nkind = \"token-exchange\"\nissuer = \"{}\"\nclient_id = \"cli\"\n", provider.issuer());
    user.settings(&(identity + &issuer + "audience = \"registry\"\n\n" + &token_host("\"job\"", "x")));
    let tokens = [user.got("token"), user.got("token")].map(|token| user.canary.watch("exchanged token", token));
    assert!(tokens[0] != tokens[1] && provider.requests().len() == 2);
    nothing_is_left(&user);
    // 3. The same by arguments, through terraform.
    let exchange = [
        format!("--host={HOST}"),
        "--identity-env=WORKLOAD_TOKEN".into(),
        format!("--issuer={}", provider.issuer()),
        "--client-id=cli".into(),
        "--exchange-audience=registry".into(),
    ];
    let registry = Registry::behind(Gate::AnyBearer).links(Links::Address).start();
    user.use_helper("oidc", &exchange.each_ref().map(String::as_str), &registry);
    terraform.init(&user.home, &user.work).success();
    assert_eq!(provider.requests().len(), 3);
    nothing_is_left(&user);
    user.canary.check(&user.home);
}

#[test]
fn an_identity_is_minted_inline_and_the_login_behind_it_is_revoked() {
    let Some(terraform) = terraform() else { return };
    let (company, mut user) = (Company::found(), user_without_agent());
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    let registry = Registry::behind(Gate::Open).links(Links::Address).start();
    user.use_helper("credmint", &[], &registry);

    // 1. By the settings, through terraform; then by arguments.
    user.settings(&(file_identity(&token) + &company.issuer() + &company.host("job", "deliver = \"inline\"\n")));
    terraform.init(&user.home, &user.work).success();
    let arguments = [
        format!("--host={HOST}"),
        format!("--identity-file={}", token.display()),
        format!("--address={}", company.bao.address()),
        "--auth=jwt".into(),
        "--auth-role=terraform".into(),
        "--role=registry-client".into(),
        "--common-name={email}".into(),
        "--deliver=inline".into(),
    ];
    let by_arguments = user.home.run("terraform-credentials-vault-pki").args(&arguments).args(["get", HOST]).answer();
    let object = by_arguments.output().success().json();
    user.canary.watch_pem("client private key", object["client_private_key_pem"].as_str().unwrap_or_default());
    // 2. Two requests, two certificates; neither login is alive any more.
    assert_eq!(company.pki.minted(), 2);
    nothing_is_left(&user);
    assert!(company.bao.logins().is_empty());
    user.canary.check(&user.home);
}

#[test]
fn settings_may_say_once_and_a_bridge_then_says_what_it_needs() {
    let (company, mut user) = (Company::found(), User::without_settings());
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    let once = "[agent]\nmode = \"once\"\n\n".to_owned() + &file_identity(&token) + &company.issuer();

    // 1. `mode = "once"` in the settings is as good as the environment.
    user.settings(&(once.clone() + &company.host("job", "deliver = \"inline\"\n")));
    let key = user.got("client_private_key_pem");
    user.canary.watch_pem("client private key", key);
    nothing_is_left(&user);
    // 2. A bridge outlives the request: that is told, not tried; the environment may say otherwise for one run.
    user.settings(&(once + &company.host("job", "deliver = \"bridge\"\n")));
    let output = user.get().output();
    assert_eq!((output.code, output.stdout.as_str()), (Some(78), ""), "{}", output.stderr);
    assert!(
        output.stderr.contains("needs an agent that stays") && output.stderr.contains("hint: "),
        "{}",
        output.stderr
    );
    nothing_is_left(&user);
    user.canary.check(&user.home);
}
