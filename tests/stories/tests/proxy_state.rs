//! States and `cloud` by `credmint exec --carrier proxy`: addresses that stand in the configuration, where no variable of ours reaches.
#![expect(clippy::disallowed_methods, reason = "a story writes its registry's files")]

use std::path::{Path, PathBuf};

use credmint_stories::{Company, HOST, User, file_identity, terraform, wait_until};
use credmint_test_kit::enterprise::{Enterprise, LOGGED, ORGANISATION, WORKSPACE};
use credmint_test_kit::home::{executable, files_below};
use credmint_test_kit::{Gate, Registry, Run, States};
use serde_json::json;

/// A company whose registry has these lines of nginx, and a user of it who has settings and nothing else.
fn with(nginx: &str) -> (Company, User) {
    let (mut company, mut user) = (Company::found(), User::move_in());
    company.registry = Registry::behind(Gate::ClientCertificate(company.pki.path())).nginx(nginx).start();
    let token = user.token_file(&company.provider.token_for("alice", "vault", 600));
    let upstream = format!("upstream = \"{}\"", company.registry.address());
    user.settings(&(file_identity(&token) + &company.issuer() + &company.host("job", &upstream)));
    (company, user)
}

fn run<'home>(user: &'home User, directory: &Path, words: &[&str]) -> Run<'home> {
    let run = user.home.run(executable("credmint")).args(["exec", "--carrier", "proxy", "--"]);
    let run = run.args(words.iter().copied()).in_directory(directory).env("TF_IN_AUTOMATION", "1");
    run.deadline(std::time::Duration::from_secs(120))
}

fn in_file(user: &User, name: &str, text: &str) -> PathBuf {
    user.home.write(&format!("{name}/main.tf"), text).parent().map(PathBuf::from).unwrap_or_default()
}

const APPLY: [&str; 5] = ["terraform", "apply", "-auto-approve", "-input=false", "-no-color"];
const PLAN: [&str; 4] = ["terraform", "plan", "-input=false", "-no-color"];
const INIT: [&str; 4] = ["terraform", "init", "-input=false", "-no-color"];

#[test]
fn a_state_whose_address_stands_in_the_configuration_is_kept_and_locked() {
    let Some(_) = terraform() else { return };
    let states = States::start();
    let (company, user) = with(&states.location("/state/"));
    let address = format!("https://{HOST}/state/prod");
    let lines = |names: [&str; 3]| names.map(|name| format!("    {name} = \"{address}\"\n")).concat();
    let lines = lines(["address", "lock_address", "unlock_address"]);
    let rest = "output \"word\" {\n  value = \"kept\"\n}\n";
    let directory =
        in_file(&user, "stateful", &format!("terraform {{\n  backend \"http\" {{\n{lines}  }}\n}}\n\n{rest}"));

    // 1. What is written and locked arrives with the certificate.
    for words in [&INIT as &[&str], &PLAN, &APPLY] {
        run(&user, &directory, words).output().success();
    }
    let state = states.state("/state/prod");
    assert!(String::from_utf8_lossy(&state.body.unwrap_or_default()).contains("kept"));
    assert!(["GET", "LOCK", "POST", "UNLOCK"].iter().all(|method| state.methods.iter().any(|m| m == method)));
    assert!(state.lock.is_none());
    assert!(company.registry.requests().iter().all(|r| r.verify == "SUCCESS" && r.authorization.is_empty()));
    // 2. A lock that somebody else holds stops it, and Terraform says whose it is.
    let mut holder = run(&user, &directory, &["terraform", "console"]).typed().start();
    wait_until("the state is locked", || states.state("/state/prod").lock.is_some());
    let refused = run(&user, &directory, &APPLY).output();
    assert_ne!(refused.code, Some(0));
    assert!(refused.stderr.contains("Error acquiring the state lock"), "{}", refused.stderr);
    assert!(refused.stderr.contains("Operation:") && refused.stderr.contains("ID:"), "{}", refused.stderr);
    holder.type_line("exit");
    holder.output().success();
    wait_until("the lock is given back", || states.state("/state/prod").lock.is_none());
    // 3. The address in the directory is the host's own: the next run is another one, at another port.
    let files = files_below(&directory).into_iter().filter_map(|path| std::fs::read_to_string(path).ok());
    assert!(files.into_iter().all(|text| !text.contains("127.0.0.1:")));
    assert!(run(&user, &directory, &["terraform", "output", "-no-color"]).output().success().stdout.contains("kept"));
    user.canary.check(&user.home);
}

