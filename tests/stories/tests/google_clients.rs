//! Google: google-auth and google-auth-library ask `credmint-google` by an external account, and exchange what they got.
//! The token is the real OpenID Provider's; the Security Token Service is a fake on loopback, because the real one needs a project.

use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use credmint_stories::{User, env_identity};
use credmint_test_kit::arrived::{Arrived, answer_json};
use credmint_test_kit::home::executable;
use credmint_test_kit::{OpenIdProvider, clients};
use serde_json::json;

const AUDIENCE: &str = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/credmint";

/// A Security Token Service that gives a token for one subject token and refuses all others.
struct GoogleSts {
    address: String,
    exchanged: Arc<Mutex<Vec<bool>>>,
}

impl GoogleSts {
    fn start(token: &str) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = format!("http://{}/v1/token", listener.local_addr()?);
        let exchanged = Arc::new(Mutex::new(Vec::new()));
        let (kept, token) = (Arc::clone(&exchanged), token.to_owned());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = answer(stream, &token, &kept);
            }
        });
        Ok(Self { address, exchanged })
    }

    fn exchanged(&self) -> Vec<bool> {
        self.exchanged.lock().map(|exchanged| exchanged.clone()).unwrap_or_default()
    }
}

fn answer(stream: TcpStream, token: &str, kept: &Mutex<Vec<bool>>) -> std::io::Result<()> {
    let arrived = Arrived::read(&stream)?;
    let body = String::from_utf8_lossy(&arrived.body).into_owned();
    let has = |pair: &str| body.split('&').any(|one| one == pair);
    let good = has(&format!("subject_token={token}"))
        && has("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange")
        && has("subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Ajwt");
    if let Ok(mut kept) = kept.lock() {
        kept.push(good);
    }
    let (status, reply) = match good {
        true => {
            let kind = "urn:ietf:params:oauth:token-type:access_token";
            let reply = json!({ "access_token": "ya29.fake", "issued_token_type": kind, "token_type": "Bearer", "expires_in": 3600 });
            ("200 OK", reply)
        }
        false => ("400 Bad Request", json!({ "error": "invalid_grant" })),
    };
    answer_json(&stream, status, &reply)
}

fn moved_in(sts: &GoogleSts, token: &str) -> User {
    let mut user = User::move_in();
    user.secret_variable("WORKLOAD_TOKEN", "subject token", token);
    let table = "[issuer.x]\nkind = \"oidc\"\n\n[provider.prod]\nidentity = \"job\"\nissuer = \"x\"\n";
    user.settings(&(env_identity("WORKLOAD_TOKEN") + table));
    account(&mut user, &sts.address, &format!("{} prod", executable("credmint-google").display()));
    user
}

/// Writes the external account, whose file holds no secret.
fn account(user: &mut User, token_url: &str, command: &str) {
    let account = json!({
        "type": "external_account", "audience": AUDIENCE, "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": token_url,
        "credential_source": { "executable": { "command": command, "timeout_millis": 30000 } },
    });
    let file = user.home.write("account.json", account.to_string());
    user.home.set("GOOGLE_APPLICATION_CREDENTIALS", file);
    user.home.set("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES", "1");
}

/// Has a token, then another after it says that the first is over.
const PYTHON: &str = r#"
import datetime, os, google.auth.pluggable as pluggable, google.auth.transport.requests as transport
scopes = ["https://www.googleapis.com/auth/cloud-platform"]
credentials = pluggable.Credentials.from_file(os.environ["GOOGLE_APPLICATION_CREDENTIALS"], scopes=scopes)
for turn in range(4):
    credentials.before_request(transport.Request(), "GET", "https://storage.googleapis.com/", {})
    print(credentials.token)
    credentials.expiry = credentials.expiry - datetime.timedelta(minutes=58)
"#;

