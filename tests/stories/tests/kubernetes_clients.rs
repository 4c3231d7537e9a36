//! Kubernetes: kubectl and the client in Python ask `credmint-kubernetes` by the exec block of a kubeconfig.
//! The token is the real OpenID Provider's, the certificate a real OpenBao's. The API server is an nginx that lets in whoever has them, and nobody else.

use credmint_stories::{Company, User, env_identity, file_identity};
use credmint_test_kit::home::executable;
use credmint_test_kit::registry::Request;
use credmint_test_kit::{Gate, OpenIdProvider, Output, Registry, clients};
use serde_json::json;

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
