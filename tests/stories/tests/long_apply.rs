//! A long apply: the real terraform, whose steps ask for keys again and again with the real boto3 while three generations of keys end.
//! The agent renews them; STS is a strict fake that grants keys for seconds, where the real one has a quarter of an hour, and refuses those that are over.

use std::path::PathBuf;

use credmint_stories::{User, env_identity, terraform};
use credmint_test_kit::home::executable;
use credmint_test_kit::{OpenIdProvider, Output, Run, Sts, peer, sts};

/// How long keys live, in seconds.
const LIFE: u64 = 6;

/// Goes on signing with one session, as a provider does, until it has other keys than the step before; no answer may be over.
const STEP: &str = r#"
import datetime, json, os, pathlib, time, urllib.request, boto3
session, last, calls = boto3.Session(), pathlib.Path("last"), 0
before, end = last.read_text() if last.exists() else "", time.monotonic() + 30
while True:
    session.client("sts").get_caller_identity()
    calls += 1
    keys = session.get_credentials()
    now = keys.get_frozen_credentials().access_key
    assert keys._expiry_time > datetime.datetime.now(datetime.timezone.utc), "over already"
    if now != before: break
    assert time.monotonic() < end, "the same keys for half a minute"
    time.sleep(0.05)
last.write_text(now)
print("asked as", session.get_credentials().method, "with", now, "after", calls)
"#;

/// Five steps, one after the other.
fn configuration(user: &User) -> PathBuf {
    let step = user.home.write("step.py", STEP);
    let mut text = String::new();
    for number in 0..5_u32 {
        let after = number.checked_sub(1).map(|before| format!("depends_on = [terraform_data.step{before}]"));
        text += &format!(
            "resource \"terraform_data\" \"step{number}\" {{\n  {}\n  provisioner \"local-exec\" {{\n    command = \"python3 {}\"\n  }}\n}}\n\n",
            after.unwrap_or_default(),
            step.display()
        );
    }
    let file = user.home.write("long/main.tf", text);
    file.parent().map(PathBuf::from).unwrap_or_default()
}

fn moved_in(sts: &Sts, token: &str) -> User {
    let mut user = User::move_in();
    user.secret_variable("WORKLOAD_TOKEN", "subject token", token);
    let provider = "[provider.prod]\nidentity = \"job\"\nissuer = \"aws\"\n";
    user.settings(&(env_identity("WORKLOAD_TOKEN") + &sts.issuer("aws", "") + provider));
    for (name, value) in [
        ("AWS_ENDPOINT_URL", sts.address()),
        ("AWS_REGION", sts::REGION),
        ("AWS_DEFAULT_REGION", sts::REGION),
        ("AWS_EC2_METADATA_DISABLED", "true"),
        ("PYTHONDONTWRITEBYTECODE", "1"),
    ] {
        user.home.set(name, value);
    }
    user.home.set("PYTHONPATH", peer::installed("python-clients"));
    user
}

/// Holds an apply against what STS saw.
fn judge(mut user: User, sts: &Sts, applied: &Output, method: &str) {
    let told = format!("{}{}", applied.stdout, applied.stderr);
    assert!(applied.code == Some(0) && told.contains("5 added"), "{told}");
    assert_eq!(told.matches(&format!("asked as {method} with ")).count(), 5, "{told}");
    // Every call was signed with keys that were good when it came.
    let calls = sts.asked("GetCallerIdentity");
    assert!(calls.len() >= 5 && calls.iter().all(|call| call.refused.is_empty()), "{calls:?}");
    // Five generations, so that three and more have ended; one exchange made each, and not every request one.
    assert!(applied.took.as_secs() > 2 * LIFE, "{:?}", applied.took);
    assert!((5..12).contains(&sts.granted()), "{} grants for {} calls", sts.granted(), calls.len());
    for secret in sts.secrets() {
        user.canary.watch("secret of AWS", secret);
    }
    user.canary.check(&user.home);
}

fn apply<'home>(run: Run<'home>, user: &User) -> Run<'home> {
    let run = run.args(["apply", "-auto-approve", "-input=false", "-no-color"]);
    run.in_directory(configuration(user)).env("TF_IN_AUTOMATION", "1")
}

#[test]
fn an_apply_goes_on_by_the_endpoint_of_its_run_while_three_generations_of_keys_end() {
    let Some(terraform) = terraform() else { return };
    let provider = OpenIdProvider::start();
    let sts = Sts::start_with(&provider, LIFE, false);
    let user = moved_in(&sts, &provider.token_for("alice", sts::AUDIENCE, 600));
    terraform.init(&user.home, &configuration(&user)).success();
    let run = user.home.run(executable("credmint")).args(["exec", "--provider", "prod", "--", "terraform"]);
    let applied = apply(run, &user).output();
    judge(user, &sts, &applied, "container-role");
}
