//! `credmint exec --provider`: programs that ask for credentials at the endpoints of a run, or find them in their environment.
#![expect(clippy::expect_used, reason = "a story stops at what is not so")]

use std::collections::BTreeMap;

use credmint_stories::{User, file_identity, wait_until};
use credmint_test_kit::aws_sts::{AwsSts, SECRET};
use credmint_test_kit::home::executable;
use credmint_test_kit::http::{Answer, Request};
use credmint_test_kit::run::Running;
use credmint_test_kit::{OpenIdProvider, Run};
use serde_json::json;

const ROLE: &str = "role_arn = \"arn:aws:iam::123456789012:role/deploy\"\nregion = \"eu-central-1\"\n";

fn aws(name: &str, sts: &AwsSts) -> String {
    let issuer = format!("[issuer.{name}]\nkind = \"aws-sts\"\n{ROLE}endpoint = \"{}\"\n\n", sts.address());
    format!("{issuer}[provider.{name}]\nidentity = \"job\"\nissuer = \"{name}\"\n\n")
}

/// A user whose job has a token, and these tables.
fn user_with(provider: &OpenIdProvider, audience: &str, tables: &str) -> (User, String) {
    let mut user = User::move_in();
    let token = provider.token_for("alice", audience, 3600);
    let file = user.token_file(&token);
    user.settings(&(file_identity(&file) + tables));
    (user, token)
}

fn exec<'home>(user: &'home User, providers: &[&str], line: &str) -> Run<'home> {
    let named = providers.iter().flat_map(|name| ["--provider", name]);
    user.home.run(executable("credmint")).arg("exec").args(named).args(["--", "/bin/sh", "-c", line])
}

/// A program that shows its environment and waits; what it has is read from there.
fn waiting<'home>(user: &'home User, providers: &[&str]) -> (Running<'home>, BTreeMap<String, String>) {
    let mut running = exec(user, providers, "env; echo ready; read go").typed().answer().start();
    let variables = running.shows("its environment", |text| {
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        text.contains("ready").then(|| pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    });
    (running, variables)
}

fn ask(variables: &BTreeMap<String, String>) -> Answer {
    let (address, token) = aws_endpoint(variables);
    Request::new("GET", address).header("Authorization", token).header("Accept", "application/json").send()
}

fn aws_endpoint(variables: &BTreeMap<String, String>) -> (&str, &str) {
    (&variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"], &variables["AWS_CONTAINER_AUTHORIZATION_TOKEN"])
}

#[test]
fn an_sdk_of_aws_asks_at_the_runs_port_and_gets_new_keys_when_the_old_ones_end() {
    let (provider, sts) = (OpenIdProvider::start(), AwsSts::start(6));
    let (mut user, _) = user_with(&provider, "sts.amazonaws.com", &aws("prod", &sts));
    user.canary.watch("keys", SECRET);
    user.home.set("AWS_PROFILE", "mine");
    user.home.set("AWS_ACCESS_KEY_ID", "AKIAMINE");

    // 1. It has an address and the right to ask; neither keys nor what would go before those.
    let (mut running, variables) = waiting(&user, &["prod"]);
    assert!(sts.granted() == 1, "asked before the program starts");
    for name in ["AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN"] {
        assert!(!variables.contains_key(name), "{name}");
    }
    let file = std::path::Path::new(&variables["AWS_CONFIG_FILE"]).to_owned();
    assert_eq!(std::os::unix::fs::MetadataExt::size(&file.metadata().expect("a file")), 0);
    // 2. The answer is the one that botocore wants: exactly 200, four properties.
    let answer = ask(&variables);
    assert_eq!(answer.status, 200, "{}", answer.body);
    let first = answer.json();
    assert!(["SecretAccessKey", "Token", "Expiration"].iter().all(|name| first[name].is_string()), "{first}");
    assert_eq!(first["AccessKeyId"], json!("ASIATESTKEY00001"));
    // 3. Who goes on asking always has keys, and new ones before the old have ended.
    wait_until("new keys", || {
        let answer = ask(&variables);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()["AccessKeyId"] != first["AccessKeyId"]
    });
    // 4. With the program the right ends.
    running.type_line("go");
    let output = running.output();
    assert_eq!(output.code, Some(0));
    let said = "credmint: without AWS_ACCESS_KEY_ID, AWS_PROFILE of your environment: the program would take that before provider/prod";
    assert!(output.stderr.contains(said), "{}", output.stderr);
    let (address, token) = aws_endpoint(&variables);
    assert!(Request::new("GET", address).header("Authorization", token).try_send().is_err());
    user.canary.check(&user.home);
}
