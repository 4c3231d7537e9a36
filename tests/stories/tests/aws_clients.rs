//! AWS: boto3, the aws command line and the SDK for Go ask `credmint-aws` by a profile, and sign with what they got.
//! The token is the real OpenID Provider's; STS is a strict fake that verifies it, and the signatures made with its keys.

use credmint_stories::{User, env_identity};
use credmint_test_kit::home::executable;
use credmint_test_kit::{Moto, OpenIdProvider, Output, Sts, clients, encoding, sts};
use serde_json::{Value, json};

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
fn the_keys_of_a_chain_are_those_of_its_last_role() {
    let provider = OpenIdProvider::start();
    let sts = Sts::start(&provider);
    let user = moved_in(&sts, &provider.token_for("alice", sts::AUDIENCE, 600));
    let settings = user.home.read(".config/credmint/config.toml");
    let line = "session_name = \"{email}\"";
    let chained = |role: &str| settings.replace(line, &format!("{line}\nthen = [\"{role}\"]"));
    user.settings(&chained(sts::NEXT));
    let told = caller(&user, &[]).success().json();
    assert_eq!(told["Arn"], "arn:aws:sts::210987654321:assumed-role/deploy/alice@corp.example");
    // Our own signature is judged as the client's is.
    let calls = sts.asked("AssumeRole");
    assert!(calls.len() == 1 && calls[0].refused.is_empty(), "{calls:?}");
    // A role that this one may not assume: the client shows which call was refused.
    user.settings(&chained("arn:aws:iam::210987654321:role/owner"));
    let told = caller(&user, &[]);
    assert!(told.code != Some(0) && told.stderr.contains("sts:AssumeRole"), "{}", told.stderr);
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

/// The rows: what a program prints on standard output and on standard error, its exit status, and whether botocore and the SDK for Go take it.
fn rows() -> Vec<(&'static str, String, &'static str, i32, [bool; 2])> {
    let in_an_hour = encoding::rfc3339(encoding::unix_time() + 3_600);
    let local = in_an_hour.trim_end_matches('Z').to_owned();
    let good = json!({ "Version": 1, "AccessKeyId": "AKID", "SecretAccessKey": "stub", "SessionToken": "stub", "Expiration": in_an_hour });
    let with = |name: &str, value: Value| clients::row_with(&good, name, value);
    let without = |name: &str| clients::row_without(&good, name);
    let ends = |text: &str| with("Expiration", json!(text));
    let whole = good.to_string();
    let lower = whole
        .replace("AccessKeyId", "accesskeyid")
        .replace("SecretAccessKey", "secretaccesskey")
        .replace("Version", "version");
    let (both, none, botocore, go) = ([true, true], [false, false], [true, false], [false, true]);
    let renamed = whole.replace("SessionToken", "Token");
    vec![
        ("whole", whole.clone(), "", 0, both),
        ("whole, with line breaks", format!("{whole}\n\n"), "", 0, both),
        ("whole, on several lines", format!("{good:#}"), "", 0, both),
        ("unknown fields", with("More", json!({ "a": null })), "", 0, both),
        ("no Expiration", without("Expiration"), "", 0, both),
        ("Expiration is null", with("Expiration", Value::Null), "", 0, both),
        ("empty Expiration", ends(""), "", 0, none),
        ("Expiration is a number", with("Expiration", json!(4_000_000_000_u64)), "", 0, none),
        ("Expiration is a number in a text", ends("4000000000"), "", 0, none),
        ("Expiration without zone", ends(&local), "", 0, none),
        ("Expiration with an offset", ends("2099-01-01T05:30:00+05:30"), "", 0, both),
        ("Expiration with fractions", ends(&format!("{local}.123456Z")), "", 0, both),
        ("Expiration with a space", ends(&in_an_hour.replace('T', " ")), "", 0, botocore),
        ("over already", ends("2020-01-01T00:00:00Z"), "", 0, go),
        ("over in five minutes", ends(&encoding::rfc3339(encoding::unix_time() + 300)), "", 0, both),
        ("Version is a text", with("Version", json!("1")), "", 0, none),
        ("Version 2", with("Version", json!(2)), "", 0, none),
        ("Version 1.0", with("Version", json!(1.0)), "", 0, botocore),
        ("no Version", without("Version"), "", 0, none),
        ("lower case", lower, "", 0, go),
        ("empty AccessKeyId", with("AccessKeyId", json!("")), "", 0, botocore),
        ("Token in place of SessionToken", renamed, "", 0, both),
        ("text before", format!("hello\n{whole}"), "", 0, none),
        ("text after", format!("{whole} bye"), "", 0, none),
        ("two objects", whole.repeat(2), "", 0, none),
        ("a byte order mark", format!("\u{feff}{whole}"), "", 0, none),
        ("nothing", String::new(), "", 0, none),
        ("noise on stderr", whole.clone(), "warning", 0, both),
        ("exit status 1", whole, "", 1, none),
    ]
}

/// Says of each row whether botocore took its keys.
const TABLE: &str = r#"
import json, os, botocore.session
home = os.environ["HOME"]
for row in json.load(open(home + "/rows.json")):
    with open(home + "/stub.json", "w") as file: json.dump(row, file)
    try:
        botocore.session.Session(profile="stub").get_credentials().get_frozen_credentials()
        print("taken")
    except Exception: print("refused")
"#;

const STUB: &str = "#!/usr/bin/env python3\nimport json, os, sys\nout, error, status = json.load(open(os.environ['HOME'] + '/stub.json'))\n\
                    sys.stdout.write(out); sys.stderr.write(error); sys.exit(status)\n";

#[test]
fn botocore_and_the_sdk_for_go_take_and_refuse_what_the_table_of_the_facts_says() {
    let mut user = User::move_in();
    let stub = user.home.write("stub.py", STUB);
    let profile =
        format!("[profile stub]\nregion = {}\ncredential_process = python3 -S {}\n", sts::REGION, stub.display());
    user.home.write(".aws/config", profile);
    user.home.set("PYTHONIOENCODING", "utf-8");
    user.home.set("AWS_EC2_METADATA_DISABLED", "true");
    let rows = rows();
    let printed: Vec<_> = rows.iter().map(|(_, out, error, status, _)| json!([out, error, status])).collect();
    user.home.write("rows.json", json!(printed).to_string());
    let botocore = clients::python(&user.home, TABLE).output().success().stdout;
    let go = clients::aws_go(&user.home, "rows").output().success().stdout;
    let told: Vec<_> =
        botocore.lines().zip(go.lines()).map(|(one, other)| [one == "taken", other == "taken"]).collect();
    assert_eq!(told.len(), rows.len());
    for ((name, .., expected), told) in rows.iter().zip(&told) {
        assert_eq!(told, expected, "{name}: botocore, the SDK for Go");
    }
}

#[test]
fn the_sdk_for_go_signs_with_keys_that_are_good() {
    let provider = OpenIdProvider::start();
    let sts = Sts::start(&provider);
    let user = moved_in(&sts, &provider.token_for("alice", sts::AUDIENCE, 600));
    let ask = || {
        clients::aws_go(&user.home, "identity").env("AWS_PROFILE", "prod").env("STS_ENDPOINT", sts.address()).output()
    };
    assert_eq!(ask().success().stdout, format!("{IDENTITY} ProcessProvider\n"));
    let calls = sts.asked("GetCallerIdentity");
    assert!(calls.len() == 1 && calls[0].refused.is_empty() && calls[0].session == "alice@corp.example", "{calls:?}");
    // It shows what the program says to a person, and fails.
    let other = OpenIdProvider::start();
    let user_of_another = moved_in(&sts, &other.token_for("alice", sts::AUDIENCE, 600));
    let told = clients::aws_go(&user_of_another.home, "identity")
        .env("AWS_PROFILE", "prod")
        .env("STS_ENDPOINT", sts.address())
        .output();
    assert!(told.code == Some(1) && told.stderr.contains("No OpenIDConnect provider found"), "{}", told.stderr);
    check(user_of_another, &sts);
    check(user, &sts);
}
