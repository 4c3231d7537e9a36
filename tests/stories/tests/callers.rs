//! Who asks: a token in the caller's environment, many callers at once, a token that rotates, two users of one system user.

use credmint_stories::{Company, User, env_identity, terraform};
use credmint_test_kit::{Output, Terraform};

fn user_with_a_variable(company: &Company) -> User {
    let user = User::move_in();
    user.setup(company.registry.address());
    user.settings(&(env_identity("WORKLOAD_TOKEN") + &company.issuer() + &company.host("job", "")));
    user
}

fn subjects(company: &Company) -> Vec<String> {
    let mut subjects: Vec<String> = company.registry.requests().into_iter().map(|request| request.subject).collect();
    subjects.sort();
    subjects.dedup();
    subjects
}

#[test]
fn six_inits_at_once_from_cold_mint_once_and_a_rotated_token_mints_anew() {
    let Some(terraform) = terraform() else { return };
    let company = Company::found();
    let mut user = user_with_a_variable(&company);

    // 1. A token in the environment of the caller, and of nobody else.
    user.secret_variable("WORKLOAD_TOKEN", "subject token", &company.provider.token_for("alice", "vault", 300));
    // 2. No agent runs; six terraforms begin at the same moment.
    let works: Vec<_> = (0..6).map(|n| Terraform::write_configuration(&user.home, &format!("work{n}"))).collect();
    let init = ["init", "-input=false", "-no-color"];
    let running: Vec<_> = works.iter().map(|work| terraform.run(&user.home, work, &init).start()).collect();
    running.into_iter().map(|running| running.output()).for_each(|output: Output| drop(output.success()));
    // 3. One agent, one certificate.
    assert_eq!(user.home.agents().len(), 1);
    assert_eq!(company.pki.minted(), 1);
    // 4. The job's token is rotated: another token is another entry.
    user.secret_variable("WORKLOAD_TOKEN", "rotated token", &company.provider.token_for("alice", "vault", 200));
    terraform.init(&user.home, &user.work).success();
    assert_eq!(company.pki.minted(), 2);
    assert_eq!(subjects(&company), ["CN=alice@corp.example"]);
    user.canary.check(&user.home);
}

#[test]
fn two_people_under_one_system_user_never_share_an_entry() {
    let Some(terraform) = terraform() else { return };
    let company = Company::found();
    let mut user = user_with_a_variable(&company);

    let [alice, bob] = ["alice", "bob"].map(|name| company.provider.token_for(name, "vault", 300));
    for (name, token, minted) in [("alice", &alice, 1), ("bob", &bob, 2), ("alice", &alice, 2)] {
        // 1. Alice's build, bob's build, alice's again, all in one home under one user number.
        user.secret_variable("WORKLOAD_TOKEN", name, token);
        let before = company.registry.requests().len();
        terraform.init(&user.home, &user.work).success();
        // 2. Each goes with a certificate in its own name; nobody's is minted twice.
        let requests = company.registry.requests().split_off(before);
        assert!(requests.iter().all(|request| request.subject == format!("CN={name}@corp.example")), "{requests:?}");
        assert_eq!(company.pki.minted(), minted);
    }
    // 3. The status tells each of their own entry, and of the other that it is there.
    let status = user.credmint(&["status"]).stdout;
    assert!(status.contains("CN=alice@corp.example") && !status.contains("bob"), "{status}");
    assert!(status.contains("1 more kept"), "{status}");
    // 4. Somebody without a token gets nothing at all, not even anonymously.
    let nobody = user.get().without_env("WORKLOAD_TOKEN").output();
    assert_eq!((nobody.code, nobody.stdout.as_str()), (Some(77), ""));
    assert!(nobody.stderr.contains("WORKLOAD_TOKEN is not set"), "{}", nobody.stderr);
    user.canary.check(&user.home);
}
