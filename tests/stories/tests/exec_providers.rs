//! `credmint exec --provider`: programs that ask for credentials at the endpoints of a run, or find them in their environment.
#![expect(clippy::expect_used, reason = "a story stops at what is not so")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use credmint_stories::{User, file_identity, wait_until};
use credmint_test_kit::home::executable;
use credmint_test_kit::http::{Answer, Request};
use credmint_test_kit::metrics;
use credmint_test_kit::processes::{self, Signal};
use credmint_test_kit::run::Running;
use credmint_test_kit::{OpenIdProvider, Run, Sts};
use serde_json::json;

fn aws(name: &str, sts: &Sts) -> String {
    sts.issuer(name, "") + &format!("[provider.{name}]\nidentity = \"job\"\nissuer = \"{name}\"\n\n")
}

/// Shows the canary what STS handed out, and looks for it.
fn check(user: &mut User, sts: &Sts) {
    for secret in sts.secrets() {
        user.canary.watch("secret of AWS", secret);
    }
    user.canary.check(&user.home);
}

/// A provider, and an STS that trusts it; its keys live for so many seconds.
fn started(life: u64) -> (OpenIdProvider, Sts) {
    let provider = OpenIdProvider::start();
    let sts = Sts::start_with(&provider, life, false);
    (provider, sts)
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
    let (provider, sts) = started(6);
    let (mut user, _) = user_with(&provider, "sts.amazonaws.com", &aws("prod", &sts));
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
    assert_eq!(first["AccessKeyId"], json!("ASIASTRICTSTRICT0001"));
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
    check(&mut user, &sts);
}

#[test]
fn an_endpoint_is_for_its_program_alone_and_gets_are_all_it_answers() {
    let (provider, sts) = started(3600);
    let azure = "[issuer.ad]\nkind = \"azure\"\ntenant = \"corp.example\"\nclient_id = \"6f1c0de0-0000-4000-8000-000000000001\"\n\n\
                 [provider.ad]\nidentity = \"job\"\nissuer = \"ad\"\n";
    let (mut user, token) = user_with(&provider, "sts.amazonaws.com", &(aws("prod", &sts) + azure));
    let (mut running, variables) = waiting(&user, &["prod", "ad"]);
    let (address, bearer) = aws_endpoint(&variables);
    let (other, others) = (&variables["ARM_OIDC_REQUEST_URL"], &variables["ARM_OIDC_REQUEST_TOKEN"]);
    let get = |method: &str, address: &str| Request::new(method, address);
    let with = |request: Request, token: &str| request.header("Authorization", token);
    let long = format!("{other}?audience={}", "x".repeat(3000));
    let base = address.trim_end_matches("aws-container");

    // 1. Who asks in another way than the SDKs do is refused for good, and no body says more than a sentence.
    for (request, status, code) in [
        (get("GET", address), 401, "Unauthorized"),
        (with(get("GET", address), "Bearer wrong"), 401, "Unauthorized"),
        (with(get("GET", address), others), 401, "Unauthorized"),
        (with(get("GET", other), bearer), 401, "Unauthorized"),
        (with(get("POST", address), bearer), 405, "MethodNotAllowed"),
        (with(get("PUT", address), bearer), 405, "MethodNotAllowed"),
        (with(get("GET", &format!("{base}google-url")), bearer), 404, "NotFound"),
        (with(get("GET", &format!("{base}aws-container/x")), bearer), 404, "NotFound"),
        (with(get("GET", &long), others), 414, "UriTooLong"),
        (with(get("GET", address), bearer).as_host("attacker.example"), 403, "Forbidden"),
        (with(get("GET", address), bearer).header("Origin", "https://attacker.example"), 403, "Forbidden"),
        (with(get("GET", address), bearer).header("X-Forwarded-For", "192.0.2.1"), 403, "Forbidden"),
        (with(with(get("GET", address), bearer), "Bearer x"), 403, "Forbidden"),
    ] {
        let answer = request.send();
        assert_eq!((answer.status, &answer.json()["code"]), (status, &json!(code)), "{}", answer.body);
        assert!(
            answer.json()["message"].is_string()
                && sts.secrets().iter().all(|secret| !answer.body.contains(secret))
                && !answer.body.contains(bearer)
        );
    }
    let head = with(get("HEAD", address), bearer).send();
    assert_eq!((head.status, head.body.as_str()), (405, ""));
    // 2. The Azure providers ask with an audience in the query, and get the assertion itself; the application is said with it.
    let asked = format!("{other}?audience=api%3A%2F%2FAzureADTokenExchange");
    let answer = with(get("GET", &asked), &format!("Bearer {others}")).send();
    assert!(answer.status == 200 && answer.json() == json!({ "value": token }), "{}", answer.status);
    assert_eq!(variables["ARM_USE_OIDC"], "true");
    assert_eq!(variables["ARM_TENANT_ID"], "corp.example");
    assert!(!variables.contains_key("ARM_OIDC_TOKEN"));
    // 3. At the usual port, which is no run's, there is nothing of the kind.
    let elsewhere = address.replace(&variables_port(address), &user.port.to_string());
    assert!(with(get("GET", &elsewhere), bearer).try_send().map_or(true, |answer| answer.status != 200));
    running.type_line("go");
    assert_eq!(running.output().code, Some(0));
    check(&mut user, &sts);
}

