//! A provider mirror behind mutual TLS, without a proxy: the bridge is the registry, and the mirror is what it knows.
#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a story writes a configuration, and looks at what terraform wrote"
)]

use std::path::PathBuf;

use credmint_stories::{Company, HOST, User, file_identity, terraform};
use credmint_test_kit::home::executable;
use credmint_test_kit::mirror::{self, Hashes};
use credmint_test_kit::{Output, Registry};

/// The registry whose providers the mirror has; nobody answers for it.
const PUBLIC: &str = "providers.example.net";

/// A user whose CLI configuration has a mirror at the company's registry, and a provider of that in a directory.
fn user_of(company: &Company, include: &str) -> (User, PathBuf) {
    let mut user = User::move_in();
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    let upstream = format!("upstream = \"{}\"", company.registry.address());
    user.settings(&(file_identity(&token) + &company.issuer() + &company.host("job", &upstream)));
    let mirror =
        format!("network_mirror {{\n    url = \"https://{HOST}{}\"\n    include = [{include}]\n  }}", mirror::PATH);
    user.home.write(".terraformrc", &format!("provider_installation {{\n  {mirror}\n}}\n"));
    let main = format!(
        "terraform {{\n  required_providers {{\n    widget = {{ source = \"{PUBLIC}/corp/widget\", version = \"1.0.0\" }}\n  }}\n}}\n"
    );
    let main = user.home.write("mirrored/main.tf", &main);
    (user, main.parent().expect("its directory").to_owned())
}

fn run(user: &User, directory: &PathBuf, words: &[&str]) -> Output {
    let run = user.home.run(executable("credmint")).args(["exec", "--", "terraform"]).args(words.iter().copied());
    run.in_directory(directory).env("TF_IN_AUTOMATION", "1").deadline(std::time::Duration::from_secs(120)).output()
}

fn init(user: &User, directory: &PathBuf) -> Output {
    run(user, directory, &["init", "-input=false", "-no-color"])
}

fn read(directory: &PathBuf, file: &str) -> String {
    std::fs::read_to_string(directory.join(file)).expect(file)
}

/// Tells whether all that the mirror was asked came with the certificate, and nothing else.
fn with_certificate(registry: &Registry) -> bool {
    registry.requests().iter().all(|r| r.verify == "SUCCESS" && r.authorization.is_empty() && r.host == HOST)
}

#[test]
fn a_mirror_with_sums_serves_init_lock_and_mirror() {
    let Some(_) = terraform() else { return };
    let company = Company::found();
    let (user, directory) = user_of(&company, &format!("\"{PUBLIC}/*/*\""));
    mirror::write(&company.registry, PUBLIC, &Hashes::Zh, None);

    // 1. `init` gets the provider from the mirror, and says that the key is nobody's; which mirror serves whom is said first.
    let first = init(&user, &directory).success();
    assert!(
        first.stdout.contains("Installed providers.example.net/corp/widget v1.0.0 (self-signed"),
        "{}",
        first.stdout
    );
    let said = format!("credmint: the mirror at {HOST} has the providers of {PUBLIC} in this run\n");
    assert_eq!(first.stderr, said);
    assert!(with_certificate(&company.registry), "{:?}", company.registry.requests());
    // 2. The lock file has the mirror's hash and the one of the contents, and nothing of the run.
    let lock = read(&directory, ".terraform.lock.hcl");
    let archive = mirror::archive(&company.registry);
    assert!(lock.contains(&mirror::zh(&archive)) && lock.contains(&mirror::h1(&archive)), "{lock}");
    assert!(!lock.contains("127.0.0.1"), "{lock}");
    // 3. Again, with the lock file and another key.
    std::fs::remove_dir_all(directory.join(".terraform")).expect("what was installed");
    let again = init(&user, &directory).success();
    assert!(again.stdout.contains("Installed"), "{}", again.stdout);
    assert_eq!(read(&directory, ".terraform.lock.hcl"), lock);
    // 4. `providers lock` and `providers mirror`.
    run(&user, &directory, &["providers", "lock", "-no-color"]).success();
    assert_eq!(read(&directory, ".terraform.lock.hcl"), lock);
    run(&user, &directory, &["providers", "mirror", "copy"]).success();
    assert!(read(&directory, &format!("copy/{PUBLIC}/corp/widget/1.0.0.json")).contains("h1:"));
    // 5. What `env` says of it.
    let env = user.home.run(executable("credmint")).arg("env").output().success();
    assert!(
        env.stdout.contains("# TF_TOKEN_providers_example_net (a session token of a run, for the mirror at"),
        "{}",
        env.stdout
    );
    assert_eq!(env.stderr, said);
    user.canary.check(&user.home);
}

#[test]
fn a_mirror_without_sums_is_read_once_for_them() {
    let Some(_) = terraform() else { return };
    let company = Company::found();
    let (user, directory) = user_of(&company, &format!("\"{PUBLIC}/*/*\""));
    mirror::write(&company.registry, PUBLIC, &Hashes::H1, None);

    init(&user, &directory).success();
    let lock = read(&directory, ".terraform.lock.hcl");
    let archive = mirror::archive(&company.registry);
    assert!(lock.contains(&mirror::zh(&archive)) && lock.contains(&mirror::h1(&archive)), "{lock}");
    let archives = company.registry.requests().into_iter().filter(|r| r.method == "GET" && r.path.contains(".zip"));
    assert_eq!(archives.count(), 2, "once for the sum, once for terraform");
    user.canary.check(&user.home);
}
