//! The peers are real and do what stories rely on.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and starts programs in place of a user"
)]

use std::fs;

use credmint_test_kit::certificates::{self, Authority, Identity};
use credmint_test_kit::encoding::claims;
use credmint_test_kit::http::{Answer, Request};
use credmint_test_kit::kubernetes::{KubernetesApi, service_account_claims};
use credmint_test_kit::{Gate, Home, Links, OpenBao, OpenIdProvider, Registry, Terraform};
use serde_json::{Value, json};

/// Asks for a document of the registry by `curl`, with or without a client certificate.
fn ask(registry: &Registry, home: &Home, path: &str, identity: Option<&Identity>) -> Answer {
    let port = registry.port();
    let mut request = Request::new("GET", &format!("https://registry.corp.example:{port}{path}"));
    request = request.trusting(&registry.ca_file());
    request = request.option("resolve", &format!("registry.corp.example:{port}:127.0.0.1"));
    if let Some(Identity { certificate, key }) = identity {
        let certificate = home.write("client.pem", certificate);
        let key = home.write("client.key", key);
        request = request.option("cert", certificate.to_str().unwrap()).option("key", key.to_str().unwrap());
    }
    request.send()
}

#[test]
fn the_registry_wants_a_certificate_of_the_right_authority() {
    let (right, wrong) = (Authority::new("Clients"), Authority::new("Strangers"));
    let registry = Registry::behind(Gate::ClientCertificate(right.certificate().to_owned())).start();
    let home = Home::new();
    let path = "/v1/modules/corp/network/aws/versions";
    assert_eq!(ask(&registry, &home, path, None).status, 400);
    assert_eq!(ask(&registry, &home, path, Some(&wrong.client("mallory"))).status, 400);
    let answer = ask(&registry, &home, path, Some(&right.client("alice")));
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json()["modules"][0]["versions"][0]["version"], "1.0.0");
    let requests = registry.wait_for_requests(3);
    let [without, stranger, alice] = requests.as_slice() else { panic!("three requests expected: {requests:?}") };
    assert_eq!((without.verify.as_str(), without.status), ("NONE", 400));
    assert!(stranger.verify.starts_with("FAILED"), "{stranger:?}");
    assert_eq!((alice.verify.as_str(), alice.subject.as_str()), ("SUCCESS", "CN=alice"));
    assert_eq!((alice.protocol.as_str(), alice.sni.as_str()), ("HTTP/2.0", "registry.corp.example"));
    assert!(!alice.serial.is_empty() && alice.authorization.is_empty());
}

#[test]
fn the_registry_wants_the_right_token() {
    let registry = Registry::behind(Gate::Bearer("token-of-alice".to_owned())).start();
    let url = format!("{}/v1/providers/corp/widget/versions", registry.address());
    let ask =
        |token: &str| Request::new("GET", &url).trusting(&registry.ca_file()).header("Authorization", token).send();
    assert_eq!(ask("Bearer token-of-bob").status, 401);
    assert_eq!(ask("Bearer token-of-alice").status, 200);
    assert_eq!(registry.wait_for_requests(2)[1].authorization, "Bearer token-of-alice");
}

#[test]
fn terraform_installs_module_and_provider_from_the_registry() {
    let Some(terraform) = Terraform::find() else { return };
    let registry = Registry::behind(Gate::Bearer("token-of-alice".to_owned())).links(Links::Address).start();
    let mut home = Home::new();
    home.set("SSL_CERT_FILE", registry.ca_file());
    home.set("TF_TOKEN_registry_corp_example", "token-of-alice");
    Terraform::write_cli_configuration(&home, None, Some(registry.address()));
    let directory = Terraform::write_configuration(&home, "work");
    let output = terraform.init(&home, &directory).success();
    assert!(output.stdout.contains("successfully initialized"), "{}", output.stdout);
    assert!(directory.join(".terraform/modules/network/main.tf").is_file());
    let requests = registry.requests();
    assert!(requests.iter().filter(|one| one.path.starts_with("/v1/")).all(|one| one.status < 300), "{requests:?}");
    assert!(requests.len() >= 9, "{requests:?}");
}

