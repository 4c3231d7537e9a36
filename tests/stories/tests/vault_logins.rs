//! Logins to OpenBao: each auth method, namespaces, mount paths with slashes; a login ends with its entry.

use credmint_stories::{HOST, User, file_identity};
use credmint_test_kit::kubernetes::{KubernetesApi, service_account_claims};
use credmint_test_kit::{Authority, OpenBao, OpenIdProvider};
use serde_json::json;

fn host(identity: &str) -> String {
    format!("[host.\"{HOST}\"]\n{identity}issuer = \"vault\"\ndeliver = \"token\"\n\n")
}

/// The settings of an issuer whose login's own token is the credential.
fn issuer(bao: &OpenBao, auth: &str) -> String {
    let (address, ca) = (bao.address(), bao.ca_file());
    let ca = ca.display();
    format!("[issuer.vault]\nkind = \"vault-token\"\naddress = \"{address}\"\nca = \"{ca}\"\nauth = {{ {auth} }}\n\n")
}

/// Gets the token, sees that OpenBao knows where it came from, forgets it, and sees that OpenBao has forgotten it, too.
fn logs_in_and_out(user: &mut User, bao: &OpenBao, settings: &str, mount: &str) {
    user.settings(settings);
    let token = user.got("token");
    let token = user.canary.watch(&format!("token of {mount}"), token);
    let itself = bao.with_token(&token).read("auth/token/lookup-self");
    assert_eq!(itself.pointer("/data/path"), Some(&json!(format!("auth/{mount}/login"))));
    assert_eq!(itself.pointer("/data/policies"), Some(&json!(["default", "reader"])));
    assert_eq!(user.got("token"), token, "the entry is fresh");
    assert_eq!(bao.logins().len(), 1);
    user.home.run("terraform-credentials-credmint").args(["forget", HOST]).output().success();
    bao.wait_for("the login ends with its entry", |client| client.logins().is_empty());
}

#[test]
fn each_auth_method_logs_in_and_its_login_ends_with_the_entry() {
    let (provider, bao, mut user) = (OpenIdProvider::start(), OpenBao::start_tls(), User::move_in());
    bao.policy("reader", "path \"secret/*\" { capabilities = [\"read\"] }");
    let known = "identity = \"job\"\n";

    // 1. jwt, mounted somewhere else than usual.
    bao.jwt_auth("jwt/corp", provider.issuer());
    bao.jwt_role("jwt/corp", "terraform", "vault", &["reader"]);
    let token = user.token_file(&provider.token_for("alice", "vault", 300));
    let auth = "method = \"jwt\", mount = \"jwt/corp\", role = \"terraform\"";
    logs_in_and_out(&mut user, &bao, &(file_identity(&token) + &issuer(&bao, auth) + &host(known)), "jwt/corp");
    // 2. kubernetes, with a projected service-account token that the cluster's API server knows.
    let projected = provider.token_with("x", "vault", 300, service_account_claims("vault", "builds", "terraform"));
    let cluster = KubernetesApi::start(&projected, "builds", "terraform");
    bao.kubernetes_auth("clusters/one", cluster.address(), "terraform", &["reader"]);
    let token = user.secret_file("sa-token", "service account token", &projected);
    let path = token.display();
    let identity = format!("[identity.job]\nkind = \"kubernetes\"\npath = \"{path}\"\naudience = \"vault\"\n\n");
    let auth = "method = \"kubernetes\", mount = \"clusters/one\", role = \"terraform\"";
    logs_in_and_out(&mut user, &bao, &(identity + &issuer(&bao, auth) + &host(known)), "clusters/one");
    // 3. approle: a role ID in the settings, a secret ID in a file; nobody else has to say who asks.
    let role = bao.approle("machines", "build-07", &["reader"]);
    let secret = user.secret_file("secret-id", "AppRole secret ID", &role.secret_id);
    let (id, path) = (role.role_id, secret.display());
    let auth =
        format!("method = \"approle\", mount = \"machines\", role_id = \"{id}\", secret_id = {{ file = \"{path}\" }}");
    logs_in_and_out(&mut user, &bao, &(issuer(&bao, &auth) + &host("")), "machines");
    // 4. cert: a machine's own certificate, over TLS.
    let machines = Authority::new("Corp Machines");
    bao.cert_auth("devices/cert", "build", machines.certificate(), &["reader"]);
    let machine = machines.client("build-07");
    let certificate = user.home.write("machine.pem", &machine.certificate);
    let key = user.secret_file("machine-key.pem", "machine's private key", &machine.key);
    let (certificate, key) = (certificate.display(), key.display());
    let auth = format!(
        "method = \"cert\", mount = \"devices/cert\", role = \"build\", \
         certificate = {{ file = \"{certificate}\" }}, key = {{ file = \"{key}\" }}"
    );
    logs_in_and_out(&mut user, &bao, &(issuer(&bao, &auth) + &host("")), "devices/cert");
    user.canary.check(&user.home);
}

