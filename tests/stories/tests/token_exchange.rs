//! A token got in exchange for the identity's own (RFC 8693) at a real OpenID Provider, delivered as the bearer.

use credmint_stories::{HOST, User, file_identity, terraform, token_host};
use credmint_test_kit::encoding::claims;
use credmint_test_kit::{Gate, Links, OpenIdProvider, Registry};

fn exchange(provider: &OpenIdProvider, lines: &str) -> String {
    let issuer = provider.issuer();
    format!("[issuer.exchange]\nkind = \"token-exchange\"\nissuer = \"{issuer}\"\naudience = \"{HOST}\"\n{lines}\n")
}

/// Gets the answer's token and gives the claims in it.
fn exchanged(user: &mut User, name: &str) -> serde_json::Value {
    let token = user.got("token");
    claims(&user.canary.watch(name, token))
}

#[test]
fn init_presents_a_token_that_was_exchanged_for_the_identitys() {
    let Some(terraform) = terraform() else { return };
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
    let registry = Registry::behind(Gate::AnyBearer).links(Links::Address).start();
    user.use_helper("credmint", &[], &registry);

    // 1. A client with a secret in a file (client_secret_basic).
    let secret = user.secret_file("client-secret", "client secret", provider.ci_secret());
    let client = format!("client_id = \"ci\"\nclient_secret = {{ file = \"{}\" }}\n", secret.display());
    let token = user.token_file(&provider.token_for("alice", "ci", 300));
    let issuer = exchange(&provider, &format!("{client}scopes = [\"registry\"]\n"));
    user.settings(&(file_identity(&token) + &issuer + &token_host("\"job\"", "exchange")));
    // 2. Terraform presents what the provider gave for it.
    terraform.init(&user.home, &user.work).success();
    let claims = exchanged(&mut user, "exchanged token");
    assert_eq!((&claims["sub"], &claims["aud"], &claims["scope"]), (&"alice".into(), &HOST.into(), &"registry".into()));
    let requests = registry.requests();
    let token = user.got("token");
    let api = requests.iter().filter(|request| request.path.starts_with("/v1/"));
    assert!(api.clone().count() >= 4 && api.clone().all(|request| request.authorization == format!("Bearer {token}")));
    // 3. One exchange for the whole run and the questions after it.
    let asked = provider.requests();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!((&asked[0]["client"], &asked[0]["authentication"]), (&"ci".into(), &"client_secret_basic".into()));
    user.canary.check(&user.home);
}

#[test]
fn a_client_shows_who_it_is_in_each_of_the_four_ways() {
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
    let key = user.secret_file("client-key.pem", "client key", provider.ci_jwt_key());
    let post = user.secret_file("client-post", "client secret by post", provider.ci_post_secret());
    let basic = user.secret_file("client-basic", "client secret", provider.ci_secret());
    let actor = user.secret_file("actor", "actor token", &provider.token_for("terraform", "ci", 300));
    let token = user.token_file(&provider.token_for("alice", "ci", 300));

    let clients = [
        ("none", "client_id = \"cli\"\n".to_owned()),
        ("client_secret_basic", format!("client_id = \"ci\"\nclient_secret = {{ file = \"{}\" }}\n", basic.display())),
        (
            "client_secret_post",
            format!(
                "client_id = \"ci-post\"\nclient_auth = \"post\"\nclient_secret = {{ file = \"{}\" }}\n",
                post.display()
            ),
        ),
        ("private_key_jwt", format!("client_id = \"ci-jwt\"\nclient_key = {{ file = \"{}\" }}\n", key.display())),
    ];
    for (way, client) in clients {
        // 1. A public client, two with a secret, one with a private key; each also says who acts.
        let more =
            format!("{client}resource = [\"https://{HOST}\"]\nactor_token = {{ file = \"{}\" }}\n", actor.display());
        user.settings(&(file_identity(&token) + &exchange(&provider, &more) + &token_host("\"job\"", "exchange")));
        // 2. Each gets a token for the audience and the resource, in the name of both.
        let claims = exchanged(&mut user, way);
        assert_eq!(claims["aud"], serde_json::json!([HOST, format!("https://{HOST}")]), "{way}");
        assert_eq!((&claims["sub"], &claims["act"]["sub"]), (&"alice".into(), &"terraform".into()), "{way}");
        let asked = provider.requests();
        let last = asked.last().cloned().unwrap_or_default();
        assert_eq!((&last["authentication"], &last["status"]), (&way.into(), &200.into()), "{last}");
    }
    user.canary.check(&user.home);
}

#[test]
fn what_the_provider_says_of_a_refused_exchange_reaches_the_person() {
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
    let token = user.token_file(&provider.token_for("alice", "ci", 300));

    // 1. A resource that the provider does not know.
    let issuer = exchange(&provider, "client_id = \"cli\"\nresource = [\"https://nowhere.example\"]\n");
    user.settings(&(file_identity(&token) + &issuer + &token_host("\"job\"", "exchange")));
    // 2. `invalid_target` in words, no answer, exit status "refused".
    let output = user.get().output();
    assert_eq!((output.code, output.stdout.as_str()), (Some(77), ""), "{}", output.stderr);
    assert!(output.stderr.contains("invalid_target") && output.stderr.contains("hint: "), "{}", output.stderr);
    user.canary.check(&user.home);
}
