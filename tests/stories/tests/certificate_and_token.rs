//! A registry that wants a client certificate at the door and a bearer token for all that is behind it.

use credmint_stories::{AS_IT_IS, Company, HOST, User, file_identity, person, terraform, token_host};
use credmint_test_kit::encoding::claims;
use credmint_test_kit::home::executable;
use credmint_test_kit::{Gate, Registry};

/// Lets in nobody without a bearer token, archives included.
const WANTS_A_TOKEN: &str = "if ($http_authorization !~ \"^Bearer .\") { return 401; }";

fn company() -> Company {
    let mut company = Company::found();
    company.registry = Registry::behind(Gate::ClientCertificate(company.pki.path())).nginx(WANTS_A_TOKEN).start();
    company
}

fn exchange(company: &Company) -> String {
    let issuer = company.provider.issuer();
    format!(
        "[issuer.exchange]\nkind = \"token-exchange\"\nissuer = \"{issuer}\"\naudience = \"{HOST}\"\nclient_id = \"cli\"\n\n"
    )
}

#[test]
fn init_presents_the_certificate_and_the_token_on_every_request() {
    let Some(terraform) = terraform() else { return };
    let (company, mut user) = (company(), User::move_in());
    let token = user.token_file(&company.provider.token_for("alice", "cli", 300));
    let upstream = format!("upstream = \"{}\"\n", company.registry.address());
    let host = |more: &str| company.host("job", &(upstream.clone() + more));
    let tables = |more: &str| file_identity(&token) + &company.issuer() + &exchange(&company) + &host(more);

    // 1. With the certificate alone the registry refuses.
    user.settings(&tables(""));
    let alone = user.ask_bridge("127.0.0.1", "v1/modules/corp/network/aws/versions", &user.got("token"));
    assert_eq!(alone.status, 401);
    // 2. One more line, and the same identity has both; `setup` reads what the registry offers with both.
    user.settings(&tables("token_issuer = \"exchange\""));
    user.setup(company.registry.address());
    let before = company.registry.requests().len();
    terraform.init(&user.home, &user.work).success();
    let requests = company.registry.requests().split_off(before);
    let archives = requests.iter().filter(|request| request.path.starts_with("/archives/"));
    assert!(requests.len() >= 9 && archives.count() >= 4, "{requests:?}");
    let presented = requests.first().map(|request| request.authorization.clone()).unwrap_or_default();
    let bearer = user.canary.watch("the exchanged token", presented.trim_start_matches("Bearer ").to_owned());
    assert_eq!(claims(&bearer)["aud"], HOST, "the token of the exchange, not the identity's");
    for request in &requests {
        assert_eq!((request.verify.as_str(), request.subject.as_str()), ("SUCCESS", "CN=alice@corp.example"));
        assert_eq!(request.authorization, format!("Bearer {bearer}"), "{}", request.path);
    }
    // 3. Each was got once, and is shown for itself.
    assert_eq!(
        (company.pki.minted(), company.provider.requests().len()),
        (2, 1),
        "one certificate for each of the settings"
    );
    let status = user.credmint(&["status"]).stdout;
    assert!(status.contains("CN=alice@corp.example") && status.contains("exchange"), "{status}");
    let explanation = user.credmint(&["explain", HOST]).stdout;
    assert!(
        explanation.contains("and token  exchange: ") && explanation.matches("  kept  ").count() == 2,
        "{explanation}"
    );
    // 4. Signing the host out drops both: what the bridge had of it is not let in any more.
    let session = user.got("token");
    user.home.run("terraform-credentials-credmint").args(["forget", HOST]).output().success();
    let refused = user.ask_bridge("127.0.0.1", "v1/modules/corp/network/aws/versions", &session);
    assert_eq!(refused.status, 401, "{}", refused.head);
    let status = user.credmint(&["status"]).stdout;
    assert!(!status.contains("exchange") && !status.contains("CN=alice"), "{status}");
    user.canary.check(&user.home);
}

