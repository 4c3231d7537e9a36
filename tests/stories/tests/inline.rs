//! `deliver = "inline"`: the answer itself carries the client identity, for a client that can present one.

use credmint_stories::{Company, HOST, User, file_identity, terraform};
use credmint_test_kit::http::Request;
use credmint_test_kit::{Gate, Home, Links, Registry};

const PROPERTIES: [&str; 3] = ["client_certificate_pem", "client_private_key_pem", "client_ca_certificate_pem"];

#[test]
fn the_answer_carries_an_identity_that_the_registry_accepts() {
    let (company, mut user) = (Company::found(), User::move_in());

    // 1. The host's table says "inline".
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    user.settings(&(file_identity(&token) + &company.issuer() + &company.host("job", "deliver = \"inline\"\n")));
    // 2. Certificate, key, authority and end; no token, because there is none.
    let object = user.get().output().success().json();
    let keys: Vec<&String> = object.as_object().into_iter().flat_map(|object| object.keys()).collect();
    assert_eq!(keys, ["client_ca_certificate_pem", "client_certificate_pem", "client_private_key_pem", "expires_at"]);
    let pem = PROPERTIES.map(|property| object[property].as_str().unwrap_or_default().to_owned());
    user.canary.watch_pem("client private key", &pem[1]);
    assert!(object["expires_at"].as_str().is_some_and(|end| end.len() == 20 && end.ends_with('Z')), "{object:?}");
    // 3. The whole path is there, end-entity first, the root left out.
    assert_eq!(pem[0].matches("BEGIN CERTIFICATE").count(), 2);
    assert!(pem[0].contains(company.pki.intermediate().trim()) && !pem[0].contains(company.pki.root().trim()));
    // 4. A client that can do mutual TLS is let in, in alice's name, with nothing but these three.
    let desk = Home::new();
    let [certificate, key, ca] = [0, 1, 2].map(|at| desk.write(PROPERTIES[at], &pem[at]).display().to_string());
    let port = company.registry.port();
    let request = Request::new("GET", &format!("https://{HOST}:{port}/v1/modules/corp/network/aws/versions"));
    let request = request.option("resolve", &format!("{HOST}:{port}:127.0.0.1")).option("cacert", &ca);
    assert_eq!(request.option("cert", &certificate).option("key", &key).send().status, 200);
    assert_eq!(company.registry.wait_for_requests(1)[0].subject, "CN=alice@corp.example");
    // 5. Asked again it is the same identity, not another one.
    assert_eq!(user.got("client_certificate_pem"), pem[0]);
    assert_eq!(company.pki.minted(), 1);
    user.canary.check(&user.home);
}

#[test]
fn terraform_accepts_the_answer_though_it_cannot_use_it_yet() {
    let Some(terraform) = terraform() else { return };
    let (company, mut user) = (Company::found(), User::move_in());
    let registry = Registry::behind(Gate::Open).links(Links::Address).start();
    user.use_helper("credmint", &[], &registry);

    // 1. A registry that is open to all: what terraform does with the answer is all that is looked at.
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    user.settings(&(file_identity(&token) + &company.issuer() + &company.host("job", "deliver = \"inline\"\n")));
    // 2. `init` takes the properties it does not know for no token, and goes on.
    terraform.init(&user.home, &user.work).success();
    assert_eq!(company.pki.minted(), 1, "the helper was asked and answered");
    assert!(registry.requests().iter().all(|request| request.authorization.is_empty()));
    user.canary.check(&user.home);
}

#[test]
fn an_issuer_of_tokens_delivers_its_token_inline() {
    let (company, mut user) = (Company::found(), User::move_in());

    // 1. The same delivery over an issuer that grants a token.
    let subject = company.provider.token_for("alice", HOST, 300);
    let token = user.token_file(&subject);
    let host = format!("[host.\"{HOST}\"]\nidentity = \"job\"\nissuer = \"as-it-is\"\ndeliver = \"inline\"\n");
    user.settings(&(file_identity(&token) + "[issuer.as-it-is]\nkind = \"oidc\"\n\n" + &host));
    // 2. `token` is where a client looks for it.
    assert_eq!(user.got("token"), subject);
    user.canary.check(&user.home);
}
