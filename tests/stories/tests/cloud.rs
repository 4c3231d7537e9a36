//! `cloud` and `remote` behind mutual TLS: the real terraform runs and keeps its state at a host that wants a client certificate.
#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use credmint_stories::{Company, HOST, User, file_identity, terraform};
use credmint_test_kit::enterprise::{Enterprise, LOGGED, ORGANISATION, WORKSPACE};
use credmint_test_kit::{Gate, Registry};
use serde_json::json;

/// Puts a Terraform Enterprise where the company's registry is.
#[expect(clippy::disallowed_methods, reason = "the story writes its registry's files")]
fn with(enterprise: &Enterprise) -> Company {
    let mut company = Company::found();
    let registry = Registry::behind(Gate::ClientCertificate(company.pki.path()));
    company.registry = registry.nginx(&enterprise.nginx()).start();
    let document = json!({
        "modules.v1": "/v1/modules/", "providers.v1": "/v1/providers/", "tfe.v2": "/api/v2/", "tfe.v2.1": "/api/v2/",
        "state.v2": "/api/v2/",
    });
    std::fs::write(company.registry.site().join(".well-known/terraform.json"), document.to_string()).expect("written");
    company
}

fn moved_in(company: &Company) -> User {
    let mut user = User::move_in();
    let token = user.token_file(&company.provider.token_for("alice", "vault", 600));
    user.settings(&(file_identity(&token) + &company.issuer() + &company.host("job", "")));
    user.setup(company.registry.address());
    user
}

fn block(kind: &str) -> String {
    let inner = format!("hostname = \"{HOST}\"\n    organization = \"{ORGANISATION}\"\n    ");
    let block = match kind {
        "cloud" => format!("cloud {{\n    {inner}workspaces {{ name = \"{WORKSPACE}\" }}\n  }}"),
        _ => format!("backend \"remote\" {{\n    {inner}workspaces {{ name = \"{WORKSPACE}\" }}\n  }}"),
    };
    format!("terraform {{\n  {block}\n}}\n\noutput \"network\" {{\n  value = \"10.0.0.0/8\"\n}}\n")
}

#[test]
fn a_plan_runs_at_the_host_and_its_log_streams_through_the_bridge() {
    let Some(terraform) = terraform() else { return };
    for kind in ["cloud", "remote"] {
        let enterprise = Enterprise::start();
        let company = with(&enterprise);
        let user = moved_in(&company);
        user.home.write("work/main.tf", block(kind));

        // 1. The host block has the service, and the helper gives the bridge's session for it.
        terraform.init(&user.home, &user.work).success();
        // 2. The configuration is uploaded, the run's log is read as it grows.
        let planned = terraform.run(&user.home, &user.work, &["plan", "-input=false", "-no-color"]).output();
        assert_eq!(planned.code, Some(0), "{kind}: {}{}{:?}", planned.stdout, planned.stderr, enterprise.missing());
        assert!(planned.stdout.contains(LOGGED), "{}", planned.stdout);
        let asked = enterprise.asked();
        let uploaded = asked.iter().find(|one| one.method == "PUT").expect("an upload");
        assert!(uploaded.path == "/_archivist/upload?expires=1" && uploaded.length > 100, "{uploaded:?}");
        assert!(
            asked.iter().filter(|one| one.path.starts_with("/_archivist/plan.log?limit=")).count() > 2,
            "{asked:?}"
        );
        // 3. Nobody there saw a token; all of it came with the certificate.
        assert!(asked.iter().all(|one| one.authorization.is_empty()), "{asked:?}");
        assert!(company.registry.requests().iter().all(|request| request.verify == "SUCCESS"));
        user.canary.check(&user.home);
    }
}

#[test]
fn the_state_is_kept_at_the_host() {
    let Some(terraform) = terraform() else { return };
    let enterprise = Enterprise::of_states();
    let company = with(&enterprise);
    let user = moved_in(&company);
    user.home.write("work/main.tf", block("cloud"));
    terraform.init(&user.home, &user.work).success();
    let applied =
        terraform.run(&user.home, &user.work, &["apply", "-auto-approve", "-input=false", "-no-color"]).output();
    assert_eq!(applied.code, Some(0), "{}{}{:?}", applied.stdout, applied.stderr, enterprise.missing());
    assert!(enterprise.state().is_some_and(|state| state.contains("10.0.0.0/8")), "{:?}", enterprise.asked());
    let shown = terraform.run(&user.home, &user.work, &["state", "pull"]).output().success();
    assert!(shown.stdout.contains("10.0.0.0/8"), "{}", shown.stdout);
    assert!(enterprise.asked().iter().all(|one| one.authorization.is_empty()));
    user.canary.check(&user.home);
}