#[test]
fn openbao_logs_in_a_token_of_the_provider_and_signs_a_request() {
    let provider = OpenIdProvider::start();
    let bao = OpenBao::start();
    let pki = bao.pki("pki/corp/int");
    pki.role("client", json!({ "max_ttl": "2h" }));
    let policy = pki.policy_for("client");
    bao.jwt_auth("jwt", provider.issuer());
    bao.jwt_role("jwt", "terraform", "vault", &[&policy]);
    assert_eq!((pki.minted(), bao.logins().len()), (0, 0));

    let token = provider.token_for("alice", "vault", 300);
    let login = bao.jwt_login("jwt", "terraform", &token);
    assert_eq!((bao.logins().len(), bao.accessors().len()), (1, 2));
    let (request, _) = certificates::request("alice@corp.example");
    let path = "pki/corp/int/sign/client";
    let as_alice = bao.with_token(login["auth"]["client_token"].as_str().unwrap());
    let signed = as_alice.write(path, json!({ "csr": request, "common_name": "alice@corp.example", "ttl": "1h" }));
    assert!(signed["data"]["certificate"].as_str().unwrap().starts_with("-----BEGIN CERTIFICATE-----"));
    assert_eq!(signed["data"]["ca_chain"].as_array().unwrap().len(), 2);
    assert_eq!(pki.minted(), 1);
    assert_eq!(as_alice.call("GET", "sys/mounts", None).status, 403);

    let wrong = bao.call(
        "POST",
        "auth/jwt/login",
        Some(json!({ "role": "terraform", "jwt": provider.token_for("alice", "other", 300) })),
    );
    assert_eq!(wrong.status, 400, "a token for another audience");
    let expired = json!({ "role": "terraform", "jwt": provider.token_for("alice", "vault", -3600) });
    assert_eq!(bao.call("POST", "auth/jwt/login", Some(expired)).status, 400, "a token that has expired");
    as_alice.write("auth/token/revoke-self", json!({}));
    assert_eq!(bao.logins().len(), 0);
}

#[test]
fn the_registry_accepts_what_openbao_signs() {
    let bao = OpenBao::start();
    let pki = bao.pki("pki");
    pki.role("client", json!({}));
    let (request, key) = certificates::request("alice@corp.example");
    let signed = pki.sign("client", &request, "alice@corp.example");
    let leaf = signed["certificate"].as_str().unwrap().to_owned();
    let home = Home::new();
    let path = "/.well-known/terraform.json";

    // A server that knows the intermediate takes the leaf alone; one that knows the root only needs the path.
    let whole = Registry::behind(Gate::ClientCertificate(pki.path())).start();
    let alone = Identity { certificate: leaf.clone(), key: key.clone() };
    assert_eq!(ask(&whole, &home, path, Some(&alone)).status, 200);
    let serial = signed["serial_number"].as_str().unwrap().replace(':', "").to_uppercase();
    assert_eq!(whole.wait_for_requests(1)[0].serial, serial);
    let root_only = Registry::behind(Gate::ClientCertificate(pki.root().to_owned())).start();
    assert_eq!(ask(&root_only, &home, path, Some(&alone)).status, 400);
    let with_path = Identity { certificate: format!("{leaf}\n{}", pki.intermediate()), key };
    assert_eq!(ask(&root_only, &home, path, Some(&with_path)).status, 200);
}

#[test]
fn openbao_is_sealed_and_unsealed() {
    let bao = OpenBao::start();
    bao.kv("kv1", 1);
    bao.kv("kv2", 2);
    bao.kv_put("kv1", 1, "registry", json!({ "token": "one" }));
    bao.kv_put("kv2", 2, "registry", json!({ "token": "two" }));
    assert_eq!(bao.read("kv1/registry")["data"]["token"], "one");
    bao.seal();
    assert_eq!(bao.call("GET", "kv1/registry", None).status, 503);
    bao.unseal();
    bao.wait_for("it answers again", |client| client.call("GET", "kv2/data/registry", None).status == 200);
    assert_eq!(bao.read("kv2/data/registry")["data"]["data"]["token"], "two");
}

