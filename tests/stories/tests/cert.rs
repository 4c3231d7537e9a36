//! `credmint cert`: the certificate that a host gets, and what its upstream makes of it.

use credmint_stories::{AS_IT_IS, Company, HOST, User, file_identity, person, token_host};
use credmint_test_kit::registry::Gate;
use credmint_test_kit::{Authority, OpenIdProvider, Output, Registry};

fn cert(user: &User, words: &[&str]) -> Output {
    user.home.run("credmint").args(["cert", HOST]).args(words.iter().copied()).output()
}

/// A company and a user whose token is in a file; the settings are complete.
fn at_work(lines: &str) -> (Company, User) {
    let (company, mut user) = (Company::found(), User::move_in());
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    let upstream = format!("upstream = \"{}\"\n{lines}", company.registry.address());
    user.settings(&(file_identity(&token) + &company.issuer() + &company.host("job", &upstream)));
    (company, user)
}

#[test]
fn cert_shows_the_certificate_its_path_and_never_the_key() {
    let (company, user) = at_work("");

    // 1. Nothing is kept yet: it is made, once, and shown.
    let shown = cert(&user, &[]).success().stdout;
    for words in
        ["CN=alice@corp.example", "ECDSA on P-256", "clientAuth", "CN=Corp Issuing", "anchor: CN=Corp Root", " remain"]
    {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert_eq!(company.pki.minted(), 1);
    // 2. PEM is what would be presented, and JSON says the same; neither has a key.
    let pem = cert(&user, &["--pem"]).success().stdout;
    assert_eq!(pem.matches("BEGIN CERTIFICATE").count(), 2, "{pem}");
    assert!(pem.starts_with("-----BEGIN CERTIFICATE-----\n") && !pem.contains("PRIVATE"), "{pem}");
    let json = cert(&user, &["--json"]).success().json();
    assert_eq!((json["hostname"].as_str(), json["certificate"]["certificate_pem"].as_str()), (Some(HOST), Some(&*pem)));
    assert!(!json.to_string().contains("PRIVATE"), "{json}");
    // 3. `openssl` reads the same serial number, and the entry is the one that `get` uses.
    let serial =
        user.home.run("openssl").args(["x509", "-noout", "-serial"]).input(pem.as_str()).output().success().stdout;
    let own = json["certificate"]["path"][0]["serial"].as_str().unwrap_or_default().replace(':', "");
    assert_eq!(serial.trim(), format!("serial={}", own.to_uppercase()));
    let _ = user.got("token");
    assert_eq!(company.pki.minted(), 1, "the kept entry is used");
    user.canary.check(&user.home);
}

#[test]
fn self_check_says_that_the_registry_accepts_it() {
    let (company, user) = at_work("");
    let output = cert(&user, &["--self-check"]);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    assert!(output.stdout.contains("accepted: registry.corp.example accepts the certificate"), "{}", output.stdout);
    let requests = company.registry.wait_for_requests(1);
    assert_eq!((requests[0].verify.as_str(), requests[0].subject.as_str()), ("SUCCESS", "CN=alice@corp.example"));
    user.canary.check(&user.home);
}

#[test]
fn self_check_tells_refused_from_not_asked_and_not_reached() {
    let (mut company, user) = at_work("");

    // 1. A registry that trusts another authority: nginx lets the handshake pass and answers 400.
    let other = Authority::new("Somebody Else");
    company.registry = Registry::behind(Gate::ClientCertificate(other.certificate().to_owned())).start();
    let check = |company: &Company, user: &User| {
        let token = user.home.path().join("token");
        let upstream = format!("upstream = \"{}\"\n", company.registry.address());
        user.settings(&(file_identity(&token) + &company.issuer() + &company.host("job", &upstream)));
        let output = cert(user, &["--self-check", "--json"]);
        (output.code, output.json()["certificate"]["self_check"].clone())
    };
    let (code, told) = check(&company, &user);
    assert_eq!(
        (code, told["outcome"].as_str(), told["status"].as_u64()),
        (Some(77), Some("refused"), Some(400)),
        "{told}"
    );
    assert!(told["what"].as_str().is_some_and(|what| what.contains("CN=alice@corp.example")), "{told}");
    // 2. One that asks for no certificate.
    company.registry = Registry::behind(Gate::Open).start();
    let (code, told) = check(&company, &user);
    assert_eq!((code, told["outcome"].as_str()), (Some(1), Some("not-asked")), "{told}");
    // 3. One that is not there.
    company.registry.stop();
    let (code, told) = check(&company, &user);
    assert_eq!((code, told["outcome"].as_str()), (Some(69), Some("failed")), "{told}");
    user.canary.check(&user.home);
}

#[test]
fn cert_of_a_host_with_a_token_or_without_a_sign_in_says_so() {
    let (provider, user) = (OpenIdProvider::start(), User::move_in());
    user.settings(&(person(&provider, "") + AS_IT_IS + &token_host("\"me\"", "as-it-is")));
    let output = cert(&user, &[]);
    assert_eq!(output.code, Some(78), "{}", output.stderr);
    assert!(output.stderr.contains("bearer token") && output.stderr.contains("hint: "), "{}", output.stderr);

    user.settings(&format!(
        "{}[issuer.trial]\nkind = \"local-ca\"\n\n[host.\"{HOST}\"]\nidentity = \"me\"\nissuer = \"trial\"\n",
        person(&provider, "")
    ));
    let output = cert(&user, &[]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(77), ""), "{}", output.stderr);
    assert!(output.stderr.contains("hint: credmint login me"), "{}", output.stderr);

    let output = user.home.run("credmint").args(["cert", "registry.terraform.io"]).output();
    assert_eq!(output.code, Some(78), "{}", output.stderr);
    user.canary.check(&user.home);
}
