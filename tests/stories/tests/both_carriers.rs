//! What the real terraform does with providers and modules besides `init`, behind mutual TLS and by both carriers of `credmint exec`.

use credmint_stories::{AS_IT_IS, Company, HOST, User, env_identity, file_identity, terraform};
use credmint_test_kit::home::{executable, files_below};
use credmint_test_kit::{Gate, Links, OpenIdProvider, Output, Registry};

const CARRIERS: [&str; 2] = ["host", "proxy"];

/// A user of the company who has settings, and neither a helper nor a CLI configuration.
fn user_of(company: &Company, lines: &str) -> User {
    let mut user = User::move_in();
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    let upstream = format!("upstream = \"{}\"\n{lines}", company.registry.address());
    user.settings(&(file_identity(&token) + &company.issuer() + &company.host("job", &upstream)));
    user
}

fn exec(user: &User, carrier: &str, words: &[&str]) -> Output {
    let run = user.home.run(executable("credmint")).args(["exec", "--carrier", carrier, "--"]);
    let run = run.args(words.iter().copied()).in_directory(&user.work).env("TF_IN_AUTOMATION", "1");
    run.deadline(std::time::Duration::from_secs(120)).output()
}

#[test]
fn providers_are_locked_and_mirrored_and_modules_fetched_again() {
    let Some(_) = terraform() else { return };
    let company = Company::found();
    for carrier in CARRIERS {
        let user = user_of(&company, "");
        let asked = || company.registry.requests().len();
        let since = |before: usize| company.registry.requests().split_off(before);

        // 1. `get -update` fetches the module, and once more when it is there already.
        for _ in 0..2 {
            let before = asked();
            exec(&user, carrier, &["terraform", "get", "-update", "-no-color"]).success();
            assert!(since(before).iter().any(|one| one.path.contains("/archives/network")), "{carrier}");
        }
        // 2. `providers lock` writes the sums, of the package and of what is in it.
        exec(&user, carrier, &["terraform", "providers", "lock", "-no-color"]).success();
        let lock = user.home.read("work/.terraform.lock.hcl");
        assert!(lock.contains(&format!("provider \"{HOST}/corp/widget\"")), "{lock}");
        assert!(lock.contains("\"h1:") && lock.contains("\"zh:"), "{lock}");
        // 3. `init` takes no other provider than the one that is locked, and leaves the file as it is.
        exec(&user, carrier, &["terraform", "init", "-input=false", "-no-color", "-lockfile=readonly"]).success();
        assert_eq!(user.home.read("work/.terraform.lock.hcl"), lock);
        // 4. `providers mirror` fills a directory that knows nothing of us.
        let mirror = user.home.make_directory("mirrored");
        exec(&user, carrier, &["terraform", "providers", "mirror", "-no-color", &mirror.display().to_string()])
            .success();
        let files = files_below(&mirror);
        let has = |end: &str| files.iter().any(|file| file.display().to_string().ends_with(end));
        assert!(has("corp/widget/index.json") && has("corp/widget/1.0.0.json") && has(".zip"), "{files:?}");
        assert!(
            user.home
                .read(&format!("mirrored/{HOST}/corp/widget/1.0.0.json"))
                .contains("\"url\": \"terraform-provider-")
        );
        // 5. All of it came with the certificate, and no token of ours.
        let requests = company.registry.requests();
        assert!(requests.iter().all(|one| one.verify == "SUCCESS" && one.authorization.is_empty() && one.host == HOST));
        user.canary.check(&user.home);
    }
}

#[test]
fn a_token_beside_the_certificate_is_on_every_request_archives_included_terraform_29349_28659() {
    let Some(_) = terraform() else { return };
    let mut company = Company::found();
    let gate = Gate::ClientCertificate(company.pki.path());
    company.registry =
        Registry::behind(gate).nginx("if ($http_authorization !~ \"^Bearer .\") { return 401; }").start();
    let issuer = company.provider.issuer();
    let exchange = format!(
        "[issuer.exchange]\nkind = \"token-exchange\"\nissuer = \"{issuer}\"\naudience = \"{HOST}\"\nclient_id = \"cli\"\n\n"
    );
    for carrier in CARRIERS {
        let mut user = User::move_in();
        let token = user.token_file(&company.provider.token_for("alice", "cli", 300));
        let more = format!("upstream = \"{}\"\ntoken_issuer = \"exchange\"", company.registry.address());
        user.settings(&(file_identity(&token) + &company.issuer() + &exchange + &company.host("job", &more)));
        let before = company.registry.requests().len();
        exec(&user, carrier, &["terraform", "init", "-input=false", "-no-color"]).success();
        let requests = company.registry.requests().split_off(before);
        let bearer = requests.first().expect("requests").authorization.clone();
        user.canary.watch("the exchanged token", bearer.trim_start_matches("Bearer ").to_owned());
        for one in &requests {
            let is_both = one.verify == "SUCCESS" && one.authorization == bearer && one.status < 300;
            assert!(is_both, "{carrier} {} {}", one.path, one.status);
        }
        assert!(requests.iter().filter(|one| one.path.contains(".zip")).count() >= 2, "{carrier}");
        user.canary.check(&user.home);
    }
}

#[test]
fn a_token_alone_is_on_every_request_too_terraform_29349_28659() {
    let Some(_) = terraform() else { return };
    for carrier in CARRIERS {
        let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
        let token = provider.token_for("alice", HOST, 300);
        let guard =
            format!("location /archives/ {{ if ($http_authorization != \"Bearer {token}\") {{ return 401; }} }}");
        let registry = Registry::behind(Gate::Bearer(token.clone())).links(Links::Host).nginx(&guard).start();
        user.secret_variable("WORKLOAD_TOKEN", "subject token", &token);
        user.settings(
            &(env_identity("WORKLOAD_TOKEN")
                + AS_IT_IS
                + &format!(
                    "[host.\"{HOST}\"]\nidentity = \"job\"\nissuer = \"as-it-is\"\ndeliver = \"bridge\"\nca = \"{}\"\n\
                     upstream = \"{}\"\n",
                    registry.ca_file().display(),
                    registry.address()
                )),
        );
        exec(&user, carrier, &["terraform", "init", "-input=false", "-no-color"]).success();
        let requests = registry.requests();
        assert!(requests.iter().all(|one| one.authorization == format!("Bearer {token}") && one.status < 300));
        assert!(requests.iter().filter(|one| one.path.contains(".zip")).count() >= 2, "{carrier}: {requests:?}");
        user.canary.check(&user.home);
    }
}
