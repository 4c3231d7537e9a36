//! A workload that a SPIFFE agent knows: its JWT-SVID signs in at OpenBao, its X.509-SVID opens a registry behind mutual TLS.
//! The Workload API is a fake that speaks by Google's own gRPC; SPIRE itself never ran here.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a story stops where its peer does not answer as it should"
)]

use credmint_stories::{Company, HOST, User, file_identity, terraform, token_host};
use credmint_test_kit::workload_api::JwtSigner;
use credmint_test_kit::{Canary, OpenBao, WorkloadApi, random};
use serde_json::{Value, json};

const ID: &str = "spiffe://corp.example/runner";

/// The identity of the stories, wherever its socket is.
fn identity(lines: &str) -> String {
    format!("[identity.workload]\nkind = \"spiffe\"\naudience = \"vault\"\n{lines}\n")
}

/// A token as a SPIFFE agent makes it.
fn jwt_svid(domain: &JwtSigner, canary: &mut Canary, id: &str, audience: &str) -> Value {
    json!({ "spiffe_id": id, "audience": [audience], "svid": canary.watch("JWT-SVID", domain.sign(id, audience)) })
}

/// A certificate as a SPIFFE agent has it, with its key and its path; Base64 of DER.
fn x509_svid(company: &Company, canary: &mut Canary, id: &str) -> Value {
    let options =
        json!({ "require_cn": false, "key_type": "ec", "key_bits": 256, "basic_constraints_valid_for_non_ca": true });
    company.pki.role("svid", options);
    let wanted = json!({ "uri_sans": id, "ttl": "1h", "format": "der", "private_key_format": "pkcs8" });
    let issued = company.bao.write("pki/issue/svid", wanted)["data"].clone();
    let key = canary.watch("key of the X.509-SVID", issued["private_key"].as_str().expect("a key").to_owned());
    json!({ "spiffe_id": id, "path": issued["certificate"], "key": key, "bundle": issued["issuing_ca"] })
}

fn vault(bao: &OpenBao) -> String {
    let address = bao.address();
    let auth = "auth = { method = \"jwt\", mount = \"spiffe\", role = \"terraform\" }";
    format!(
        "[issuer.stored]\nkind = \"vault-secret\"\naddress = \"{address}\"\n{auth}\npath = \"kv/registry\"\nfield = \"bearer\"\n\n"
    )
}

/// An OpenBao that believes a trust domain, and keeps a bearer token for the one workload.
fn keeping(user: &mut User) -> (OpenBao, JwtSigner, String) {
    let (bao, domain) = (OpenBao::start(), JwtSigner::default());
    let bearer = user.canary.watch("registry token", random::secret("bearer"));
    bao.kv("kv", 1);
    bao.kv_put("kv", 1, "registry", json!({ "bearer": bearer }));
    bao.policy("reader", "path \"kv/*\" { capabilities = [\"read\"] }");
    bao.write("sys/auth/spiffe", json!({ "type": "jwt" }));
    bao.write("auth/spiffe/config", json!({ "jwt_validation_pubkeys": [domain.public_pem()] }));
    bao.jwt_role("spiffe", "terraform", "vault", &["reader"]);
    bao.write("auth/spiffe/role/terraform", json!({ "role_type": "jwt", "user_claim": "sub", "bound_subject": ID }));
    (bao, domain, bearer)
}

#[test]
fn a_jwt_svid_signs_in_at_openbao_and_gets_a_secret() {
    let mut user = User::move_in();
    let (bao, domain, bearer) = keeping(&mut user);
    let api = WorkloadApi::start();
    let tokens: Vec<Value> = (0..2).map(|_| jwt_svid(&domain, &mut user.canary, ID, "vault")).collect();
    api.hands_out(&json!({ "jwt": tokens, "x509": [] }));

    // 1. The settings name the socket: the token goes to OpenBao, the secret comes back.
    let socket = format!("socket = \"{}\"\nspiffe_id = \"{ID}\"\n", api.socket().display());
    user.settings(&(identity(&socket) + &vault(&bao) + &token_host("\"workload\"", "stored")));
    assert_eq!(user.got("token"), bearer);
    assert_eq!(api.asked(), [format!("jwt ['vault'] {ID}")]);
    // 2. What is kept asks nobody; `explain` shows who it was.
    assert_eq!(user.got("token"), bearer);
    assert_eq!(api.asked().len(), 1);
    let explained = user.credmint(&["explain", HOST]).stdout;
    assert!(explained.contains("spiffe"), "{explained}");
    user.canary.check(&user.home);
}

