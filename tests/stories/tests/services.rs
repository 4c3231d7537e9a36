//! All services of a host: what its discovery document offers is in the `host` block, and goes through the bridge.
#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use credmint_stories::{Company, HOST, User, file_identity};
use serde_json::json;

/// What the host of these stories offers, its own, elsewhere, and what nobody knows yet.
#[expect(clippy::disallowed_methods, reason = "the story writes its registry's files")]
fn offers(company: &Company) {
    let document = json!({
        "modules.v1": "/v1/modules/", "providers.v1": "/v1/providers/", "motd.v1": "/motd",
        "state.v2": format!("https://{HOST}/api/v2/"), "tfe.v2": "/api/v2/", "tfe.v2.1": "/api/v2/",
        "versions.v1": "https://versions.example.net/v1/", "later.v7": { "url": "/later/" },
    });
    std::fs::write(company.registry.site().join(".well-known/terraform.json"), document.to_string()).expect("written");
}

#[test]
fn setup_names_every_service_that_the_host_offers() {
    let (company, mut user) = (Company::found(), User::move_in());
    offers(&company);
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    user.settings(&(file_identity(&token) + &company.issuer() + &company.host("job", "")));

    // 1. The upstream is settled first, then it is asked, over mutual TLS.
    user.setup(company.registry.address());
    let asked = company.registry.requests();
    assert!(asked.iter().any(|one| one.path == "/.well-known/terraform.json" && one.verify == "SUCCESS"), "{asked:?}");
    let text = user.home.read(".terraformrc");
    for (name, path) in [
        ("modules.v1", "v1/modules/"),
        ("motd.v1", "motd"),
        ("state.v2", "api/v2/"),
        ("tfe.v2", "api/v2/"),
        ("tfe.v2.1", "api/v2/"),
    ] {
        let address = format!("= \"http://127.0.0.1:{}/{HOST}/{path}\"", user.port);
        assert!(
            text.lines().any(|line| line.contains(&format!("\"{name}\"")) && line.ends_with(&address)),
            "{name}: {text}"
        );
    }
    assert!(text.contains("\"https://versions.example.net/v1/\"") && text.contains("\"later.v7\""), "{text}");

    // 2. Again changes nothing; nor does a host that cannot be asked.
    assert!(user.credmint(&["setup", HOST, "--yes"]).stdout.contains("Nothing to change"));
    let mut company = company;
    company.registry.stop();
    let told = user.credmint(&["setup", HOST, "--yes"]).stdout;
    assert!(told.contains("was not asked which services") && told.contains("Nothing to change"), "{told}");
    assert_eq!(user.home.read(".terraformrc"), text);
    user.canary.check(&user.home);
}

#[test]
fn what_a_service_says_is_passed_on_untouched_whether_anybody_knows_it_or_not() {
    let (company, mut user) = (Company::found(), User::move_in());
    offers(&company);
    // Addresses of the host's own, by names that are rewritten elsewhere: here they are nobody's business.
    let text = format!(
        "{{ \"msg\": \"caf\\u00e9\",\n \"n\": 1.50, \"download_url\": \"https://{HOST}/a.zip\", \"upload-url\": \"/u\",\"z\":0,\"a\":0}}\n"
    );
    publish(&company, "motd", &text);
    publish(&company, "later/things/one", &text);
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    user.settings(&(file_identity(&token) + &company.issuer() + &company.host("job", "")));
    user.setup(company.registry.address());
    let session = user.got("token");
    for path in ["motd", "later/things/one"] {
        let answer = user.ask_bridge("127.0.0.1", path, &session);
        assert_eq!((answer.status, &answer.body), (200, &text), "{path}");
        // What the host does not know is told in its own words.
        assert_eq!(user.ask_bridge("127.0.0.1", &format!("{path}/none"), &session).status, 404);
    }
    let asked = company.registry.wait_for_requests(5);
    assert!(asked.iter().all(|one| one.verify == "SUCCESS" && one.authorization.is_empty()), "{asked:?}");
    user.canary.check(&user.home);
}

#[expect(clippy::disallowed_methods, reason = "the story writes its registry's files")]
fn publish(company: &Company, path: &str, text: &str) {
    let file = company.registry.site().join(path);
    std::fs::create_dir_all(file.parent().expect("a directory")).expect("made");
    std::fs::write(file, text).expect("written");
}
