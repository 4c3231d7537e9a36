//! `credmint setup provider`, and then the real client: boto3 and the SDK for Go read the profile, google-auth the file,
//! kubectl and the Python client the kubeconfig, docker-py the configuration that was written, and have what they need.

use std::ffi::OsString;

use credmint_stories::{User, env_identity};
use credmint_test_kit::home::executable;
use credmint_test_kit::{Gate, OpenIdProvider, Registry, Sts, clients, sts};
use serde_json::json;

/// A user with a provider `prod` of an issuer, who has set it up; `lines` go into its table.
fn set_up(issuer: &str, lines: &str, token: &str, words: &[&str]) -> User {
    let mut user = User::move_in();
    user.secret_variable("WORKLOAD_TOKEN", "subject token", token);
    let provider = format!("[provider.prod]\nidentity = \"job\"\nissuer = \"x\"\n{lines}\n");
    user.settings(&(env_identity("WORKLOAD_TOKEN") + issuer + &provider));
    user.credmint(&[&["setup", "provider", "prod", "--yes"], words].concat());
    user
}

const PASS_ON: &str = "[issuer.x]\nkind = \"oidc\"\n\n";

const BOTO3: &str = r#"
import boto3
session = boto3.Session(profile_name="prod")
print(session.client("sts").get_caller_identity()["Arn"], session.get_credentials().method)
"#;

#[test]
fn the_sdks_of_aws_sign_with_the_profile_that_was_written() {
    let provider = OpenIdProvider::start();
    let sts = Sts::start(&provider);
    let token = provider.token_for("alice", sts::AUDIENCE, 600);
    let mut user = set_up(&sts.issuer("x", "session_name = \"{email}\""), "", &token, &["--for", "aws"]);
    user.home.set("AWS_ENDPOINT_URL", sts.address());
    user.home.set("AWS_REGION", sts::REGION);
    user.home.set("AWS_DEFAULT_REGION", sts::REGION);
    let identity = "arn:aws:sts::123456789012:assumed-role/build/alice@corp.example";
    let told = clients::python(&user.home, BOTO3).output().success().stdout;
    assert_eq!(told, format!("{identity} custom-process\n"));
    let go = clients::aws_go(&user.home, "identity").env("AWS_PROFILE", "prod").env("STS_ENDPOINT", sts.address());
    assert_eq!(go.output().success().stdout, format!("{identity} ProcessProvider\n"));
    let calls = sts.asked("GetCallerIdentity");
    assert!(calls.len() == 2 && calls.iter().all(|call| call.refused.is_empty()), "{calls:?}");
    for secret in sts.secrets() {
        user.canary.watch("secret of AWS", secret);
    }
    user.canary.check(&user.home);
}

/// Has the token that is to be exchanged, and says where.
const GOOGLE: &str = r#"
import os, google.auth.transport.requests as transport, google.auth.pluggable as pluggable
credentials = pluggable.Credentials.from_file(os.environ["GOOGLE_APPLICATION_CREDENTIALS"])
print(credentials.retrieve_subject_token(transport.Request()), credentials._token_url, credentials.service_account_email)
"#;

#[test]
fn google_auth_reads_the_file_that_was_written() {
    let audience = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q";
    let token = OpenIdProvider::start().token_for("alice", audience, 600);
    let email = "a@p.iam.gserviceaccount.com";
    let words = ["--for", "google", "--audience", audience, "--service-account", email];
    // The settings know where this audience's tokens are exchanged: at no public host.
    let known = format!(
        "[issuer.known]\nkind = \"google-sts\"\naudience = \"{audience}\"\nendpoint = \"http://127.0.0.1:9\"\n\n"
    );
    let mut user = set_up(&(PASS_ON.to_owned() + &known), "", &token, &words);
    let file = user.home.path().join(".config/credmint/google-prod.json");
    user.home.set("GOOGLE_APPLICATION_CREDENTIALS", file);
    user.home.set("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES", "1");
    let told = clients::python(&user.home, GOOGLE).answer().output().success().stdout;
    assert!(told == format!("{token} http://127.0.0.1:9/v1/token {email}\n"), "another token, or elsewhere");
    user.canary.check(&user.home);
}

const KUBERNETES: &str = r#"
from kubernetes import client, config
config.load_kube_config()
print(client.CoreV1Api().list_namespace().kind)
"#;

#[test]
fn kubectl_and_the_client_in_python_ask_with_the_user_that_was_written() {
    let token = OpenIdProvider::start().token_for("alice", "kubernetes", 600);
    let list = r#"{"kind":"NamespaceList","apiVersion":"v1","metadata":{},"items":[]}"#;
    let bearer = format!("if ($http_authorization != \"Bearer {token}\") {{ return 401; }}");
    let place = format!("location = /api/v1/namespaces {{ {bearer} return 200 '{list}'; }}\n");
    let api = Registry::behind(Gate::Open).nginx(&place).start();
    let mut user = set_up(PASS_ON, "", &token, &["--for", "kubernetes"]);
    let kubectl = |words: &[&str]| user.home.run("kubectl").args(words.iter().copied()).output().success().stdout;
    let ca = format!("--certificate-authority={}", api.ca_file().display());
    kubectl(&["config", "set-cluster", "c", &format!("--server={}", api.address()), &ca]);
    kubectl(&["config", "set-context", "c", "--cluster=c"]);
    kubectl(&["config", "use-context", "c"]);
    // What `credmint setup` said to do next.
    kubectl(&["config", "set-context", "--current", "--user=prod"]);
    assert!(kubectl(&["get", "--raw", "/api/v1/namespaces"]).contains("NamespaceList"));
    assert_eq!(clients::python(&user.home, KUBERNETES).output().success().stdout, "NamespaceList\n");
    // kubectl writes the file in its own way; ours is still found in it, and goes.
    user.credmint(&["setup", "provider", "prod", "--for", "kubernetes", "--remove"]);
    assert!(!user.home.read(".kube/config").contains("credmint-kubernetes"), "{}", user.home.read(".kube/config"));
    user.canary.watch("subject token", token);
    user.canary.check(&user.home);
}

const DOCKER: &str = r#"
import json, docker.auth
config = docker.auth.load_config()
found = [docker.auth.resolve_authconfig(config, server) for server in ["registry.corp.example", "other.example"]]
print(json.dumps(found))
"#;

#[test]
fn docker_py_asks_by_the_configuration_that_was_written() {
    let token = OpenIdProvider::start().token_for("alice", "registry.corp.example", 600);
    let hosts = "hosts = [\"registry.corp.example\"]";
    let user = set_up(PASS_ON, hosts, &token, &["--for", "docker"]);
    let mut path: OsString = executable("docker-credential-credmint").parent().map(Into::into).unwrap_or_default();
    path.push(":");
    path.push(user.home.environment()[&OsString::from("PATH")].clone());
    let told = clients::python(&user.home, DOCKER).env("PATH", path).answer().output().success().json();
    assert!(told[0]["Username"] == json!("oauth2") && told[0]["Password"] == json!(token), "another credential");
    assert_eq!(told[1], json!(null));
    user.canary.check(&user.home);
}
