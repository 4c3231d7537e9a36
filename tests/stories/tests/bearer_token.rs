//! `deliver = "token"`: an OIDC token passed on as the bearer, straight from Terraform to the registry.

use credmint_stories::{HOST, User, env_identity, terraform, token_host};
use credmint_test_kit::{Gate, Links, OpenIdProvider, Registry};

#[test]
fn init_presents_the_identitys_own_token_to_the_registry() {
    let Some(terraform) = terraform() else { return };
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());

    // 1. A registry that lets in whoever has this token; Terraform goes there without a bridge.
    let token = provider.token_for("alice", HOST, 300);
    let registry = Registry::behind(Gate::Bearer(token.clone())).links(Links::Address).start();
    user.use_helper("credmint", &[], &registry);
    // 2. The settings pass the token on if it is meant for this registry.
    user.secret_variable("WORKLOAD_TOKEN", "subject token", &token);
    let issuer = format!("[issuer.as-it-is]\nkind = \"oidc\"\naudience = \"{HOST}\"\n\n");
    user.settings(&(env_identity("WORKLOAD_TOKEN") + &issuer + &token_host("\"job\"", "as-it-is")));
    // 3. Module and provider arrive; every API request carries the token, no archive does.
    terraform.init(&user.home, &user.work).success();
    let requests = registry.requests();
    for request in &requests {
        let is_api = request.path.starts_with("/v1/");
        let expected = if is_api { format!("Bearer {token}") } else { String::new() };
        assert!(request.authorization == expected && request.status < 300, "{} {}", request.path, request.status);
    }
    assert!(requests.iter().filter(|request| request.path.starts_with("/v1/")).count() >= 4);
    // 4. The answer says when the token ends, and holds nothing else.
    let object = user.get().output().success().json();
    let keys: Vec<&String> = object.as_object().into_iter().flat_map(|object| object.keys()).collect();
    assert_eq!(keys, ["expires_at", "token"]);
    // 5. No bridge was needed, so none listens.
    assert!(user.credmint(&["status", "--json"]).json()["agent"]["bridge"].as_array().is_some_and(Vec::is_empty));
    user.canary.check(&user.home);
}

#[test]
fn a_token_for_another_audience_goes_nowhere() {
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());

    // 1. A token that was made for Vault.
    user.secret_variable("WORKLOAD_TOKEN", "subject token", &provider.token_for("alice", "vault", 300));
    let issuer = format!("[issuer.as-it-is]\nkind = \"oidc\"\naudience = \"{HOST}\"\n\n");
    user.settings(&(env_identity("WORKLOAD_TOKEN") + &issuer + &token_host("\"job\"", "as-it-is")));
    // 2. The registry would see it and could use it: refused, with both names.
    let output = user.get().output();
    assert_eq!((output.code, output.stdout.as_str()), (Some(77), ""), "{}", output.stderr);
    assert!(output.stderr.contains("vault") && output.stderr.contains(HOST), "{}", output.stderr);
    assert!(output.stderr.contains("hint: "), "{}", output.stderr);
    user.canary.check(&user.home);
}