#[test]
fn a_state_of_the_environment_has_the_persons_own_password() {
    let Some(_) = terraform() else { return };
    let states = States::start();
    // Somebody who wants the certificate and, besides, a password: it is "ada:word".
    let guard =
        format!("if ($http_authorization != \"Basic YWRhOndvcmQ=\") {{ return 401; }} {}", states.location("/state/"));
    let (company, mut user) = with(&guard);
    let address = format!("https://{HOST}/state/prod");
    for name in ["TF_HTTP_ADDRESS", "TF_HTTP_LOCK_ADDRESS", "TF_HTTP_UNLOCK_ADDRESS"] {
        user.home.set(name, address.clone());
    }
    user.home.set("TF_HTTP_USERNAME", "ada");
    user.home.set("TF_HTTP_PASSWORD", "word");
    let text = "terraform {\n  backend \"http\" {}\n}\n\noutput \"word\" {\n  value = \"kept\"\n}\n";
    let directory = in_file(&user, "stateful", text);
    for words in [&INIT as &[&str], &APPLY] {
        run(&user, &directory, words).output().success();
    }
    assert!(String::from_utf8_lossy(&states.state("/state/prod").body.unwrap_or_default()).contains("kept"));
    let requests = company.registry.requests();
    assert!(
        requests.iter().all(|r| r.verify == "SUCCESS" && r.authorization == "Basic YWRhOndvcmQ=" && r.status != 401)
    );
    user.canary.check(&user.home);
}

#[test]
fn a_plan_of_cloud_is_uploaded_and_its_log_streams() {
    let Some(_) = terraform() else { return };
    for kind in ["cloud", "backend \"remote\""] {
        let enterprise = Enterprise::start();
        let (company, user) = with(&enterprise.nginx());
        let document = json!({
            "modules.v1": "/v1/modules/", "providers.v1": "/v1/providers/", "tfe.v2": "/api/v2/", "tfe.v2.1": "/api/v2/",
            "state.v2": "/api/v2/",
        });
        let document_file = company.registry.site().join(".well-known/terraform.json");
        std::fs::write(document_file, document.to_string()).expect("written");
        let inner = format!("hostname = \"{HOST}\"\n    organization = \"{ORGANISATION}\"\n    ");
        let block = format!("{kind} {{\n    {inner}workspaces {{ name = \"{WORKSPACE}\" }}\n  }}");
        let text = format!("terraform {{\n  {block}\n}}\n\noutput \"network\" {{\n  value = \"10.0.0.0/8\"\n}}\n");
        let directory = in_file(&user, "remote", &text);
        let audit = user.home.path().join("audit.log");
        let bridge = format!("[bridge]\nport = {}\naudit = \"{}\"\n", user.port, audit.display());
        user.home.write(".config/credmint/config.d/bridge.toml", bridge);

        // 1. The host's own addresses of uploads and logs are reached as they are.
        run(&user, &directory, &INIT).output().success();
        let planned = run(&user, &directory, &PLAN).output();
        assert_eq!(planned.code, Some(0), "{kind}: {}{}{:?}", planned.stdout, planned.stderr, enterprise.missing());
        assert!(planned.stdout.contains(LOGGED), "{}", planned.stdout);
        let asked = enterprise.asked();
        let uploaded = asked.iter().find(|one| one.method == "PUT").expect("an upload");
        assert!(uploaded.path == "/_archivist/upload?expires=1" && uploaded.length > 100, "{uploaded:?}");
        let read = asked.iter().filter(|one| one.path.starts_with("/_archivist/plan.log?limit="));
        assert!(read.count() > 2, "{asked:?}");
        // 2. Nobody there saw a token of ours; all of it came with the certificate.
        assert!(asked.iter().all(|one| one.authorization.is_empty()), "{asked:?}");
        assert!(company.registry.requests().iter().all(|request| request.verify == "SUCCESS"));
        // 3. Each request is a line of the audit file.
        let lines = std::fs::read_to_string(&audit).expect("an audit file");
        assert!(lines.lines().count() >= asked.len() && lines.contains("\"PUT\""), "{lines}");
        assert!(!lines.contains("expires=1"), "{lines}");
        user.canary.check(&user.home);
    }
}

#[test]
fn why_a_plan_of_cloud_was_refused_is_said() {
    let Some(_) = terraform() else { return };
    let enterprise = Enterprise::start();
    let (company, user) = with(&enterprise.nginx());
    let document = json!({ "tfe.v2": "/api/v2/", "tfe.v2.1": "/api/v2/", "state.v2": "/api/v2/" });
    std::fs::write(company.registry.site().join(".well-known/terraform.json"), document.to_string()).expect("written");
    let inner = format!("hostname = \"{HOST}\"\n    organization = \"{ORGANISATION}\"\n    ");
    let text = format!("terraform {{\n  cloud {{\n    {inner}workspaces {{ name = \"{WORKSPACE}\" }}\n  }}\n}}\n");
    let directory = in_file(&user, "remote", &text);
    run(&user, &directory, &INIT).output().success();
    std::fs::remove_file(user.home.path().join("token")).expect("the token's file");
    user.home.run("terraform-credentials-credmint").args(["forget", HOST]).output().success();
    let planned = run(&user, &directory, &PLAN).output();
    assert_eq!(planned.code, Some(1));
    assert!(
        planned.stderr.contains(&format!("credmint: {HOST}")) || planned.stderr.contains("credmint: no identity"),
        "{}",
        planned.stderr
    );
    assert!(planned.stderr.contains("\nhint: "), "{}", planned.stderr);
    user.canary.check(&user.home);
}
