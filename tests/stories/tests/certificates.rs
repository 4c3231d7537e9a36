//! What is minted: every kind of key, names of all four kinds, a life that is not longer than the role allows.

use credmint_stories::{Company, User, file_identity};
use serde_json::json;

const VERSIONS: &str = "v1/modules/corp/network/aws/versions";

/// Lets `openssl` say something about a certificate.
fn about(user: &User, pem: &str, options: &[&str]) -> String {
    let run = user.home.run("openssl").args(["x509", "-noout"]).args(options.iter().copied()).input(pem);
    run.output().success().stdout
}

#[test]
fn every_kind_of_key_is_signed_by_openbao_and_accepted_by_the_registry() {
    let (company, mut user) = (Company::found(), User::move_in());
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    let upstream = format!("upstream = \"{}\"\n", company.registry.address());
    let keys = [
        ("ecdsa-p256", "prime256v1"),
        ("ecdsa-p384", "secp384r1"),
        ("ed25519", "ED25519"),
        ("rsa-2048", "Public-Key: (2048 bit)"),
    ];
    for (at, (key, shown)) in keys.into_iter().enumerate() {
        // 1. A key of this kind, behind the bridge: the registry lets it in.
        let issuer = company.issuer_with(&format!("common_name = \"{{email}}\"\nttl = \"1h\"\nkey = \"{key}\"\n"));
        user.settings(&(file_identity(&token) + &issuer + &company.host("job", &upstream)));
        let session = user.got("token");
        assert_eq!(user.ask_bridge("127.0.0.1", VERSIONS, &session).status, 200, "{key}");
        let requests = company.registry.wait_for_requests(at + 1);
        assert_eq!((requests[at].verify.as_str(), requests[at].subject.as_str()), ("SUCCESS", "CN=alice@corp.example"));
        // 2. The same inline is one of the same kind: the delivery is another, so it is another entry.
        user.settings(&(file_identity(&token) + &issuer + &company.host("job", "deliver = \"inline\"\n")));
        let object = user.get().output().success().json();
        user.canary.watch_pem(key, object["client_private_key_pem"].as_str().unwrap_or_default());
        let text = about(&user, object["client_certificate_pem"].as_str().unwrap_or_default(), &["-text"]);
        assert!(text.contains(shown), "{key}: {text}");
    }
    assert_eq!(company.pki.minted(), 8);
    user.canary.check(&user.home);
}

#[test]
fn names_of_all_four_kinds_come_from_claims_and_arrive() {
    let (company, mut user) = (Company::found(), User::move_in());

    // 1. Claims of the token: one text, and a list that becomes as many names.
    let claims = json!({ "email": "alice@corp.example", "groups": ["infra", "web"], "node": "10.1.2.3" });
    let token = user.token_file(&company.provider.token_with("alice", "vault", 300, claims));
    let issuer = company.issuer_with(
        "common_name = \"{sub}\"\ndns_names = [\"{sub}.agents.corp.example\", \"fixed.corp.example\"]\n\
         email_addresses = \"{email}\"\nip_addresses = [\"{node}\", \"2001:db8::7\"]\n\
         uris = [\"spiffe://corp.example/{sub}\"]\n",
    );
    user.settings(&(file_identity(&token) + &issuer + &company.host("job", "deliver = \"inline\"\n")));
    let object = user.get().output().success().json();
    user.canary.watch_pem("client private key", object["client_private_key_pem"].as_str().unwrap_or_default());
    // 2. All of them are in the certificate, and nothing else.
    let pem = object["client_certificate_pem"].as_str().unwrap_or_default();
    let mut names: Vec<String> = about(&user, pem, &["-ext", "subjectAltName"])
        .lines()
        .skip(1)
        .flat_map(|line| line.split(','))
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .collect();
    names.sort();
    let expected = [
        "DNS:alice.agents.corp.example",
        "DNS:fixed.corp.example",
        "IP Address:10.1.2.3",
        "IP Address:2001:DB8:0:0:0:0:0:7",
        "URI:spiffe://corp.example/alice",
        "email:alice@corp.example",
    ];
    assert_eq!(names, expected);
    assert!(about(&user, pem, &["-subject"]).contains("CN = alice"));
    assert!(about(&user, pem, &["-ext", "extendedKeyUsage"]).contains("TLS Web Client Authentication"));
    // 3. A claim that the token does not have is told by name, with those that it has.
    let issuer = company.issuer_with("common_name = \"{upn}\"\n");
    user.settings(&(file_identity(&token) + &issuer + &company.host("job", "deliver = \"inline\"\n")));
    let output = user.get().output();
    assert!(output.code != Some(0) && output.stderr.contains("`upn`"), "{}", output.stderr);
    assert!(output.stderr.contains("email") && output.stderr.contains("hint: "), "{}", output.stderr);
    user.canary.check(&user.home);
}

#[test]
fn a_life_that_the_role_shortens_is_told_in_the_status() {
    let (company, mut user) = (Company::found(), User::move_in());
    user.setup(company.registry.address());

    // 1. A day is asked for; the role gives two hours at most.
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    let issuer = company.issuer_with("common_name = \"{email}\"\nttl = \"1d\"\n");
    user.settings(&(file_identity(&token) + &issuer + &company.host("job", "")));
    let session = user.got("token");
    assert_eq!(user.ask_bridge("127.0.0.1", VERSIONS, &session).status, 200);
    // 2. The status says both lives, for people and for programs.
    let status = user.credmint(&["status"]).stdout;
    assert!(status.contains("granted 2h") && status.contains("asked for "), "{status}");
    let entry = user.credmint(&["status", "--json"]).json()["agent"]["entries"][0].clone();
    assert!(entry["remaining_seconds"].as_u64().is_some_and(|seconds| seconds <= 7200), "{entry}");
    assert!(entry["notes"].as_array().is_some_and(|notes| !notes.is_empty()), "{entry}");
    assert_eq!(entry["serial"].as_str().map(|serial| serial.replace(':', "").to_uppercase()), {
        company.registry.wait_for_requests(1).first().map(|request| request.serial.clone())
    });
    user.canary.check(&user.home);
}
