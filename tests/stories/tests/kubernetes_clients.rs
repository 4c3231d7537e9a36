//! Kubernetes: kubectl and the client in Python ask `credmint-kubernetes` by the exec block of a kubeconfig.
//! The token is the real OpenID Provider's, the certificate a real OpenBao's. The API server is an nginx that lets in whoever has them, or one that
//! verifies tokens as a real one does.

use credmint_stories::{AS_IT_IS, Company, User, env_identity, file_identity};
use credmint_test_kit::home::executable;
use credmint_test_kit::registry::Request;
use credmint_test_kit::{Cluster, Gate, OpenIdProvider, Output, Registry, clients};
use serde_json::{Value, json};

/// An API server with one list, for which a bearer token is wanted; without one whoever gets through TLS may read it.
fn api(gate: Gate, token: Option<&str>) -> Registry {
    let list = r#"{"kind":"NamespaceList","apiVersion":"v1","metadata":{},"items":[]}"#;
    let wanted = token.map(|token| format!("if ($http_authorization != \"Bearer {token}\") {{ return 401; }}"));
    let inside = format!("{} default_type application/json; return 200 '{list}';", wanted.unwrap_or_default());
    Registry::behind(gate).nginx(&format!("location = /api/v1/namespaces {{ {inside} }}\n")).start()
}

/// Writes a kubeconfig with an exec block.
fn kubeconfig(user: &mut User, api: &Registry, command: &str, version: &str) {
    let exec = json!({
        "apiVersion": format!("client.authentication.k8s.io/{version}"), "command": command, "args": ["prod"], "interactiveMode": "IfAvailable",
    });
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{ "name": "c", "cluster": { "server": api.address(), "certificate-authority": api.ca_file() } }],
        "users": [{ "name": "u", "user": { "exec": exec } }],
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
    });
    let file = user.home.write("kubeconfig.json", config.to_string());
    user.home.set("KUBECONFIG", file);
}

/// Gives the requests for the list; what kubectl asks beside it, the server's version, does not matter.
fn asked(api: &Registry) -> Vec<Request> {
    api.requests().into_iter().filter(|request| request.path.starts_with("/api/")).collect()
}

fn kubectl(user: &User) -> Output {
    user.home.run("kubectl").args(["get", "--raw", "/api/v1/namespaces"]).output()
}

const PYTHON: &str = r#"
from kubernetes import client, config
config.load_kube_config()
try: print(client.CoreV1Api().list_namespace().kind)
except client.exceptions.ApiException as error: print(error.status)
"#;

const PROVIDER: &str = "[provider.prod]\nidentity = \"job\"\nissuer = \"x\"\n";

#[test]
fn kubectl_and_the_client_in_python_send_the_token_in_both_versions() {
    let provider = OpenIdProvider::start();
    let token = provider.token_for("alice", "kubernetes", 600);
    let mut user = User::move_in();
    user.secret_variable("WORKLOAD_TOKEN", "subject token", &token);
    user.settings(&(env_identity("WORKLOAD_TOKEN") + "[issuer.x]\nkind = \"oidc\"\n\n" + PROVIDER));
    let api = api(Gate::Open, Some(&token));
    let program = executable("credmint-kubernetes").display().to_string();
    for version in ["v1", "v1beta1"] {
        kubeconfig(&mut user, &api, &program, version);
        assert!(kubectl(&user).success().stdout.contains("NamespaceList"));
        let told = clients::python(&user.home, PYTHON).output().success();
        assert_eq!(told.stdout, "NamespaceList\n", "{}", told.stderr);
    }
    assert_eq!(asked(&api).len(), 4);
    assert!(asked(&api).iter().all(|request| request.status == 200));
    // Nobody is there: kubectl shows our line and asks nothing; the client in Python asks without a credential.
    user.home.set("WORKLOAD_TOKEN", "");
    let (before, told) = (asked(&api).len(), kubectl(&user));
    assert!(told.code != Some(0) && told.stderr.contains("WORKLOAD_TOKEN is not set"), "{}", told.stderr);
    assert_eq!(asked(&api).len(), before);
    let told = clients::python(&user.home, PYTHON).output();
    assert!(
        told.stdout == "401\n" && told.stderr.contains("WORKLOAD_TOKEN is not set"),
        "{}{}",
        told.stdout,
        told.stderr
    );
    user.canary.check(&user.home);
}

