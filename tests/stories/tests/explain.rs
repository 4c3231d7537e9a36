//! `credmint explain`: which route, who would ask, who would grant, and why; without asking anybody.

use credmint_stories::{Company, HOST, User, file_identity};

#[test]
fn explain_tells_the_route_before_anything_happened_and_asks_nobody() {
    let (company, mut user) = (Company::found(), User::move_in());
    user.setup(company.registry.address());

    // 1. A route that works.
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    user.settings(&(file_identity(&token) + &company.issuer() + &company.host("job", "")));
    let explained = user.credmint(&["explain", HOST]).stdout;
    // 2. Identity with its claims, issuer with its address and role, the upstream.
    for word in ["job", "alice", company.provider.issuer(), "registry-cert", "vault-pki", company.bao.address()] {
        assert!(explained.contains(word), "{word}: {explained}");
    }
    assert!(explained.contains(company.registry.address()), "{explained}");
    let object = user.credmint(&["explain", HOST, "--json"]).json();
    assert!(object.to_string().contains("registry-cert"), "{object}");
    // 3. Nobody was asked, nobody stays.
    assert_eq!((company.pki.minted(), company.bao.logins().len()), (0, 0));
    assert!(company.registry.requests().is_empty() && user.home.agents().is_empty());
    // 4. After a `get` it tells of the entry that is kept.
    let session = user.got("token");
    user.canary.watch("session token", session);
    let explained = user.credmint(&["explain", HOST]).stdout;
    assert!(explained.contains("CN=alice@corp.example"), "{explained}");
    // 5. A host without a route is one that gets no credentials, which is no failure of anybody.
    let other = user.home.run("credmint").args(["explain", "registry.terraform.io"]).output();
    assert!(other.stdout.contains("registry.terraform.io"), "{}{}", other.stdout, other.stderr);
    user.canary.check(&user.home);
}