fn variables_port(address: &str) -> String {
    address.split([':', '/']).nth(4).expect("a port").to_owned()
}

#[test]
fn an_issuer_that_is_slow_keeps_nobody_waiting_and_the_last_good_keys_are_good_to_their_end() {
    let (provider, sts) = started(6);
    let (user, _) = user_with(&provider, "sts.amazonaws.com", &aws("prod", &sts));
    let (mut running, variables) = waiting(&user, &["prod"]);
    let first = ask(&variables).json()["AccessKeyId"].clone();
    sts.wait(Duration::from_secs(20));

    // 1. Until they end they are the answer, within the two seconds that botocore waits; then 503, which it tries again.
    wait_until("they have ended", || {
        let began = Instant::now();
        let answer = ask(&variables);
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
        if answer.status == 200 {
            assert_eq!(answer.json()["AccessKeyId"], first);
            return false;
        }
        assert_eq!((answer.status, &answer.json()["code"]), (503, &json!("ServiceUnavailable")), "{}", answer.body);
        true
    });
    running.type_line("go");
    assert_eq!(running.output().code, Some(0));
    // 2. A program is not started without: the person is told what is waited for, and why it was in vain.
    let output = exec(&user, &["prod"], "echo started").output();
    assert!(output.code == Some(69) && output.stdout.is_empty(), "{output:?}");
    assert!(output.stderr.contains("credmint: waiting for the credential of provider/prod"), "{}", output.stderr);
    assert!(output.stderr.contains("hint: "), "{}", output.stderr);
}

#[test]
fn a_run_that_is_killed_takes_its_endpoints_along() {
    let (provider, sts) = started(3600);
    let (user, _) = user_with(&provider, "sts.amazonaws.com", &aws("prod", &sts));
    let (running, variables) = waiting(&user, &["prod"]);
    assert_eq!(ask(&variables).status, 200);
    processes::signal(running.pid(), Signal::KILL);
    let (address, token) = aws_endpoint(&variables);
    wait_until("nobody answers", || Request::new("GET", address).header("Authorization", token).try_send().is_err());
    // Another run has another token, and the one before opens nothing there.
    let (mut next, others) = waiting(&user, &["prod"]);
    let (address, _) = aws_endpoint(&others);
    assert_eq!(Request::new("GET", address).header("Authorization", token).send().status, 401);
    assert_eq!((ask(&others).status, sts.granted()), (200, 1));
    next.type_line("go");
    assert_eq!(next.output().code, Some(0));
}

#[test]
fn what_cannot_be_in_one_run_is_said_before_anything_starts() {
    let (provider, sts) = started(3600);
    let more = "[issuer.pass]\nkind = \"oidc\"\n\n[provider.any]\nidentity = \"job\"\nissuer = \"pass\"\n\n\
                [provider.asked]\nidentity = \"job\"\nissuer = \"pass\"\nexec = \"gitlab\"\nconfirm = true\n\n\
                [provider.wrong]\nidentity = \"nobody\"\nissuer = \"pass\"\nexec = \"gitlab\"\n\n\
                [identity.nobody]\nkind = \"env\"\nvariable = \"NOT_SET\"\n";
    let (user, _) = user_with(&provider, "sts.amazonaws.com", &(aws("prod", &sts) + &aws("stage", &sts) + more));
    for (providers, code, said) in [
        (&["prod", "stage"][..], 64, "want the same variables"),
        (&["any"], 78, "the settings do not say how a program gets it"),
        (&["asked"], 78, "is asked about at each use (confirm)"),
        (&["unknown"], 78, "no table [provider.unknown]"),
        (&["wrong"], 77, "NOT_SET is not set"),
    ] {
        let output = exec(&user, providers, "echo started").output();
        assert!(output.code == Some(code) && output.stdout.is_empty(), "{providers:?}: {output:?}");
        assert!(output.stderr.contains(said) && output.stderr.contains("hint: "), "{providers:?}: {}", output.stderr);
    }
    let two = exec(&user, &["prod", "stage"], "true").output();
    assert!(two.stderr.contains("credential_process = credmint-aws NAME"), "{}", two.stderr);
    assert_eq!(sts.granted(), 0);
    // One that is named twice, by its name or its route's, is one.
    exec(&user, &["prod", "provider/prod"], "true").output().success();
}

