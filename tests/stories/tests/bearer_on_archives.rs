//! A registry that protects its archives by the same bearer token as its API: Terraform sends none there, the bridge does.

use credmint_stories::{AS_IT_IS, HOST, User, env_identity, terraform};
use credmint_test_kit::{Gate, Links, OpenIdProvider, Registry};

#[test]
fn archives_check_sums_and_signatures_get_the_bearer_that_terraform_leaves_out_terraform_29349_28659_opentofu_4314() {
    let Some(terraform) = terraform() else { return };
    for links in [Links::Host, Links::Relative] {
        let (provider, mut user) = (OpenIdProvider::start(), User::move_in());

        // 1. Nothing there is open: neither the API nor an archive.
        let token = provider.token_for("alice", HOST, 300);
        let guard =
            format!("location /archives/ {{ if ($http_authorization != \"Bearer {token}\") {{ return 401; }} }}");
        let registry = Registry::behind(Gate::Bearer(token.clone())).links(links).nginx(&guard).start();
        // 2. A token as the credential, behind the bridge.
        user.secret_variable("WORKLOAD_TOKEN", "subject token", &token);
        user.settings(
            &(env_identity("WORKLOAD_TOKEN")
                + AS_IT_IS
                + &format!(
                    "[host.\"{HOST}\"]\nidentity = \"job\"\nissuer = \"as-it-is\"\ndeliver = \"bridge\"\nca = \"{}\"\n",
                    registry.ca_file().display()
                )),
        );
        user.setup(registry.address());
        // 3. Module and provider arrive, and every single request had the token.
        terraform.init(&user.home, &user.work).success();
        let requests = registry.requests();
        for request in &requests {
            let has_token = request.authorization == format!("Bearer {token}");
            assert!(has_token && request.status < 300, "{} {}", request.path, request.status);
        }
        for file in [".zip", "SHA256SUMS", ".sig"] {
            assert!(requests.iter().any(|request| request.path.ends_with(file)), "{file}: {requests:?}");
        }
        user.canary.check(&user.home);
    }
}
