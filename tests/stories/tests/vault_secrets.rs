//! A secret that OpenBao keeps, delivered as the bearer: KV of version 1 and of version 2.

use credmint_stories::{HOST, User, file_identity, terraform, token_host};
use credmint_test_kit::{Gate, Links, OpenBao, OpenIdProvider, Registry, random};
use serde_json::json;

fn issuer(bao: &OpenBao, path: &str, more: &str) -> String {
    let address = bao.address();
    let auth = "auth = { method = \"jwt\", role = \"terraform\" }";
    format!("[issuer.stored]\nkind = \"vault-secret\"\naddress = \"{address}\"\n{auth}\npath = \"{path}\"\n{more}\n")
}

#[test]
fn a_stored_token_of_either_kv_version_opens_the_registry() {
    let Some(terraform) = terraform() else { return };
    let (provider, bao, mut user) = (OpenIdProvider::start(), OpenBao::start(), User::move_in());
    bao.jwt_auth("jwt", provider.issuer());
    bao.jwt_role("jwt", "terraform", "vault", &["reader"]);
    bao.policy(
        "reader",
        "path \"old/*\" { capabilities = [\"read\"] }\npath \"corp/kv/data/*\" { capabilities = [\"read\"] }",
    );

    // 1. The same registry token at an engine of version 1, and under another name at one of version 2.
    let bearer = user.canary.watch("registry token", random::secret("bearer"));
    let beside = user.canary.watch("what lies beside it", random::secret("beside"));
    bao.kv("old", 1);
    bao.kv_put("old", 1, "terraform/registry", json!({ "token": bearer, "other": beside }));
    bao.kv("corp/kv", 2);
    bao.kv_put("corp/kv", 2, "terraform/registry", json!({ "bearer": bearer, "other": beside }));
    let registry = Registry::behind(Gate::Bearer(bearer.clone())).links(Links::Address).start();
    user.use_helper("credmint", &[], &registry);
    let token = user.token_file(&provider.token_for("alice", "vault", 300));
    let identity = file_identity(&token);
    let host = token_host("\"job\"", "stored");
    // 2. Version 1, by the field's usual name.
    user.settings(&(identity.clone() + &issuer(&bao, "old/terraform/registry", "") + &host));
    terraform.init(&user.home, &user.work).success();
    assert_eq!(bao.logins().len(), 1);
    // 3. Version 2, with `data/` in its path, by the name of the field.
    user.settings(
        &(identity.clone() + &issuer(&bao, "corp/kv/data/terraform/registry", "field = \"bearer\"\n") + &host),
    );
    terraform.init(&user.home, &user.work).success();
    assert!(registry.requests().iter().all(|request| request.status < 300));
    // 4. A field that is not there: its neighbours are named, nothing of them is told.
    user.settings(&(identity + &issuer(&bao, "corp/kv/data/terraform/registry", "") + &host));
    let output = user.get().output();
    assert!(output.code != Some(0) && output.stdout.is_empty(), "{}", output.stderr);
    assert!(output.stderr.contains("`token`") && output.stderr.contains("bearer"), "{}", output.stderr);
    // 5. The end of the agent is the end of all its logins.
    user.credmint(&["agent", "stop"]);
    bao.wait_for("all logins end with the agent", |client| client.logins().is_empty());
    user.canary.check(&user.home);
}

#[test]
fn the_logins_own_token_is_a_bearer_and_is_revoked_with_its_entry() {
    let (provider, bao, mut user) = (OpenIdProvider::start(), OpenBao::start(), User::move_in());
    bao.jwt_auth("jwt", provider.issuer());
    bao.jwt_role("jwt", "terraform", "vault", &["default"]);

    // 1. vault-token: whoever speaks to OpenBao behind a host of that name.
    let token = user.token_file(&provider.token_for("alice", "vault", 300));
    let address = bao.address();
    let auth = "auth = { method = \"jwt\", role = \"terraform\" }";
    let issuer = format!("[issuer.vault]\nkind = \"vault-token\"\naddress = \"{address}\"\n{auth}\n\n");
    user.settings(&(file_identity(&token) + &issuer + &token_host("\"job\"", "vault")));
    let client_token = user.got("token");
    let client_token = user.canary.watch("client token", client_token);
    // 2. It works, and the status says until when, and does not say what it is.
    assert_eq!(bao.with_token(&client_token).read("auth/token/lookup-self")["data"]["display_name"], "jwt-alice");
    let status = user.credmint(&["status", "--json"]).json();
    let entry = &status["agent"]["entries"][0];
    assert_eq!(
        (&entry["hostname"], &entry["kind"], &entry["subject"]),
        (&HOST.into(), &"token".into(), &"alice".into())
    );
    assert!(entry["remaining_seconds"].as_u64().is_some_and(|seconds| (240..=300).contains(&seconds)), "{entry}");
    // 3. Forgotten here is revoked there.
    user.home.run("terraform-credentials-credmint").args(["forget", HOST]).output().success();
    bao.wait_for("the token is revoked", |client| {
        client.with_token(&client_token).call("GET", "auth/token/lookup-self", None).status == 403
    });
    user.canary.check(&user.home);
}
