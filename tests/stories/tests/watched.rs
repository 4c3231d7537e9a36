//! What an operator sees: the open runs, the numbers, and the lines that a run says about what it could not do.
#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a story writes its registry's files, and stops at what is not so"
)]

use credmint_stories::{Company, HOST, User, file_identity, terraform};
use credmint_test_kit::enterprise::{Enterprise, LOGGED, ORGANISATION, WORKSPACE};
use credmint_test_kit::home::executable;
use credmint_test_kit::http::Request;
use credmint_test_kit::metrics::{self, value};
use credmint_test_kit::random::free_port;
use credmint_test_kit::{Gate, Registry, Run};
use serde_json::{Value, json};

fn user_of(company: &Company, more: &str) -> User {
    let mut user = User::move_in();
    let token = user.token_file(&company.provider.token_for("alice", "vault", 600));
    let upstream = format!("upstream = \"{}\"\n{more}", company.registry.address());
    user.settings(&(file_identity(&token) + &company.issuer() + &company.host("job", &upstream)));
    user
}

fn exec<'home>(user: &'home User, words: &[&str]) -> Run<'home> {
    let run = user.home.run(executable("credmint")).args(["exec", "--"]).args(words.iter().copied());
    run.in_directory(&user.work).env("TF_IN_AUTOMATION", "1").deadline(std::time::Duration::from_secs(120))
}

#[test]
fn a_run_is_in_the_status_and_its_requests_are_counted() {
    let company = Company::found();
    let mut user = user_of(&company, "");
    let port = free_port();
    user.home.write(".config/credmint/config.d/metrics.toml", format!("[bridge]\nmetrics_port = {port}\n"));
    let line = "grep -o 127.0.0.1:[0-9]* \"$TF_CLI_CONFIG_FILE\" | head -n 1; echo \"$TF_TOKEN_registry_corp_example\"; echo ready; read go";
    let mut running = exec(&user, &["/bin/sh", "-c", line]).typed().answer().start();
    let (at, token) = running.shows("port and token", |text| {
        let mut lines = text.lines();
        let at = lines.next()?.rsplit(':').next()?.parse::<u16>().ok()?;
        let token = lines.next()?.to_owned();
        text.contains("ready").then_some((at, token))
    });
    // 1. The run is listed, before and after its first request.
    let runs = |user: &User| user.credmint(&["status", "--json"]).json()["agent"]["runs"].clone();
    let one = runs(&user)[0].clone();
    assert_eq!((&one["program"], &one["port"], &one["requests"]), (&json!("sh"), &json!(at), &json!(0)));
    assert_eq!((&one["hosts"], &one["process"]), (&json!([HOST]), &json!(running.pid())));
    let url = format!("http://127.0.0.1:{at}/{HOST}/v1/modules/corp/network/aws/versions");
    assert_eq!(Request::new("GET", &url).header("Authorization", &format!("Bearer {token}")).send().status, 200);
    assert_eq!(Request::new("GET", &url).header("Authorization", "Bearer guessed").send().status, 401);
    assert_eq!(runs(&user)[0]["requests"], 1);
    let shown = user.credmint(&["status"]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("run sh, by process ") && shown.contains(", 1 request at port "), "{shown}");
    assert!(!shown.contains(&token));
    // 2. The numbers say the same, and when the certificate ends.
    let page = || Request::new("GET", &format!("http://127.0.0.1:{port}/metrics")).send().body;
    let samples = metrics::read(&page());
    let end = value(&samples, "credmint_certificate_not_after_seconds", &[("host", HOST)]).expect("a certificate");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock").as_secs_f64();
    assert!(end > now + 1800.0 && end < now + 3700.0, "an hour: {end} {now}");
    assert_eq!(value(&samples, "credmint_runs_open", &[]), Some(1.0));
    let requests = [("host", HOST), ("service", "modules"), ("status", "200")];
    assert_eq!(value(&samples, "credmint_requests_total", &requests), Some(1.0));
    // 3. When it is over, it is gone from both.
    running.type_line("go");
    running.output().success();
    assert_eq!(runs(&user), Value::Null);
    assert_eq!(value(&metrics::read(&page()), "credmint_runs_open", &[]), Some(0.0));
    user.canary.allow_variable("TF_TOKEN_registry_corp_example");
    user.canary.watch("session token", token);
    user.canary.check(&user.home);
}

/// Puts a Terraform Enterprise where the company's registry is.
fn with(enterprise: &Enterprise) -> Company {
    let mut company = Company::found();
    let registry = Registry::behind(Gate::ClientCertificate(company.pki.path()));
    company.registry = registry.nginx(&enterprise.nginx()).start();
    let document =
        json!({ "modules.v1": "/v1/modules/", "tfe.v2": "/api/v2/", "tfe.v2.1": "/api/v2/", "state.v2": "/api/v2/" });
    std::fs::write(company.registry.site().join(".well-known/terraform.json"), document.to_string()).expect("written");
    company
}

