//! The main job: `terraform init` over mutual TLS with a certificate minted on the way.

use credmint_stories::{Company, HOST, User, file_identity, terraform};

#[test]
fn init_fetches_module_and_provider_over_mtls_and_mints_once() {
    let Some(terraform) = terraform() else { return };
    let (company, mut user) = (Company::found(), User::move_in());

    // 1. The CLI configuration, by `credmint setup`.
    user.setup(company.registry.address());
    // 2. The settings: an OIDC token in a file, a PKI role, the host.
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    user.settings(&(file_identity(&token) + &company.issuer() + &company.host("job", "")));
    // 3. to 5. terraform runs the helper, which starts the agent, which mints; all requests come with the certificate.
    terraform.init(&user.home, &user.work).success();
    assert_eq!(company.pki.minted(), 1);
    let requests = company.registry.requests();
    assert!(requests.len() >= 9, "{requests:?}");
    for request in &requests {
        assert_eq!(request.subject, "CN=alice@corp.example", "{request:?}");
        assert_eq!(request.authorization, "", "the session token stays here: {request:?}");
    }
    // 6. A second `init` mints nothing, and six at once do not either.
    terraform.init(&user.home, &user.work).success();
    assert_eq!(company.pki.minted(), 1);

    let status = user.credmint(&["status"]).stdout;
    assert!(status.contains(HOST) && status.contains("CN=alice@corp.example"), "{status}");
    user.canary.check(&user.home);
}
