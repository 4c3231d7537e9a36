//! Helpers that are configured by the `args` of their block alone: no settings file, through the real terraform.

use credmint_stories::{Company, HOST, User, terraform, wait_until};
use credmint_test_kit::encoding::claims;
use credmint_test_kit::home::files_below;
use credmint_test_kit::{Gate, Links, OpenIdProvider, Registry, Terraform};

fn text(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

fn vault_arguments(company: &Company, user: &mut User) -> Vec<String> {
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    vec![
        format!("--host={HOST}"),
        format!("--identity-file={}", token.display()),
        format!("--address={}", company.bao.address()),
        "--auth=jwt".into(),
        "--auth-role=terraform".into(),
        "--role=registry-client".into(),
        "--common-name={email}".into(),
        "--ttl=1h".into(),
        format!("--ca={}", company.registry.ca_file().display()),
    ]
}

fn has_settings(user: &User) -> bool {
    files_below(user.home.root()).iter().any(|file| file.extension().is_some_and(|extension| extension == "toml"))
}

/// 20000 plus the last four digits of the user's number, which `/proc` tells.
fn usual_port() -> u32 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").map_or(0, |data| 20_000 + data.uid() % 10_000)
}

#[test]
fn vault_pki_needs_no_settings_file_for_a_bridge() {
    let Some(terraform) = terraform() else { return };
    let (company, mut user) = (Company::found(), User::without_settings());

    // 1. One block with arguments; the bridge is where it is without settings: a port that follows from the user.
    let mut arguments = vault_arguments(&company, &mut user);
    arguments.push(format!("--upstream={}", company.registry.address()));
    let port = usual_port();
    user.home.install_helper("vault-pki");
    let bridge = format!("http://127.0.0.1:{port}/{HOST}");
    Terraform::write_cli_configuration(&user.home, Some(("vault-pki", &text(&arguments))), Some(&bridge));
    wait_until("the usual port is free", || std::net::TcpListener::bind(format!("127.0.0.1:{port}")).is_ok());
    // 2. `init` goes through mutual TLS as with settings, and mints once.
    terraform.init(&user.home, &user.work).success();
    assert!(company.registry.requests().iter().all(|request| request.subject == "CN=alice@corp.example"));
    assert_eq!(company.pki.minted(), 1);
    assert!(!has_settings(&user));
    user.canary.check(&user.home);
}

#[test]
fn vault_pki_answers_inline_when_told_to() {
    let Some(terraform) = terraform() else { return };
    let (company, mut user) = (Company::found(), User::without_settings());
    let registry = Registry::behind(Gate::Open).links(Links::Address).start();

    // 1. Terraform accepts what it gets.
    let mut arguments = vault_arguments(&company, &mut user);
    arguments.push("--deliver=inline".into());
    user.use_helper("vault-pki", &text(&arguments), &registry);
    terraform.init(&user.home, &user.work).success();
    assert_eq!(company.pki.minted(), 1);
    // 2. What it got is the identity, with the host's authority.
    let get = user.home.run("terraform-credentials-vault-pki").args(&arguments).args(["get", HOST]).answer();
    let object = get.output().success().json();
    assert!(object["client_certificate_pem"].is_string() && object["client_ca_certificate_pem"].is_string());
    // 3. Any other host is none of its business.
    let other =
        user.home.run("terraform-credentials-vault-pki").args(&arguments).args(["get", "registry.terraform.io"]);
    assert_eq!(other.output().success().stdout.trim(), "{}");
    assert_eq!(company.pki.minted(), 1);
    assert!(!has_settings(&user));
    user.canary.check(&user.home);
}

#[test]
fn oidc_passes_a_token_on_or_exchanges_it() {
    let Some(terraform) = terraform() else { return };
    let (provider, mut user) = (OpenIdProvider::start(), User::without_settings());

    // 1. Passed on: the registry lets in this token and no other.
    let token = provider.token_for("alice", HOST, 300);
    let registry = Registry::behind(Gate::Bearer(token.clone())).links(Links::Address).start();
    user.secret_variable("WORKLOAD_TOKEN", "subject token", &token);
    let host = format!("--host={HOST}");
    let passed_on = [&host, "--identity-env=WORKLOAD_TOKEN", &format!("--audience={HOST}")].map(ToString::to_string);
    user.use_helper("oidc", &text(&passed_on), &registry);
    terraform.init(&user.home, &user.work).success();
    // 2. Exchanged: a client with a private key asks for a token of this registry.
    let key = user.secret_file("client-key.pem", "client key", provider.ci_jwt_key());
    user.secret_variable("WORKLOAD_TOKEN", "token for the client", &provider.token_for("bob", "ci-jwt", 300));
    let exchanged = [
        host,
        "--identity-env=WORKLOAD_TOKEN".into(),
        format!("--issuer={}", provider.issuer()),
        "--client-id=ci-jwt".into(),
        format!("--client-key-file={}", key.display()),
        format!("--exchange-audience={HOST}"),
    ];
    let registry = Registry::behind(Gate::AnyBearer).links(Links::Address).start();
    user.use_helper("oidc", &text(&exchanged), &registry);
    terraform.init(&user.home, &user.work).success();
    // 3. It was the exchanged token that travelled.
    let requests = registry.requests();
    let bearers = requests.iter().filter_map(|request| request.authorization.strip_prefix("Bearer "));
    let mut seen: Vec<String> = bearers.map(ToOwned::to_owned).collect();
    seen.dedup();
    assert_eq!(seen.len(), 1);
    let claims = claims(&user.canary.watch("exchanged token", seen.remove(0)));
    assert_eq!((&claims["sub"], &claims["aud"], &claims["client_id"]), (&"bob".into(), &HOST.into(), &"ci-jwt".into()));
    assert!(!has_settings(&user));
    user.canary.check(&user.home);
}

#[test]
fn an_argument_with_a_mistake_is_told_with_its_place() {
    let user = User::without_settings();
    let arguments = [&format!("--host={HOST}"), "--identity-env=WORKLOAD_TOKEN", "--adress=https://x.example"];
    let output = user.home.run("terraform-credentials-vault-pki").args(arguments).args(["get", HOST]).output();
    assert_eq!((output.code, output.stdout.as_str()), (Some(78), ""), "{}", output.stderr);
    assert!(output.stderr.contains("argument 3") && output.stderr.contains("--address"), "{}", output.stderr);
    user.canary.check(&user.home);
}