#[test]
fn openbao_has_its_other_auth_methods() {
    let bao = OpenBao::start();
    let app = bao.approle("approle", "builder", &["default"]);
    let login = bao.write("auth/approle/login", json!({ "role_id": app.role_id, "secret_id": app.secret_id }));
    assert!(login["auth"]["client_token"].is_string());

    let provider = OpenIdProvider::start();
    let token = provider.token_with("x", "vault", 300, service_account_claims("vault", "ci", "builder"));
    let api = KubernetesApi::start(&token, "ci", "builder");
    bao.kubernetes_auth("kubernetes", api.address(), "builder", &["default"]);
    let login = bao.write("auth/kubernetes/login", json!({ "role": "builder", "jwt": token }));
    assert_eq!(login["auth"]["metadata"]["service_account_name"], "builder");

    let team = bao.in_namespace("team");
    team.kv("kv", 1);
    team.kv_put("kv", 1, "a", json!({ "b": "c" }));
    assert_eq!(bao.read("team/kv/a")["data"]["b"], "c");
}

#[test]
fn openbao_over_tls_takes_a_client_certificate() {
    let clients = Authority::new("Clients");
    let bao = OpenBao::start_tls();
    bao.cert_auth("cert", "builder", clients.certificate(), &["default"]);
    let home = Home::new();
    let Identity { certificate, key } = clients.client("builder.corp.example");
    let (certificate, key) = (home.write("client.pem", certificate), home.write("client.key", key));
    let login =
        || Request::new("POST", &format!("{}/v1/auth/cert/login", bao.address())).trusting(&bao.ca_file()).body("{}");
    assert_eq!(login().send().status, 400);
    let answer = login().option("cert", certificate.to_str().unwrap()).option("key", key.to_str().unwrap()).send();
    assert_eq!(answer.status, 200, "{}", answer.body);
}

#[test]
fn the_provider_grants_and_exchanges() {
    let provider = OpenIdProvider::start_with_ttl(120);
    let grant = ("grant_type", "client_credentials");
    let own = provider.granted(&provider.ask_as(
        "ci",
        provider.ci_secret(),
        &[grant, ("resource", "https://registry.corp.example")],
    ));
    let own = claims(&own);
    assert_eq!((&own["sub"], &own["aud"]), (&json!("ci"), &json!("https://registry.corp.example")));

    let subject = provider.token_for("alice", "anything", 300);
    let exchange = |token: &str, audience: &str| {
        let fields = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("subject_token", token),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:jwt"),
            ("audience", audience),
        ];
        provider.ask_as("ci", provider.ci_secret(), &fields)
    };
    let answer = exchange(&subject, "registry");
    let got = claims(&provider.granted(&answer));
    assert_eq!((&got["sub"], &got["aud"]), (&json!("alice"), &json!("registry")));
    assert_eq!(answer.json()["expires_in"], 120);
    let refused = exchange(&provider.token_for("alice", "anything", -60), "registry");
    assert_eq!((refused.status, &refused.json()["error"]), (400, &json!("invalid_request")));
    let refused = exchange(&subject, "https://nowhere.example");
    assert_eq!((refused.status, &refused.json()["error"]), (400, &json!("invalid_target")));
    let statuses: Vec<Value> = provider.requests().iter().map(|request| request["status"].clone()).collect();
    assert_eq!(statuses, [200, 200, 400, 400]);
}

#[test]
fn a_peer_ends_with_its_test() {
    let registry = Registry::behind(Gate::Open).start();
    let (pid, files) = (registry.pid(), registry.site());
    drop(registry);
    assert!(!credmint_test_kit::processes::is_alive(pid));
    assert!(fs::metadata(files).is_err());
}