const NODE: &str = r#"
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
const { ExternalAccountClient } = createRequire(process.env.LIBRARIES + '/')('google-auth-library');
const account = JSON.parse(readFileSync(process.env.GOOGLE_APPLICATION_CREDENTIALS));
const client = ExternalAccountClient.fromJSON({ ...account, scopes: ['https://www.googleapis.com/auth/cloud-platform'] });
try {
  for (let turn = 0; turn < 4; turn++) {
    console.log((await client.getAccessToken()).token);
    client.cachedAccessToken.expiry_date -= 58 * 60 * 1000;
  }
} catch (error) { console.error(error.message); process.exit(1); }
"#;

#[test]
fn google_auth_exchanges_the_token_and_asks_again_before_each_end() -> std::io::Result<()> {
    let provider = OpenIdProvider::start();
    let token = provider.token_for("alice", AUDIENCE, 600);
    let sts = GoogleSts::start(&token)?;
    let user = moved_in(&sts, &token);
    let told = clients::python(&user.home, PYTHON).output().success();
    assert_eq!(told.stdout, "ya29.fake\n".repeat(4));
    assert_eq!(sts.exchanged(), [true; 4]);
    user.canary.check(&user.home);
    Ok(())
}

#[test]
fn google_auth_library_exchanges_the_token_and_asks_again_before_each_end() -> std::io::Result<()> {
    let provider = OpenIdProvider::start();
    let token = provider.token_for("alice", AUDIENCE, 600);
    let sts = GoogleSts::start(&token)?;
    let user = moved_in(&sts, &token);
    let told = clients::node(&user.home, NODE).output().success();
    assert_eq!(told.stdout, "ya29.fake\n".repeat(4));
    assert_eq!(sts.exchanged(), [true; 4]);
    user.canary.check(&user.home);
    Ok(())
}

#[test]
fn both_libraries_show_why_there_is_no_token_and_no_secret() -> std::io::Result<()> {
    let provider = OpenIdProvider::start();
    let token = provider.token_for("alice", AUDIENCE, -60);
    let sts = GoogleSts::start(&token)?;
    let user = moved_in(&sts, &token);
    let own = user.home.run("credmint-google").arg("prod").answer().output().success();
    assert!(own.stderr.is_empty() && own.json()["success"] == json!(false), "{}", own.stderr);
    let reason = own.json()["message"].as_str().unwrap_or_default().split(';').next().unwrap_or_default().to_owned();
    assert!(!reason.is_empty());
    for told in [clients::python(&user.home, PYTHON).output(), clients::node(&user.home, NODE).output()] {
        assert!(told.code != Some(0) && told.stderr.contains(&reason), "{reason}: {}", told.stderr);
    }
    assert!(sts.exchanged().is_empty());
    user.canary.check(&user.home);
    Ok(())
}

