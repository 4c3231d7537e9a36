//! A provider mirror behind mutual TLS, by the proxy carrier: terraform speaks to it itself, and `auto` chooses that by itself.
#![cfg(target_os = "linux")]

use std::path::PathBuf;

use credmint_stories::{Company, HOST, User, file_identity, terraform};
use credmint_test_kit::Output;
use credmint_test_kit::home::executable;
use credmint_test_kit::mirror::{self, Hashes};

/// The registry whose providers the mirror has; nobody answers for it.
const PUBLIC: &str = "providers.example.net";

/// A user whose CLI configuration has a mirror at the company's registry, and a provider of that in a directory.
fn user_of(company: &Company) -> (User, PathBuf) {
    let mut user = User::move_in();
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    let upstream = format!("upstream = \"{}\"", company.registry.address());
    user.settings(&(file_identity(&token) + &company.issuer() + &company.host("job", &upstream)));
    let mirror = format!("network_mirror {{\n    url = \"https://{HOST}{}\"\n  }}", mirror::PATH);
    user.home.write(".terraformrc", format!("provider_installation {{\n  {mirror}\n}}\n"));
    let source = format!("source = \"{PUBLIC}/corp/widget\", version = \"1.0.0\"");
    let main = format!("terraform {{\n  required_providers {{\n    widget = {{ {source} }}\n  }}\n}}\n");
    let main = user.home.write("mirrored/main.tf", &main);
    (user, main.parent().map(PathBuf::from).unwrap_or_default())
}

fn init(user: &User, directory: &PathBuf, carrier: &[&str]) -> Output {
    let run = user.home.run(executable("credmint")).arg("exec").args(carrier.iter().copied());
    let run = run.args(["--", "terraform", "init", "-input=false", "-no-color"]).in_directory(directory);
    run.env("TF_IN_AUTOMATION", "1").deadline(std::time::Duration::from_secs(120)).output()
}

#[test]
fn a_mirror_is_asked_in_its_own_words() {
    let Some(_) = terraform() else { return };
    let company = Company::found();
    for carrier in [&["--carrier", "proxy"] as &[&str], &[]] {
        let (user, directory) = user_of(&company);
        mirror::write(&company.registry, PUBLIC, &Hashes::H1, None);
        let before = company.registry.requests().len();

        // 1. Terraform finds the mirror's own hashes good: nobody signs anything in its place.
        let output = init(&user, &directory, carrier).success();
        assert!(output.stdout.contains("Installed providers.example.net/corp/widget v1.0.0 (verified checksum)"));
        assert_eq!(output.stderr, "");
        // 2. All of it came with the certificate, and without a token of ours.
        let asked = company.registry.requests();
        let asked = asked.get(before..).unwrap_or_default();
        let is_mirror = |path: &str| path.starts_with(mirror::PATH);
        assert!(asked.iter().any(|one| is_mirror(&one.path) && one.path.contains(".zip")), "{asked:?}");
        assert!(asked.iter().all(|one| one.verify == "SUCCESS" && one.authorization.is_empty() && one.host == HOST));
        user.canary.check(&user.home);
    }
}
