//! The main job: `terraform init` over mutual TLS with a certificate minted on the way.

use credmint_stories::{Company, HOST, User, file_identity, terraform};
use credmint_test_kit::{Gate, Links, Registry};

#[test]
fn init_fetches_module_and_provider_over_mtls_and_mints_once() {
    let Some(terraform) = terraform() else { return };
    let (company, mut user) = (Company::found(), User::move_in());

    // What Terraform is handed instead of a token for archives is seen nowhere either.
    user.canary.watch("a capability URL", format!("{HOST}/.cap/"));
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
        assert_eq!((request.sni.as_str(), request.host.as_str()), (HOST, HOST), "{request:?}");
        assert_eq!(request.protocol, "HTTP/1.1", "this registry would speak HTTP/2, too: {request:?}");
        assert_eq!((request.verify.as_str(), request.subject.as_str()), ("SUCCESS", "CN=alice@corp.example"));
        assert_eq!(request.authorization, "", "the session token stays here: {request:?}");
    }
    // 6. A second `init` mints nothing.
    terraform.init(&user.home, &user.work).success();
    assert_eq!(company.pki.minted(), 1);

    let status = user.credmint(&["status"]).stdout;
    assert!(status.contains(HOST) && status.contains("CN=alice@corp.example"), "{status}");
    user.canary.check(&user.home);
}

#[test]
fn init_succeeds_however_the_registry_names_its_archives() {
    let Some(terraform) = terraform() else { return };
    let mut company = Company::found();
    for links in [Links::Host, Links::Address, Links::Relative] {
        // 1. A registry that names its archives by its host, by its address, or by a path alone.
        company.move_registry(links);
        let mut user = User::move_in();
        user.setup(company.registry.address());
        let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
        user.settings(&(file_identity(&token) + &company.issuer() + &company.host("job", "")));
        // 2. Archives, check sums and signature come with the certificate all the same.
        terraform.init(&user.home, &user.work).success();
        let archives = company.registry.requests().into_iter().filter(|r| r.path.starts_with("/archives/"));
        assert!(archives.filter(|request| request.verify == "SUCCESS").count() >= 4);
        user.canary.check(&user.home);
    }
}

#[test]
fn init_succeeds_at_a_registry_that_speaks_http_1_1_alone() {
    let Some(terraform) = terraform() else { return };
    let (mut company, mut user) = (Company::found(), User::move_in());

    // 1. A registry without HTTP/2.
    company.registry = Registry::behind(Gate::ClientCertificate(company.pki.path())).http1().start();
    user.setup(company.registry.address());
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    user.settings(&(file_identity(&token) + &company.issuer() + &company.host("job", "")));
    // 2. Everything arrives as before, over HTTP/1.1.
    terraform.init(&user.home, &user.work).success();
    let requests = company.registry.requests();
    assert!(requests.len() >= 9, "{requests:?}");
    for request in &requests {
        assert_eq!((request.protocol.as_str(), request.sni.as_str()), ("HTTP/1.1", HOST), "{request:?}");
        assert_eq!((request.verify.as_str(), request.host.as_str()), ("SUCCESS", HOST), "{request:?}");
    }
    user.canary.check(&user.home);
}

#[test]
fn every_command_that_asks_a_registry_goes_through_the_bridge() {
    let Some(terraform) = terraform() else { return };
    let (company, mut user) = (Company::found(), User::move_in());
    user.setup(company.registry.address());
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    user.settings(&(file_identity(&token) + &company.issuer() + &company.host("job", "")));
    let (system, architecture) = credmint_test_kit::registry::platform();
    let platform = format!("-platform={system}_{architecture}");
    let mirror = user.home.make_directory("mirror").display().to_string();

    // 1. Each of these asks the registry, and gets what it asks for.
    let commands: [&[&str]; 5] = [
        &["init", "-input=false"],
        &["init", "-input=false", "-upgrade"],
        &["get", "-update"],
        &["providers", "lock", &platform],
        &["providers", "mirror", &platform, &mirror],
    ];
    for command in commands {
        let before = company.registry.requests().len();
        terraform.run(&user.home, &user.work, command).output().success();
        let requests = company.registry.requests().split_off(before);
        assert!(!requests.is_empty() && requests.iter().all(|request| request.verify == "SUCCESS"), "{command:?}");
    }
    // 2. All of that with one certificate.
    assert_eq!(company.pki.minted(), 1);
    user.canary.check(&user.home);
}