#[test]
fn a_cloud_block_works_in_a_run_without_any_setup() {
    let Some(_) = terraform() else { return };
    let enterprise = Enterprise::start();
    let company = with(&enterprise);
    let user = user_of(&company, "");
    let inner = format!(
        "hostname = \"{HOST}\"\n    organization = \"{ORGANISATION}\"\n    workspaces {{ name = \"{WORKSPACE}\" }}"
    );
    user.home.write("work/main.tf", format!("terraform {{\n  cloud {{\n    {inner}\n  }}\n}}\n"));
    // 1. The run found the service itself.
    exec(&user, &["terraform", "init", "-input=false", "-no-color"]).output().success();
    let planned = exec(&user, &["terraform", "plan", "-input=false", "-no-color"]).output().success();
    assert!(planned.stdout.contains(LOGGED), "{}", planned.stdout);
    assert_eq!(planned.stderr, "");
    // 2. The second run knew: the host was asked once, and one certificate was minted.
    let asked = company.registry.requests();
    assert_eq!(asked.iter().filter(|one| one.path == "/.well-known/terraform.json").count(), 1, "{asked:?}");
    assert_eq!(company.pki.minted(), 1);
    user.canary.check(&user.home);
}

#[test]
fn a_host_that_cannot_be_asked_is_told_and_slows_no_run_for_long() {
    let mut company = Company::found();
    let user = user_of(&company, "");
    company.registry.stop();
    let shown = exec(&user, &["/bin/sh", "-c", "cat \"$TF_CLI_CONFIG_FILE\""]).output().success();
    assert!(shown.took < std::time::Duration::from_secs(4), "{:?}", shown.took);
    let told = format!("credmint: {HOST} was not asked which services it has (");
    assert!(shown.stderr.starts_with(&told) && shown.stderr.lines().count() == 1, "{}", shown.stderr);
    assert!(shown.stdout.contains("modules.v1") && shown.stdout.contains("providers.v1"), "{}", shown.stdout);
    // A host whose services stand in the person's own configuration is not asked.
    let block =
        format!("host \"{HOST}\" {{\n  services = {{ \"tfe.v2\" = \"http://127.0.0.1:1/{HOST}/api/v2/\" }}\n}}\n");
    user.home.write(".terraformrc", block);
    let shown = exec(&user, &["/bin/sh", "-c", "cat \"$TF_CLI_CONFIG_FILE\""]).output().success();
    assert_eq!(shown.stderr, "");
    assert!(shown.stdout.contains(&format!("/{HOST}/api/v2/\"")) && !shown.stdout.contains(":1/"), "{}", shown.stdout);
    user.canary.check(&user.home);
}

#[test]
fn a_state_that_is_not_reached_over_the_bridge_is_told_with_reason_and_remedy() {
    let company = Company::found();
    for (more, why, remedy) in [
        ("confirm = true", "is asked about at each use (confirm = true)", "leave `confirm` out for it"),
        ("deliver = \"inline\"", "has deliver = \"inline\"", "credmint exec --env=registry.corp.example"),
    ] {
        let mut user = user_of(&company, more);
        if more.starts_with("deliver") {
            let settings = user.home.read(".config/credmint/config.toml").replace("upstream =", "# upstream =");
            user.settings(&settings);
        }
        // Another host, so that there is something to run for.
        let other = "\n[host.\"other.example\"]\nidentity = \"job\"\nissuer = \"registry-cert\"\nupstream = \"https://127.0.0.1:1\"\n";
        user.home.write(".config/credmint/config.d/other.toml", other);
        user.home.set("TF_HTTP_ADDRESS", format!("https://{HOST}/state/prod"));
        user.home.set("TF_HTTP_LOCK_ADDRESS", format!("https://{HOST}/state/prod"));
        let shown = exec(&user, &["/bin/sh", "-c", "echo \"$TF_HTTP_ADDRESS\""]).output().success();
        let told = format!(
            "TF_HTTP_ADDRESS leads to {HOST}, which {why}: Terraform goes there without the bridge; hint: {remedy}"
        );
        assert_eq!(shown.stderr.matches("TF_HTTP_ADDRESS leads to").count(), 1, "{}", shown.stderr);
        assert!(shown.stderr.contains(&told), "{}", shown.stderr);
        assert_eq!(shown.stdout, format!("https://{HOST}/state/prod\n"));
        assert!(user.home.run(executable("credmint")).arg("env").output().success().stderr.contains(&told));
        user.canary.check(&user.home);
    }
}
