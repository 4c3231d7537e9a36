//! docker: docker-py's store of credentials asks `docker-credential-credmint`, as docker itself does.
//! The token is the real OpenID Provider's.

use std::ffi::OsString;

use credmint_stories::{User, env_identity};
use credmint_test_kit::home::executable;
use credmint_test_kit::{OpenIdProvider, Output, clients};
use serde_json::{Value, json};

/// Runs a piece of Python that finds the programs of a directory on PATH.
fn python(user: &User, directory: OsString, program: &str) -> Output {
    let mut path = directory;
    path.push(":");
    path.push(user.home.environment()[&OsString::from("PATH")].clone());
    clients::python(&user.home, program).env("PATH", path).answer().output()
}

const ASK: &str = r#"
import json, docker.credentials as credentials
store = credentials.Store("credmint")
answers = []
for server in ["registry.corp.example", "https://registry.corp.example", "https://index.docker.io/v1/"]:
    try: answers.append(store.get(server))
    except credentials.CredentialsNotFound: answers.append("not found")
    except credentials.StoreError as error: answers.append("failed: " + str(error))
print(json.dumps(answers))
"#;

#[test]
fn docker_py_has_the_token_of_our_registries_and_finds_none_for_others() {
    let provider = OpenIdProvider::start();
    let token = provider.token_for("alice", "registry.corp.example", 600);
    let mut user = User::move_in();
    user.secret_variable("WORKLOAD_TOKEN", "subject token", &token);
    let table = "[issuer.x]\nkind = \"oidc\"\n\n[provider.prod]\nidentity = \"job\"\nissuer = \"x\"\nhosts = [\"registry.corp.example\"]\n";
    user.settings(&(env_identity("WORKLOAD_TOKEN") + table));
    let program = executable("docker-credential-credmint");
    let directory = || program.parent().map(|path| path.as_os_str().to_owned()).unwrap_or_default();
    let answers: Value = python(&user, directory(), ASK).success().json();
    for answer in [&answers[0], &answers[1]] {
        assert!(answer["Username"] == json!("oauth2") && answer["Secret"] == json!(token), "another credential");
    }
    assert_eq!(answers[2], "not found");
    // Nobody is there: a failure, and not "not found", after which docker would go on anonymously.
    user.home.set("WORKLOAD_TOKEN", "");
    let answers: Value = python(&user, directory(), ASK).success().json();
    assert!(answers[0].as_str().is_some_and(|text| text.starts_with("failed: ")), "{answers}");
    user.canary.check(&user.home);
}

/// Prints one line for each row of the table.
const TABLE: &str = r#"
import json, os, docker.credentials as credentials
good = {"ServerURL": "https://r.example", "Username": "u", "Secret": "s"}
rows = [
  ("whole", json.dumps(good), "", 0), ("a line break after", json.dumps(good) + "\n", "", 0), ("more fields", json.dumps(good | {"More": 1}), "", 0),
  ("a byte order mark", "\ufeff" + json.dumps(good), "", 0), ("two objects", json.dumps(good) * 2, "", 0), ("nothing", "", "", 0), ("no Secret", json.dumps({"Username": "u"}), "", 0),
  ("no ServerURL", json.dumps({"Username": "u", "Secret": "s"}), "", 0), ("lower case", json.dumps({k.lower(): v for k, v in good.items()}), "", 0),
  ("text after", json.dumps(good) + " x", "", 0), ("noise on stderr", json.dumps(good), "warning", 0),
  ("not found on stdout", "credentials not found in native keychain\n", "", 1), ("not found on stderr", "", "credentials not found in native keychain\n", 1),
  ("exit status 1", json.dumps(good), "", 1),
]
for name, out, error, status in rows:
    json.dump([out, error, status], open(os.environ["HOME"] + "/row.json", "w"))
    try: told = "taken" if credentials.Store("stub").get("https://r.example")["Secret"] == "s" else "other"
    except credentials.CredentialsNotFound: told = "not found"
    except Exception: told = "refused"
    print(name + ": " + told)
"#;

const STUB: &str = "#!/usr/bin/env python3\nimport json, os, sys\nsys.stdin.read()\n\
                    out, error, status = json.load(open(os.environ['HOME'] + '/row.json'))\n\
                    sys.stdout.write(out); sys.stderr.write(error); sys.exit(status)\n";

#[test]
fn docker_py_takes_and_refuses_what_the_table_of_the_facts_says() -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let user = User::move_in();
    let stub = user.home.write("bin/docker-credential-stub", STUB);
    std::fs::set_permissions(&stub, std::fs::Permissions::from_mode(0o700))?;
    let told = python(&user, user.home.path().join("bin").into_os_string(), TABLE).success().stdout;
    let expected = "whole: taken\na line break after: taken\nmore fields: taken\na byte order mark: refused\n\
                    two objects: refused\nnothing: refused\nno Secret: refused\nno ServerURL: taken\nlower case: refused\n\
                    text after: refused\nnoise on stderr: taken\nnot found on stdout: not found\nnot found on stderr: refused\n\
                    exit status 1: refused\n";
    assert_eq!(told, expected);
    Ok(())
}
