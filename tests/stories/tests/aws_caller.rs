//! Whoever has keys of AWS logs in to a Vault with them: the keys are the caller's, sign in the agent, and go nowhere.

use credmint_stories::User;
use credmint_test_kit::vault_aws::SERVER_ID;
use credmint_test_kit::{Output, VaultAws};

fn moved_in(vault: &VaultAws) -> User {
    let user = User::move_in();
    user.settings(&format!(
        "[identity.me]\nkind = \"aws-caller\"\nregion = \"eu-central-1\"\nserver_id = \"{SERVER_ID}\"\n\n\
         [issuer.vault]\nkind = \"vault-token\"\naddress = \"{}\"\nauth = {{ method = \"aws\", role = \"dev\" }}\n\n\
         [provider.vault]\nidentity = \"me\"\nissuer = \"vault\"\nhosts = [\"vault.corp.example\"]\n",
        vault.address()
    ));
    user
}

fn got(user: &User) -> Output {
    user.home.run("credmint-vault").arg("get").env("VAULT_ADDR", "https://vault.corp.example").answer().output()
}

#[test]
fn keys_of_the_callers_environment_become_a_client_token() {
    let (vault, secret) = (VaultAws::start(), "wJalrXUtnFEMIK7MDENGbPxRfiCYSTORYSTORY01");
    let mut user = moved_in(&vault);
    user.canary.watch("client token", vault.token());
    // 1. Without keys there is nobody, and it is said where was looked.
    user.home.set("AWS_EC2_METADATA_DISABLED", "true");
    let output = got(&user);
    assert!(output.code != Some(0) && output.stderr.contains("no keys of AWS"), "{output:?}");
    // 2. With keys in the caller's environment the Vault gets what they signed.
    user.home.set("AWS_ACCESS_KEY_ID", "AKIDEXAMPLEEXAMPLE01");
    user.secret_variable("AWS_SECRET_ACCESS_KEY", "secret access key", secret);
    let output = got(&user);
    assert_eq!(output.code, Some(0), "{} {:?}", output.stderr, vault.sent());
    assert!(output.stdout == vault.token());
    // 3. The key itself was sent to nobody.
    assert!(vault.sent().iter().all(|sent| !sent.contains(secret)) && !vault.sent().is_empty());
    user.canary.check(&user.home);
}
