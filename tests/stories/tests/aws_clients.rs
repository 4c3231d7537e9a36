//! AWS: boto3 and the aws command line ask `credmint-aws` by a profile, and sign with what they got.
//! The token is the real OpenID Provider's; STS is a strict fake that verifies it, and the signatures made with its keys.

use credmint_stories::{User, env_identity};
use credmint_test_kit::home::executable;
use credmint_test_kit::{Moto, OpenIdProvider, Output, Sts, clients, sts};

/// A home with a profile `prod`, whose keys the fake of STS grants for the token of WORKLOAD_TOKEN.
fn moved_in(sts: &Sts, token: &str) -> User {
    let mut user = User::move_in();
    user.secret_variable("WORKLOAD_TOKEN", "subject token", token);
    let provider = "[provider.prod]\nidentity = \"job\"\nissuer = \"aws\"\n";
    user.settings(&(env_identity("WORKLOAD_TOKEN") + &sts.issuer("aws", "session_name = \"{email}\"") + provider));
    let program = executable("credmint-aws");
    let (region, address) = (sts::REGION, sts.address());
    let profile = format!(
        "[profile prod]\nregion = {region}\nendpoint_url = {address}\ncredential_process = {} prod\n",
        program.display()
    );
    user.home.write(".aws/config", profile);
    user.home.set("AWS_EC2_METADATA_DISABLED", "true");
    user
}

/// Shows the canary what STS handed out, and looks for it.
fn check(mut user: User, sts: &Sts) {
    for secret in sts.secrets() {
        user.canary.watch("secret of AWS", secret);
    }
    user.canary.check(&user.home);
}

const IDENTITY: &str = "arn:aws:sts::123456789012:assumed-role/build/alice@corp.example";

fn caller(user: &User, more: &[&str]) -> Output {
    let arguments = ["sts", "get-caller-identity", "--profile", "prod", "--output", "json"];
    clients::aws(&user.home).args(arguments).args(more.iter().copied()).output()
}

#[test]
fn the_aws_command_line_signs_with_keys_that_are_good() {
    let provider = OpenIdProvider::start();
    let sts = Sts::start(&provider);
    let user = moved_in(&sts, &provider.token_for("alice", sts::AUDIENCE, 600));
    let told = caller(&user, &[]).success().json();
    assert_eq!(told["Arn"], IDENTITY);
    let calls = sts.asked("GetCallerIdentity");
    assert!(calls.len() == 1 && calls[0].refused.is_empty() && calls[0].session == "alice@corp.example", "{calls:?}");
    // The next process asks the program again; the agent still has the keys.
    caller(&user, &[]).success();
    assert_eq!(sts.asked("AssumeRoleWithWebIdentity").len(), 1);
    check(user, &sts);
}

#[test]
fn what_sts_refuses_is_one_line_of_the_clients_and_tells_no_secret() {
    let provider = OpenIdProvider::start();
    let other = OpenIdProvider::start();
    let sts = Sts::start(&provider);
    for (token, reason) in [
        (provider.token_for("alice", "vault", 600), "Incorrect token audience"),
        (other.token_for("alice", sts::AUDIENCE, 600), "No OpenIDConnect provider found"),
        (format!("{}AAAA", provider.token_for("alice", sts::AUDIENCE, 600)), "verify the signature"),
    ] {
        let user = moved_in(&sts, &token);
        // 1. The program alone: an exit status, nothing on standard output, one line and a hint.
        let own = user.home.run("credmint-aws").arg("prod").answer().output();
        assert!(own.code != Some(0) && own.stdout.is_empty(), "{:?}", own.code);
        assert!(own.stderr.contains(reason) && own.stderr.lines().count() <= 2, "{}", own.stderr);
        // 2. The client fails with that line, and nothing was signed.
        let told = caller(&user, &[]);
        assert!(told.code != Some(0) && told.stderr.contains(reason), "{}", told.stderr);
        assert!(sts.asked("GetCallerIdentity").is_empty());
        check(user, &sts);
    }
}

#[test]
fn keys_in_the_form_of_moto_are_read_and_signed_with() {
    let provider = OpenIdProvider::start();
    let (moto, sts) = (Moto::start(), Sts::start(&provider));
    let user = moved_in(&sts, &provider.token_for("alice", sts::AUDIENCE, 600));
    // moto verifies nothing: what it is here for is the shape of what it answers, both to us and to the client.
    for file in [".aws/config", ".config/credmint/config.toml"] {
        user.home.write(file, user.home.read(file).replace(sts.address(), moto.address()));
    }
    let told = caller(&user, &[]).success().json();
    assert!(told["Arn"].as_str().is_some_and(|arn| arn.ends_with(":assumed-role/build/alice@corp.example")), "{told}");
    check(user, &sts);
}

