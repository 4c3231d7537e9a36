//! Keys of AWS for a certificate: the real OpenBao mints it, a strict fake of Roles Anywhere verifies what its key signed.

use credmint_stories::{Company, User, file_identity};
use credmint_test_kit::RolesAnywhere;
use serde_json::json;

/// A home whose provider `prod` has keys of AWS for a certificate of the company's PKI.
fn moved_in(company: &Company, anywhere: &RolesAnywhere, lines: &str) -> User {
    let mut user = User::move_in();
    let token = user.token_file(&company.provider.token_for("alice", "vault", 600));
    user.canary.watch("secret access key", anywhere.secret());
    let aws = anywhere.issuer("aws", "registry-cert");
    let provider = "[provider.prod]\nidentity = \"job\"\nissuer = \"aws\"\n";
    user.settings(&(file_identity(&token) + &company.issuer_with(lines) + &aws + provider));
    user
}

#[test]
fn a_certificate_of_openbao_becomes_keys_and_is_shown_again() {
    for (key, algorithm) in [("rsa-2048", "RSA"), ("ecdsa-p256", "ECDSA"), ("ecdsa-p384", "ECDSA")] {
        let company = Company::found();
        let anywhere = RolesAnywhere::start(company.pki.root());
        let user = moved_in(&company, &anywhere, &format!("common_name = \"{{email}}\"\nkey = \"{key}\"\n"));
        // 1. The SDK starts the program, and reads keys.
        let output = user.home.run("credmint-aws").arg("prod").answer().output();
        let asked = anywhere.asked();
        assert_eq!(output.code, Some(0), "{key}: {} {asked:?}", output.stderr);
        let keys = output.json();
        assert_eq!((&keys["Version"], &keys["AccessKeyId"]), (&json!(1), &json!("ASIASESSIONSESSION01")));
        assert!(keys["SecretAccessKey"] == json!(anywhere.secret()) && keys["Expiration"].is_string());
        // 2. What came was signed by the certificate's key, and led over the intermediate to the trust anchor.
        assert_eq!((asked.len(), asked[0].above, asked[0].refused.as_str()), (1, 1, ""), "{asked:?}");
        assert_eq!(asked[0].algorithm, format!("AWS4-X509-{algorithm}-SHA256"));
        // 3. The keys are kept, and the certificate is no other for the next session.
        user.home.run("credmint-aws").arg("prod").answer().output().success();
        assert_eq!((anywhere.asked().len(), company.pki.minted()), (1, 1));
        let status = user.credmint(&["status"]).stdout;
        assert!(status.contains("provider/prod"), "{status}");
        let explained = user.credmint(&["explain", "provider/prod"]).stdout;
        assert!(explained.contains("aws-roles-anywhere at ") && explained.contains("registry-cert"), "{explained}");
        user.canary.check(&user.home);
    }
}

#[test]
fn an_authority_that_the_anchor_does_not_know_is_refused_in_one_sentence() {
    let company = Company::found();
    let other = company.bao.pki("other");
    let anywhere = RolesAnywhere::start(other.root());
    let user = moved_in(&company, &anywhere, "common_name = \"{email}\"\n");
    let output = user.home.run("credmint-aws").arg("prod").answer().output();
    assert!(output.code != Some(0) && output.stdout.is_empty(), "{output:?}");
    assert!(output.stderr.contains("does not lead to the trust anchor"), "{}", output.stderr);
    assert!(output.stderr.contains("hint: compare the trust anchor's certificate"), "{}", output.stderr);
    user.canary.check(&user.home);
}

#[test]
fn a_certificate_that_is_not_granted_is_what_the_failure_is_about() {
    let company = Company::found();
    let anywhere = RolesAnywhere::start(company.pki.root());
    let user = moved_in(&company, &anywhere, "common_name = \"{absent}\"\n");
    let output = user.home.run("credmint-aws").arg("prod").answer().output();
    assert!(output.code != Some(0) && output.stderr.contains("absent"), "{output:?}");
    assert!(anywhere.asked().is_empty() && company.pki.minted() == 0);
    user.canary.check(&user.home);
}