#[test]
fn the_callers_variable_says_where_and_without_it_the_next_identity_is_asked() {
    let mut user = User::move_in();
    let (bao, domain, bearer) = keeping(&mut user);
    let api = WorkloadApi::start();
    api.hands_out(&json!({ "jwt": [jwt_svid(&domain, &mut user.canary, ID, "vault")], "x509": [] }));
    let token = user.token_file(&domain.sign(ID, "vault"));
    let other = file_identity(&token);
    let both = token_host("[\"workload\", \"job\"]", "stored");
    user.settings(&(identity("") + &other + &vault(&bao) + &both));
    // 1. Nobody says where: the next one.
    assert_eq!(user.got("token"), bearer);
    assert!(api.asked().is_empty());
    // 2. The caller says where, and has an entry of its own.
    user.home.set("SPIFFE_ENDPOINT_SOCKET", api.address());
    assert_eq!(user.got("token"), bearer);
    assert_eq!(api.asked(), ["jwt ['vault'] "]);
    user.canary.check(&user.home);
}

#[test]
fn what_a_spiffe_agent_refuses_is_told_with_the_next_command() {
    let mut user = User::move_in();
    let (bao, domain, _) = keeping(&mut user);
    let api = WorkloadApi::start();
    let socket = format!("socket = \"{}\"\n", api.socket().display());
    user.settings(&(identity(&socket) + &vault(&bao) + &token_host("\"workload\"", "stored")));
    let fails = |user: &User, words: &str, hint: &str| {
        user.credmint(&["agent", "stop"]);
        let output = user.get().output();
        assert!(output.code != Some(0) && output.stdout.is_empty(), "{output:?}");
        assert!(output.stderr.contains(words) && output.stderr.contains(hint), "{words}: {}", output.stderr);
    };
    // 1. Nobody registered the workload.
    fails(&user, "has no identity for this process", "-selector unix:uid:");
    // 2. It is in trouble, in words that are cut to size.
    api.hands_out(&json!({ "status": "UNAVAILABLE", "words": format!("not ready\n{}", "x".repeat(9000)) }));
    fails(&user, "answered unavailable (not ready", "look at its log");
    // 3. A token for somebody else, and none at all.
    let mut wrong = jwt_svid(&domain, &mut user.canary, ID, "elsewhere");
    api.hands_out(&json!({ "lies": true, "jwt": [wrong.clone()], "x509": [] }));
    fails(&user, "gave a token for \"elsewhere\" and not for \"vault\"", "look at its log");
    wrong["svid"] = json!(user.canary.watch("no token", random::secret("svid")));
    api.hands_out(&json!({ "lies": true, "jwt": [wrong.clone()], "x509": [] }));
    fails(&user, "sent what is no JWT-SVID", "look at its log");
    // 4. More than any answer has.
    wrong["svid"] = json!("x".repeat(5 * 1024 * 1024));
    api.hands_out(&json!({ "lies": true, "jwt": [wrong], "x509": [] }));
    fails(&user, "answered out_of_range", "look at its log");
    // 5. It is gone.
    drop(api);
    fails(&user, "no connection to", "hint: ls -l ");
    user.canary.check(&user.home);
}

#[test]
fn an_x509_svid_opens_a_registry_behind_mutual_tls() {
    let Some(terraform) = terraform() else { return };
    let (company, api, mut user) = (Company::found(), WorkloadApi::start(), User::move_in());
    let other = x509_svid(&company, &mut user.canary, "spiffe://corp.example/other");
    let own = x509_svid(&company, &mut user.canary, ID);
    api.hands_out(&json!({ "jwt": [], "x509": [other, own] }));
    user.setup(company.registry.address());
    let socket = format!("socket = \"{}\"\nspiffe_id = \"{ID}\"\n", api.socket().display());
    let ca = company.registry.ca_file();
    let host = format!("[host.\"{HOST}\"]\nissuer = \"svid\"\nca = \"{}\"\n", ca.display());
    user.settings(&(format!("[issuer.svid]\nkind = \"spiffe\"\n{socket}\n") + &host));
    // 1. Every request of `init` comes with the certificate that was asked for, and no other.
    terraform.init(&user.home, &user.work).success();
    let requests = company.registry.requests();
    assert!(requests.len() >= 9 && requests.iter().all(|request| request.verify == "SUCCESS"), "{requests:?}");
    let shown = user.credmint(&["cert", HOST]).stdout;
    assert!(shown.contains(ID) && !shown.contains("spiffe://corp.example/other"), "{shown}");
    assert_eq!(api.asked(), ["x509"]);
    // 2. An identity that the workload does not have is told with those that it has.
    user.settings(&(format!("[issuer.svid]\nkind = \"spiffe\"\n{}\n", socket.replace("runner", "stranger")) + &host));
    let output = user.get().output();
    let told = format!("gave spiffe://corp.example/other, {ID} and not spiffe://corp.example/stranger");
    assert!(output.code != Some(0) && output.stderr.contains(&told), "{}", output.stderr);
    user.canary.check(&user.home);
}