#[test]
fn a_token_that_the_user_brought_is_used_and_left_alone() {
    let (bao, mut user) = (OpenBao::start_tls(), User::move_in());
    bao.policy("reader", "path \"secret/*\" { capabilities = [\"read\"] }");

    // 1. token: one that exists already, in the caller's environment.
    let token = bao.make_token(&["reader"], "1h");
    user.secret_variable("VAULT_TOKEN", "Vault token", &token);
    user.settings(&(issuer(&bao, "method = \"token\", token = { env = \"VAULT_TOKEN\" }") + &host("")));
    assert_eq!(user.got("token"), token);
    // 2. Neither `forget` nor the end of the agent revokes what is not ours.
    user.home.run("terraform-credentials-credmint").args(["forget", HOST]).output().success();
    assert_eq!(user.got("token"), token);
    user.credmint(&["agent", "stop"]);
    assert_eq!(bao.with_token(&token).read("auth/token/lookup-self")["data"]["policies"], json!(["default", "reader"]));
    user.canary.check(&user.home);
}

#[test]
fn a_namespace_and_slashes_in_mount_paths_reach_the_right_engine() {
    let (provider, bao, mut user) = (OpenIdProvider::start(), OpenBao::start(), User::move_in());

    // 1. An engine and a method inside a namespace, both at paths with slashes.
    let teams = bao.in_namespace("teams");
    let pki = teams.pki("pki/corp/int");
    pki.role("registry-client", json!({}));
    teams.jwt_auth("jwt/corp", provider.issuer());
    teams.jwt_role("jwt/corp", "terraform", "vault", &[&pki.policy_for("registry-client")]);
    let token = user.token_file(&provider.token_for("alice", "vault", 300));
    let issuer = format!(
        "[issuer.cert]\nkind = \"vault-pki\"\naddress = \"{}\"\nnamespace = \"teams\"\nmount = \"pki/corp/int\"\n\
         auth = {{ method = \"jwt\", mount = \"jwt/corp\", role = \"terraform\" }}\nrole = \"registry-client\"\n\
         common_name = \"{{sub}}\"\n\n",
        bao.address()
    );
    let host = format!("[host.\"{HOST}\"]\nidentity = \"job\"\nissuer = \"cert\"\ndeliver = \"inline\"\n");
    user.settings(&(file_identity(&token) + &issuer + &host));
    // 2. It is that engine's certificate.
    let object = user.get().output().success().json();
    user.canary.watch_pem("client private key", object["client_private_key_pem"].as_str().unwrap_or_default());
    assert!(object["client_certificate_pem"].as_str().is_some_and(|pem| pem.contains(pki.intermediate())));
    assert_eq!((pki.minted(), teams.logins().len()), (1, 1));
    // 3. The login is given back in that namespace, when the agent is told to end.
    user.credmint(&["agent", "stop"]);
    bao.wait_for("the login ends with the agent", |_| teams.logins().is_empty());
    user.canary.check(&user.home);
}