#[test]
fn others_find_theirs_in_the_environment_in_place_of_what_was_there() {
    let provider = OpenIdProvider::start();
    let of = |name: &str| format!("[provider.{name}]\nidentity = \"job\"\nissuer = \"pass\"\nexec = \"{name}\"\n\n");
    let all = [
        ("azure-token", "ARM_OIDC_TOKEN"),
        ("google-token", "GOOGLE_OAUTH_ACCESS_TOKEN"),
        ("kubernetes", "KUBE_TOKEN"),
        ("vault-token", "VAULT_TOKEN"),
        ("vault-jwt", "TERRAFORM_VAULT_AUTH_JWT"),
        ("github", "GITHUB_TOKEN"),
        ("gitlab", "GITLAB_TOKEN"),
        ("http", "TF_HTTP_PASSWORD"),
    ];
    let tables = all.iter().fold("[issuer.pass]\nkind = \"oidc\"\n\n".to_owned(), |text, (name, _)| text + &of(name));
    let (mut user, token) = user_with(&provider, "anybody", &tables);
    all.iter().for_each(|(_, variable)| user.canary.allow_variable(variable));
    for name in ["ARM_OIDC_REQUEST_URL", "ARM_CLIENT_SECRET", "GOOGLE_CREDENTIALS", "GH_TOKEN", "KUBE_PASSWORD"] {
        user.home.set(name, "of-before");
    }
    let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    let (mut running, variables) = waiting(&user, &names);
    for (name, variable) in all {
        assert!(variables.get(variable) == Some(&token), "{name}: {variable}");
    }
    assert!(variables.values().all(|value| value != "of-before"));
    running.type_line("go");
    let output = running.output();
    assert_eq!(output.code, Some(0));
    for name in ["ARM_OIDC_REQUEST_URL, ARM_CLIENT_SECRET", "GH_TOKEN", "KUBE_PASSWORD"] {
        assert!(output.stderr.contains(&format!("without {name} of your environment")), "{}", output.stderr);
    }
    // People see the same by name, and by which way; nothing is asked for it.
    let env = user.credmint(&["env", "--provider", "gitlab", "--provider", "azure-token"]).stdout;
    assert!(env.contains("# GITLAB_TOKEN (of provider/gitlab, gitlab: in the environment, the same to"), "{env}");
    let explained = user.credmint(&["explain", "provider/gitlab"]).stdout;
    assert!(explained.contains("  in exec    gitlab, in the environment, the same to the end"), "{explained}");
    user.canary.check(&user.home);
}

#[test]
fn what_is_asked_at_an_endpoint_is_counted_and_written_down_and_a_locked_agent_gives_nothing() {
    let (provider, sts) = started(3600);
    let (mut user, _) = user_with(&provider, "sts.amazonaws.com", &aws("prod", &sts));
    let (port, audit) = (credmint_test_kit::random::free_port(), user.home.path().join("audit.jsonl"));
    let lines = format!("[bridge]\nmetrics_port = {port}\naudit = \"{}\"\n", audit.display());
    user.home.write(".config/credmint/config.d/watched.toml", lines);
    let (mut running, variables) = waiting(&user, &["prod"]);
    let (address, bearer) = aws_endpoint(&variables);

    // 1. Who has the right to ask is counted, and has a line; who has not, neither.
    assert_eq!(ask(&variables).status, 200);
    assert_eq!(Request::new("GET", address).header("Authorization", "guessed").send().status, 401);
    // 2. Locked, it gives nothing and says why in a sentence, for good: no client tries again.
    let lock = |verb: &str| user.home.run("credmint").arg(verb).input("correct horse battery staple\n").output();
    lock("lock").success();
    let refused = ask(&variables);
    assert_eq!((refused.status, &refused.json()["code"]), (403, &json!("Forbidden")), "{}", refused.body);
    assert!(
        refused.body.contains("credmint is locked") && refused.body.contains("credmint unlock"),
        "{}",
        refused.body
    );
    // 3. Unlocked, the same run goes on with the same keys.
    lock("unlock").success();
    assert_eq!((ask(&variables).status, sts.granted()), (200, 1));
    let samples = metrics::read(&Request::new("GET", &format!("http://127.0.0.1:{port}/metrics")).send().body);
    let labels = [("host", "provider/prod"), ("service", "credentials"), ("status", "200")];
    assert_eq!(metrics::value(&samples, "credmint_requests_total", &labels), Some(2.0));
    running.type_line("go");
    assert_eq!(running.output().code, Some(0));
    let lines: Vec<serde_json::Value> =
        user.home.read("audit.jsonl").lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    for line in lines {
        assert_eq!(
            (&line["host"], &line["identity"], &line["status"]),
            (&json!("provider/prod"), &json!("job"), &json!(200))
        );
        assert_eq!((&line["method"], &line["path"]), (&json!("GET"), &json!("/.provider/aws-container")));
    }
    user.canary.watch("token of the endpoint", bearer);
    user.canary.allow_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    check(&mut user, &sts);
}