/// Walks through three ends of life by the client's own clock. The agent ends before each, so that the keys are new.
const LONG_RUN: &str = r#"
import datetime, os, subprocess, boto3
real, ahead = lambda: datetime.datetime.now(datetime.timezone.utc), datetime.timedelta()
session = boto3.Session(profile_name="prod")
session.get_credentials()._time_fetcher = lambda: real() + ahead
keys = []
for turn in range(4):
    print(session.client("sts").get_caller_identity()["Arn"])
    keys.append(session.get_credentials().get_frozen_credentials().access_key)
    # Two minutes before the end that was announced.
    end = session.get_credentials()._expiry_time
    ahead = end - real() - datetime.timedelta(minutes=2)
    subprocess.run([os.environ["CREDMINT"], "agent", "stop"], check=True, stdout=subprocess.DEVNULL)
print(len(set(keys)))
"#;

#[test]
fn boto3_asks_again_before_each_of_three_ends_of_life() {
    let provider = OpenIdProvider::start();
    let sts = Sts::start_with(&provider, 3_600, true);
    let user = moved_in(&sts, &provider.token_for("alice", sts::AUDIENCE, 600));
    let run = clients::python(&user.home, LONG_RUN).env("CREDMINT", executable("credmint"));
    let told = run.output().success().stdout;
    assert_eq!(told, format!("{IDENTITY}\n{IDENTITY}\n{IDENTITY}\n{IDENTITY}\n4\n"));
    let exchanges = sts.asked("AssumeRoleWithWebIdentity");
    assert!(exchanges.len() == 4 && exchanges.iter().all(|call| call.refused.is_empty()), "{exchanges:?}");
    assert!(sts.asked("GetCallerIdentity").iter().all(|call| call.refused.is_empty()));
    check(user, &sts);
}

/// Prints one line for each row of the table: whether botocore took what a program printed.
const TABLE: &str = r#"
import json, os, stat, sys, botocore.session
from datetime import datetime, timedelta, timezone
hour = datetime.now(timezone.utc) + timedelta(hours=1)
good = {"Version": 1, "AccessKeyId": "AKID", "SecretAccessKey": "stub", "SessionToken": "stub", "Expiration": hour.strftime("%Y-%m-%dT%H:%M:%SZ")}
def without(name): return {key: value for key, value in good.items() if key != name}
offset = hour.astimezone(timezone(timedelta(hours=5, minutes=30))).isoformat(timespec="seconds")
rows = [
  ("whole", json.dumps(good), "", 0), ("whole, with a line break", json.dumps(good) + "\n\n", "", 0),
  ("unknown fields", json.dumps(good | {"More": {"a": None}}), "", 0), ("no Expiration", json.dumps(without("Expiration")), "", 0),
  ("empty Expiration", json.dumps(good | {"Expiration": ""}), "", 0), ("Expiration is a number", json.dumps(good | {"Expiration": 1893456000}), "", 0),
  ("Expiration without zone", json.dumps(good | {"Expiration": "2099-01-01T00:00:00"}), "", 0), ("Expiration with an offset", json.dumps(good | {"Expiration": offset}), "", 0),
  ("over already", json.dumps(good | {"Expiration": "2020-01-01T00:00:00Z"}), "", 0),
  ("Version is a text", json.dumps(good | {"Version": "1"}), "", 0), ("Version 2", json.dumps(good | {"Version": 2}), "", 0), ("no Version", json.dumps(without("Version")), "", 0),
  ("lower case", json.dumps({key.lower(): value for key, value in good.items()}), "", 0),
  ("text before", "hello\n" + json.dumps(good), "", 0), ("two objects", json.dumps(good) * 2, "", 0), ("nothing", "", "", 0),
  ("noise on stderr", json.dumps(good), "warning", 0), ("exit status 1", json.dumps(good), "", 1),
]
directory = os.environ["HOME"]
for name, out, error, status in rows:
    with open(directory + "/stub.json", "w") as file: json.dump([out, error, status], file)
    session = botocore.session.Session(profile="stub")
    try:
        frozen = session.get_credentials().get_frozen_credentials()
        print(name + ": " + ("taken" if frozen.access_key == "AKID" else "other"))
    except Exception: print(name + ": refused")
"#;

const STUB: &str = "#!/usr/bin/env python3\nimport json, os, sys\nout, error, status = json.load(open(os.environ['HOME'] + '/stub.json'))\n\
                    sys.stdout.write(out); sys.stderr.write(error); sys.exit(status)\n";

#[test]
fn botocore_takes_and_refuses_what_the_table_of_the_facts_says() {
    let user = User::move_in();
    let stub = user.home.write("stub.py", STUB);
    let profile = format!("[profile stub]\ncredential_process = python3 {}\n", stub.display());
    user.home.write(".aws/config", profile);
    let told = clients::python(&user.home, TABLE).output().success().stdout;
    let expected = "whole: taken\nwhole, with a line break: taken\nunknown fields: taken\nno Expiration: taken\nempty Expiration: refused\n\
                    Expiration is a number: refused\nExpiration without zone: refused\nExpiration with an offset: taken\nover already: refused\n\
                    Version is a text: refused\nVersion 2: refused\nno Version: refused\nlower case: refused\ntext before: refused\n\
                    two objects: refused\nnothing: refused\nnoise on stderr: taken\nexit status 1: refused\n";
    assert_eq!(told, expected);
}