#[test]
fn the_self_check_of_a_certificate_asks_with_the_token_too() {
    let (mut company, mut user) = (company(), User::move_in());
    let token = user.token_file(&company.provider.token_for("alice", "cli", 300));
    let upstream = format!("upstream = \"{}\"\n", company.registry.address());
    let tables = |more: &str| {
        let host = company.host("job", &(upstream.clone() + more));
        file_identity(&token) + &company.issuer() + &exchange(&company) + &host
    };
    let (alone, both) = (tables(""), tables("token_issuer = \"exchange\""));
    let check = |user: &User| user.home.run("credmint").args(["cert", HOST, "--self-check", "--json"]).output();
    let told = |output: &credmint_test_kit::Output| output.json()["certificate"]["self_check"]["outcome"].clone();

    // 1. With the certificate alone this registry says no.
    user.settings(&alone);
    let output = check(&user);
    assert_eq!((output.code, told(&output)), (Some(77), "refused".into()), "{}", output.stdout);
    // 2. With both it says yes; the token is shown nowhere.
    user.settings(&both);
    let output = check(&user);
    assert_eq!((output.code, told(&output)), (Some(0), "accepted".into()), "{}", output.stdout);
    let requests = company.registry.requests();
    let presented = requests.last().map(|request| request.authorization.clone()).unwrap_or_default();
    user.canary.watch("the exchanged token", presented.trim_start_matches("Bearer ").to_owned());
    assert!(presented.starts_with("Bearer "), "{requests:?}");
    // 3. A token that cannot be had is told in its place, and the certificate is shown all the same.
    user.home.run("terraform-credentials-credmint").args(["forget", HOST]).output().success();
    company.provider.stop();
    let output = check(&user);
    assert_eq!(told(&output), "failed", "{}", output.stdout);
    assert!(output.json()["certificate"]["certificate_pem"].as_str().is_some_and(|pem| pem.starts_with("-----BEGIN")));
    user.canary.check(&user.home);
}

#[test]
fn inline_has_the_pem_and_the_identitys_own_token_and_ends_with_what_ends_first() {
    let (company, mut user) = (company(), User::move_in());
    let token = company.provider.token_for("alice", "vault", 300);
    let file = user.token_file(&token);
    let own = "[issuer.as-it-is]\nkind = \"oidc\"\n\n";
    let host = company.host("job", "deliver = \"inline\"\ntoken_issuer = \"as-it-is\"");
    user.settings(&(file_identity(&file) + &company.issuer() + own + &host));
    let answer = user.get().output().success().json();
    let text = |name: &str| answer.get(name).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
    assert!(text("token") == token, "the token as it is");
    let key = text("client_private_key_pem");
    assert!(key.starts_with("-----BEGIN PRIVATE KEY-----"));
    user.canary.watch_pem("private key", &key);
    // The certificate lives for an hour, the token for five minutes: as the token alone would end.
    user.settings(&(file_identity(&file) + own + &token_host("\"job\"", "as-it-is")));
    assert_eq!(text("expires_at"), user.got("expires_at"));
    user.canary.check(&user.home);
}

#[test]
fn a_token_that_cannot_be_had_is_a_failure_that_names_its_issuer() {
    let (mut company, mut user) = (company(), User::move_in());
    let token = user.token_file(&company.provider.token_for("alice", "cli", 300));
    let host = company.host("job", "token_issuer = \"exchange\"");
    user.settings(&(file_identity(&token) + &company.issuer() + &exchange(&company) + &host));
    // The provider ends; OpenBao has its keys already or not, the token is what nobody grants.
    company.provider.stop();
    let output = user.get().output();
    assert_ne!(output.code, Some(0));
    assert!(output.stderr.contains("issuer") && output.stderr.contains("hint: "), "{}", output.stderr);
    user.canary.check(&user.home);
}

#[test]
fn signing_out_ends_what_a_person_had_of_both() {
    let (company, mut user) = (company(), User::move_in());
    let host = format!("upstream = \"{}\"\ntoken_issuer = \"as-it-is\"", company.registry.address());
    let person = person(&company.provider, "");
    user.settings(&(person + &company.issuer() + AS_IT_IS + &company.host("me", &host)));
    const PATH: &str = "v1/modules/corp/network/aws/versions";

    // 1. Nobody is signed in: neither of the two can be had, and the command that helps is named.
    let output = user.get().output();
    assert!(output.code == Some(77) && output.stderr.contains("credmint login me"), "{}", output.stderr);
    // 2. A sign-in serves for both.
    user.signs_in(&company.provider, "alice");
    let session = user.got("token");
    assert_eq!(user.ask_bridge("127.0.0.1", PATH, &session).status, 200);
    user.watch_issued(&company.provider);
    let status = user.credmint(&["status"]).stdout;
    assert!(status.contains("registry-cert") && status.contains("as-it-is"), "{status}");
    // 3. Locked, there is neither; unlocked, both are there again, and nothing was asked for anew.
    user.home.run(executable("credmint")).args(["lock"]).input("correct horse\n").output().success();
    assert_ne!(user.ask_bridge("127.0.0.1", PATH, &session).status, 200);
    user.home.run(executable("credmint")).args(["unlock"]).input("correct horse\n").output().success();
    assert_eq!(user.ask_bridge("127.0.0.1", PATH, &session).status, 200);
    assert_eq!(company.pki.minted(), 1);
    // 4. Signed out, the run is over.
    user.credmint(&["logout", "me"]);
    assert_eq!(user.ask_bridge("127.0.0.1", PATH, &session).status, 401);
    assert!(user.credmint(&["status"]).stdout.contains("Nothing is kept."));
    user.canary.check(&user.home);
}