#[test]
fn kubectl_presents_a_certificate_of_openbao() {
    let company = Company::found();
    let api = api(Gate::ClientCertificate(company.pki.path()), None);
    let mut user = User::move_in();
    let token = user.token_file(&company.provider.token_for("alice", "vault", 600));
    let provider = PROVIDER.replace("\"x\"", "\"registry-cert\"");
    user.settings(&(file_identity(&token) + &company.issuer() + &provider));
    kubeconfig(&mut user, &api, &executable("credmint-kubernetes").display().to_string(), "v1");
    assert!(kubectl(&user).success().stdout.contains("NamespaceList"));
    let requests = asked(&api);
    assert!(
        requests.len() == 1 && requests[0].verify == "SUCCESS" && requests[0].authorization.is_empty(),
        "{requests:?}"
    );
    assert!(requests[0].subject.contains("alice@corp.example"), "{requests:?}");
    user.canary.check(&user.home);
}

#[test]
fn a_token_is_verified_by_the_api_server_and_both_clients_show_that_it_is_refused() {
    let (provider, other) = (OpenIdProvider::start(), OpenIdProvider::start());
    let cluster = Cluster::start(&provider, "kubernetes");
    let api = Registry::behind(Gate::Open).nginx(&cluster.nginx()).start();
    let good = provider.token_for("alice", "kubernetes", 600);
    let forged = format!("{}AAAA", good);
    for (token, user_of) in [
        (good, "alice@corp.example"),
        (provider.token_for("alice", "vault", 600), ""),
        (other.token_for("alice", "kubernetes", 600), ""),
        (forged, ""),
    ] {
        let mut user = User::move_in();
        user.secret_variable("WORKLOAD_TOKEN", "subject token", &token);
        user.settings(&(env_identity("WORKLOAD_TOKEN") + "[issuer.x]\nkind = \"oidc\"\n\n" + PROVIDER));
        kubeconfig(&mut user, &api, &executable("credmint-kubernetes").display().to_string(), "v1");
        let (by_kubectl, by_python) = (kubectl(&user), clients::python(&user.home, PYTHON).output());
        match user_of {
            "" => {
                assert!(
                    by_kubectl.code != Some(0) && by_kubectl.stderr.contains("Unauthorized"),
                    "{}",
                    by_kubectl.stderr
                );
                assert_eq!(by_python.stdout, "401\n", "{}", by_python.stderr);
            }
            _ => {
                assert!(by_kubectl.success().stdout.contains("NamespaceList") && by_python.stdout == "NamespaceList\n")
            }
        }
        assert!(cluster.seen().iter().rev().take(2).all(|seen| seen.user == user_of), "{:?}", cluster.seen());
        user.canary.check(&user.home);
    }
}

#[test]
fn kubectl_presents_certificate_and_token_together() {
    let company = Company::found();
    let cluster = Cluster::start(&company.provider, "kubernetes");
    let api = Registry::behind(Gate::ClientCertificate(company.pki.path())).nginx(&cluster.nginx()).start();
    let mut user = User::move_in();
    // One token for both: the login at OpenBao and the API server.
    company.bao.write(
        "auth/jwt/role/terraform",
        json!({ "role_type": "jwt", "user_claim": "sub", "bound_audiences": ["kubernetes"] }),
    );
    let token = user.token_file(&company.provider.token_for("alice", "kubernetes", 600));
    let provider = PROVIDER.replace("\"x\"", "\"registry-cert\"") + "token_issuer = \"as-it-is\"\n";
    user.settings(&(file_identity(&token) + AS_IT_IS + &company.issuer() + &provider));
    kubeconfig(&mut user, &api, &executable("credmint-kubernetes").display().to_string(), "v1");
    assert!(kubectl(&user).success().stdout.contains("NamespaceList"));
    let seen = cluster.seen();
    assert!(seen.len() == 1 && seen[0].user == "alice@corp.example", "{seen:?}");
    assert!(seen[0].subject.contains("alice@corp.example"), "{seen:?}");
    user.canary.check(&user.home);
}

