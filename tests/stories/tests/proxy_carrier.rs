//! `credmint exec --carrier proxy`: the real terraform reaches a host behind mutual TLS by its own name, and all others as before.
use credmint_stories::{Company, HOST, User, file_identity, terraform};
use credmint_test_kit::Run;
use credmint_test_kit::home::executable;

/// A user of the company who has settings, and neither a helper nor a CLI configuration.
fn user_of(company: &Company) -> User {
    let mut user = User::move_in();
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    let upstream = format!("upstream = \"{}\"", company.registry.address());
    user.settings(&(file_identity(&token) + &company.issuer() + &company.host("job", &upstream)));
    user
}

fn exec<'home>(user: &'home User, words: &[&str]) -> Run<'home> {
    let run = user.home.run(executable("credmint")).args(["exec", "--carrier", "proxy", "--"]);
    let run = run.args(words.iter().copied()).in_directory(&user.work).env("TF_IN_AUTOMATION", "1");
    run.deadline(std::time::Duration::from_secs(120))
}

#[test]
fn init_finds_a_registry_by_its_own_name_and_documents() {
    let Some(_) = terraform() else { return };
    let company = Company::found();
    let user = user_of(&company);

    // 1. Discovery, a module and a provider: no `host` block says where they are.
    let init = exec(&user, &["terraform", "init", "-input=false", "-no-color"]).output().success();
    assert_eq!(init.stderr, "");
    let requests = company.registry.requests();
    assert!(requests.iter().any(|request| request.path == "/.well-known/terraform.json"), "{requests:?}");
    assert!(requests.len() >= 9 && requests.iter().all(|request| request.verify == "SUCCESS"), "{requests:?}");
    assert!(requests.iter().all(|request| request.authorization.is_empty() && request.host == HOST));
    assert_eq!(company.pki.minted(), 1);
    user.canary.check(&user.home);
}