/// The rows, as JSON: what a program prints on standard output and on standard error, and its exit status.
fn rows() -> serde_json::Value {
    let jwt = "urn:ietf:params:oauth:token-type:jwt";
    let good = json!({ "version": 1, "success": true, "token_type": jwt, "id_token": "stub", "expiration_time": 4_000_000_000_u64 });
    let with = |name: &str, value: serde_json::Value| clients::row_with(&good, name, value);
    let without = |name: &str| clients::row_without(&good, name);
    let whole = good.to_string();
    json!([
        ["whole", whole, "", 0],
        ["line breaks around", format!("\n{whole}\n\n"), "", 0],
        ["unknown fields", with("more", json!({})), "", 0],
        ["no expiration_time", without("expiration_time"), "", 0],
        ["expiration_time is a text", with("expiration_time", json!("4000000000")), "", 0],
        ["expiration_time is a number with fractions", with("expiration_time", json!(4_000_000_000.5)), "", 0],
        ["expiration_time is null", with("expiration_time", json!(null)), "", 0],
        ["expiration_time in milliseconds", with("expiration_time", json!(4_000_000_000_000_u64)), "", 0],
        ["type of an access token", with("token_type", json!("urn:ietf:params:oauth:token-type:access_token")), "", 0],
        ["a byte order mark", format!("\u{feff}{whole}"), "", 0],
        ["on stderr alone", "", whole, 0],
        ["a failure", r#"{"version":1,"success":false,"code":"401","message":"no"}"#, "", 0],
        ["over already", with("expiration_time", json!(1)), "", 0],
        ["version 2", with("version", json!(2)), "", 0],
        ["no success", without("success"), "", 0],
        ["no token_type", without("token_type"), "", 0],
        ["version 0", with("version", json!(0)), "", 0],
        ["success is a text", with("success", json!("true")), "", 0],
        ["noise on stderr", whole, "warning", 0],
        ["text after", format!("{whole} x"), "", 0],
        ["nothing", "", "", 0],
        ["exit status 1", whole, "", 1],
    ])
}

const STUB: &str = "import json, os, sys\n_, out, error, status = json.load(open(os.environ['HOME'] + '/row.json'))\n\
                    sys.stdout.write(out); sys.stdout.flush(); sys.stderr.write(error); sys.exit(status)\n";

const PYTHON_TABLE: &str = r#"
import json, os, google.auth.pluggable as pluggable, google.auth.transport.requests as transport
home = os.environ["HOME"]
for row in json.load(open(home + "/rows.json")):
    json.dump(row, open(home + "/row.json", "w"))
    credentials = pluggable.Credentials.from_file(os.environ["GOOGLE_APPLICATION_CREDENTIALS"])
    try: credentials.retrieve_subject_token(transport.Request()); print(row[0] + ": taken")
    except Exception: print(row[0] + ": refused")
"#;

const NODE_TABLE: &str = r#"
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
const { ExternalAccountClient } = createRequire(process.env.LIBRARIES + '/')('google-auth-library');
const account = JSON.parse(readFileSync(process.env.GOOGLE_APPLICATION_CREDENTIALS));
const home = process.env.HOME;
for (const row of JSON.parse(readFileSync(home + '/rows.json'))) {
  writeFileSync(home + '/row.json', JSON.stringify(row));
  const client = ExternalAccountClient.fromJSON(account);
  try { await client.retrieveSubjectToken(); console.log(row[0] + ': taken'); }
  catch { console.log(row[0] + ': refused'); }
}
"#;

#[test]
fn both_libraries_take_and_refuse_what_the_table_of_the_facts_says() {
    let mut user = User::move_in();
    let stub = user.home.write("stub.py", STUB);
    user.home.write("rows.json", rows().to_string());
    account(&mut user, "http://127.0.0.1:9/", &format!("python3 {}", stub.display()));
    let python = clients::python(&user.home, PYTHON_TABLE).output().success().stdout;
    let node = clients::node(&user.home, NODE_TABLE).output().success().stdout;
    let common = "whole: taken\nline breaks around: taken\nunknown fields: taken\nno expiration_time: taken\n";
    let refused = "over already: refused\nversion 2: refused\nno success: refused\nno token_type: refused\n";
    let end = "noise on stderr: refused\ntext after: refused\nnothing: refused\nexit status 1: refused\n";
    let more = "expiration_time is a number with fractions: taken\nexpiration_time is null: refused\n\
                expiration_time in milliseconds: taken\ntype of an access token: refused\na byte order mark: refused\n\
                on stderr alone: taken\na failure: refused\n";
    // They differ in two rows: neither is ours.
    let of_python = "expiration_time is a text: refused\n";
    assert_eq!(python, format!("{common}{of_python}{more}{refused}version 0: taken\nsuccess is a text: taken\n{end}"));
    let of_node = "expiration_time is a text: taken\n";
    assert_eq!(node, format!("{common}{of_node}{more}{refused}version 0: refused\nsuccess is a text: taken\n{end}"));
}