/// The rows: what a program prints on standard output and on standard error, its exit status, and whether kubectl and the client in Python send its token.
fn rows() -> Vec<(&'static str, String, &'static str, i32, [bool; 2])> {
    let good = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "status": { "token": "stub", "expirationTimestamp": "2099-01-01T00:00:00Z" },
    });
    let with = |pointer: &str, name: &str, value: Value| {
        let mut row = good.clone();
        let object = row.pointer_mut(pointer).and_then(Value::as_object_mut);
        object.map(|object| object.insert(name.to_owned(), value));
        row.to_string()
    };
    let without = |pointer: &str, name: &str| {
        let mut row = good.clone();
        row.pointer_mut(pointer).and_then(Value::as_object_mut).map(|object| object.remove(name));
        row.to_string()
    };
    let ends = |value: Value| with("/status", "expirationTimestamp", value);
    let whole = good.to_string();
    let yaml = "apiVersion: client.authentication.k8s.io/v1\nkind: ExecCredential\nstatus:\n  token: stub\n";
    let (both, none, kubectl, python) = ([true, true], [false, false], [true, false], [false, true]);
    vec![
        ("whole", whole.clone(), "", 0, both),
        ("no end", without("/status", "expirationTimestamp"), "", 0, both),
        ("end with fractions", ends(json!("2099-01-01T00:00:00.5Z")), "", 0, both),
        ("end with an offset", ends(json!("2099-01-01T05:30:00+05:30")), "", 0, both),
        ("unknown fields", with("/status", "more", json!({ "a": 1 })), "", 0, both),
        ("spec echoed", with("", "spec", json!({ "interactive": false })), "", 0, both),
        ("line breaks around", format!("\n{whole}\n\n"), "", 0, both),
        ("end without zone", ends(json!("2099-01-01T00:00:00")), "", 0, python),
        ("end with a space", ends(json!("2099-01-01 00:00:00Z")), "", 0, python),
        ("end is null", ends(Value::Null), "", 0, both),
        ("end is a number", ends(json!(4_000_000_000_u64)), "", 0, python),
        ("over already", ends(json!("2020-01-01T00:00:00Z")), "", 0, both),
        ("another version", with("", "apiVersion", json!("client.authentication.k8s.io/v1beta1")), "", 0, none),
        ("no kind", without("", "kind"), "", 0, kubectl),
        ("another kind", with("", "kind", json!("Secret")), "", 0, python),
        ("no status", without("", "status"), "", 0, none),
        ("empty token", with("/status", "token", json!("")), "", 0, none),
        ("YAML", yaml.to_owned(), "", 0, kubectl),
        ("text after", format!("{whole} bye"), "", 0, none),
        ("two objects", whole.repeat(2), "", 0, none),
        ("nothing", String::new(), "", 0, none),
        ("noise on stderr", whole.clone(), "warning", 0, both),
        ("exit status 1", whole, "", 1, none),
    ]
}

/// Says of each row whether the client in Python sent its token.
const TABLE: &str = r#"
import json, logging, os
from kubernetes import client, config
logging.disable(logging.CRITICAL)
home = os.environ["HOME"]
for row in json.load(open(home + "/rows.json")):
    with open(home + "/row.json", "w") as file: json.dump(row, file)
    try:
        configuration = client.Configuration()
        config.load_kube_config(client_configuration=configuration)
        client.CoreV1Api(client.ApiClient(configuration)).list_namespace()
        print("taken")
    except Exception: print("refused")
"#;

const STUB: &str = "#!/usr/bin/env python3\nimport json, os, sys\nout, error, status = json.load(open(os.environ['HOME'] + '/row.json'))\n\
                    sys.stdout.write(out); sys.stderr.write(error); sys.exit(status)\n";

#[test]
fn kubectl_and_the_client_in_python_take_and_refuse_what_the_table_of_the_facts_says() -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut user = User::move_in();
    let stub = user.home.write("stub.py", STUB);
    std::fs::set_permissions(&stub, std::fs::Permissions::from_mode(0o700))?;
    let api = api(Gate::Open, Some("stub"));
    kubeconfig(&mut user, &api, &stub.display().to_string(), "v1");
    let rows = rows();
    let printed: Vec<_> = rows.iter().map(|(_, out, error, status, _)| json!([out, error, status])).collect();
    user.home.write("rows.json", json!(printed).to_string());
    let python = clients::python(&user.home, TABLE).output().success().stdout;
    assert_eq!(python.lines().count(), rows.len());
    let mut wrong = Vec::new();
    for (((name, .., expected), row), told) in rows.iter().zip(&printed).zip(python.lines()) {
        user.home.write("row.json", row.to_string());
        let told = [kubectl(&user).code == Some(0), told == "taken"];
        if told != *expected {
            wrong.push(format!("{name}: kubectl {}, the client in Python {}", told[0], told[1]));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}
