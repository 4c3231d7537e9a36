//! A provider mirror behind mutual TLS, without a proxy: the bridge is the registry, and the mirror is what it knows.
#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a story writes a configuration, and looks at what terraform wrote"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use credmint_stories::{Company, HOST, User, file_identity, terraform};
use credmint_test_kit::home::executable;
use credmint_test_kit::http::Request;
use credmint_test_kit::mirror::{self, Hashes};
use credmint_test_kit::registry::VERSION;
use credmint_test_kit::{Gate, Output, Registry, Run};

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
    user.home.write(".terraformrc", format!("provider_installation {{\n  {mirror}\n}}\n"));
    let main = format!(
        "terraform {{\n  required_providers {{\n    widget = {{ source = \"{PUBLIC}/corp/widget\", version = \"1.0.0\" }}\n  }}\n}}\n"
    );
    let main = user.home.write("mirrored/main.tf", &main);
    (user, main.parent().expect("its directory").to_owned())
}

fn exec<'home>(user: &'home User, directory: &Path, words: &[&str]) -> Run<'home> {
    let run =
        user.home.run(executable("credmint")).args(["exec", "--carrier", "host", "--"]).args(words.iter().copied());
    run.in_directory(directory).env("TF_IN_AUTOMATION", "1").deadline(std::time::Duration::from_secs(120))
}

fn run(user: &User, directory: &Path, words: &[&str]) -> Output {
    exec(user, directory, &[&["terraform"], words].concat()).output()
}

fn init(user: &User, directory: &Path) -> Output {
    run(user, directory, &["init", "-input=false", "-no-color"])
}

fn read(directory: &Path, file: &str) -> String {
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
    let env = user.home.run(executable("credmint")).args(["env", "--carrier", "host"]).output().success();
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

#[test]
fn a_mirror_that_is_wrong_about_an_archive_is_refused() {
    let Some(_) = terraform() else { return };
    let company = Company::found();
    let (user, directory) = user_of(&company, &format!("\"{PUBLIC}/*/*\""));
    let wrong = |digit: &str| format!("zh:{}", digit.repeat(64));

    // 1. One hash, and it is of something else: terraform itself refuses what it got.
    mirror::write(&company.registry, PUBLIC, &Hashes::These(vec![wrong("0")]), None);
    let refused = init(&user, &directory);
    assert_eq!(refused.code, Some(1));
    let words: Vec<&str> = refused.stderr.split(|c: char| c.is_whitespace() || c == '\u{2502}').collect();
    assert!(words.concat().contains("archivehasincorrectchecksum"), "{}", refused.stderr);
    // 2. Several, and it is none of them: the bridge refuses.
    mirror::write(&company.registry, PUBLIC, &Hashes::These(vec![wrong("0"), wrong("1")]), None);
    let refused = init(&user, &directory);
    let said = format!("credmint: the archive at the mirror {HOST} is none of those its hashes are of");
    assert!(refused.code == Some(1) && refused.stderr.contains(&said), "{}", refused.stderr);
    // 3. A lock file that knows another archive.
    mirror::write(&company.registry, PUBLIC, &Hashes::H1, None);
    init(&user, &directory).success();
    let lock = read(&directory, ".terraform.lock.hcl");
    let archive = mirror::archive(&company.registry);
    let other = lock.replace(&mirror::zh(&archive), &wrong("0")).replace(&mirror::h1(&archive), "h1:AAAA");
    std::fs::write(directory.join(".terraform.lock.hcl"), other).expect("the lock file");
    std::fs::remove_dir_all(directory.join(".terraform")).expect("what was installed");
    let refused = init(&user, &directory);
    assert!(refused.code == Some(1) && refused.stderr.contains("checksum"), "{}", refused.stderr);
    user.canary.check(&user.home);
}

#[test]
fn an_archive_on_another_host_is_fetched_there_without_our_credential() {
    let Some(_) = terraform() else { return };
    let company = Company::found();
    let (mut user, directory) = user_of(&company, &format!("\"{PUBLIC}/*/*\""));
    let other = Registry::behind(Gate::Open).start();
    let file = mirror::archive(&company.registry);
    let file = file.file_name().expect("a name").to_string_lossy().into_owned();
    let url = format!("{}/archives/{file}", other.address());

    // 1. With a sum of it the archive is terraform's own business.
    mirror::write(&company.registry, PUBLIC, &Hashes::Zh, Some(&url));
    user.home.set("SSL_CERT_FILE", other.ca_file().display().to_string());
    init(&user, &directory).success();
    let seen = other.requests();
    let anonymous = |r: &credmint_test_kit::registry::Request| r.verify == "NONE" && r.authorization.is_empty();
    assert!(!seen.is_empty() && seen.iter().all(anonymous), "{seen:?}");
    // 2. Without one nobody vouches for it: the bridge goes to no host that the settings do not name.
    mirror::write(&company.registry, PUBLIC, &Hashes::H1, Some(&url));
    std::fs::remove_dir_all(directory.join(".terraform")).expect("what was installed");
    let refused = init(&user, &directory);
    assert!(refused.code == Some(1) && refused.stderr.contains("tells no SHA-256 (zh:)"), "{}", refused.stderr);
    assert_eq!(other.requests().len(), seen.len());
    user.canary.check(&user.home);
}

#[test]
fn redirects_within_the_mirror_are_followed_and_no_others() {
    let Some(_) = terraform() else { return };
    let mut company = Company::found();
    let moved =
        format!("location /mirror/{PUBLIC}/ {{ absolute_redirect off; rewrite ^/mirror/(.*)$ /moved/$1 redirect; }}");
    company.registry = Registry::behind(Gate::ClientCertificate(company.pki.path())).nginx(&moved).start();
    let (user, directory) = user_of(&company, &format!("\"{PUBLIC}/*/*\""));
    mirror::write(&company.registry, PUBLIC, &Hashes::H1, None);
    let site = company.registry.site();
    std::fs::rename(site.join("mirror"), site.join("moved")).expect("moved");

    // 1. The archive is beside the document that was found in the end.
    init(&user, &directory).success();
    assert!(with_certificate(&company.registry));
    // 2. What leads to another host is refused, and told.
    let away = format!("location /mirror/{PUBLIC}/ {{ return 302 https://elsewhere.example$request_uri; }}");
    company.registry = Registry::behind(Gate::ClientCertificate(company.pki.path())).nginx(&away).start();
    let (user, directory) = user_of(&company, &format!("\"{PUBLIC}/*/*\""));
    let refused = init(&user, &directory);
    let said = format!("credmint: the mirror {HOST} redirects to another host");
    assert!(refused.code == Some(1) && refused.stderr.contains(&said), "{}", refused.stderr);
    user.canary.check(&user.home);
}

#[test]
fn a_mirror_for_all_has_the_public_registry_and_the_hosts_of_the_run_whose_modules_stay_where_they_are() {
    let Some(_) = terraform() else { return };
    let company = Company::found();
    let (mut user, directory) = user_of(&company, "");
    user.secret_variable("TF_TOKEN_registry_terraform_io", "own token", "own-token-of-the-person-0123456789");
    let text = read(&user.home.path(), ".terraformrc").replace("include = []", "exclude = [\"a.example/*/*\"]");
    user.home.write(".terraformrc", &text);
    ["registry.terraform.io", HOST].iter().for_each(|host| mirror::write(&company.registry, host, &Hashes::Zh, None));
    let main = read(&directory, "main.tf").replace(&format!("{PUBLIC}/"), "");
    std::fs::write(directory.join("main.tf"), main).expect("a configuration");

    // 1. A provider of Terraform's own registry; the person's token for that goes nowhere.
    let first = init(&user, &directory).success();
    assert!(first.stdout.contains("Installed corp/widget v1.0.0"), "{}", first.stdout);
    assert!(with_certificate(&company.registry));
    // 2. A host of the run: its providers come from the mirror, its modules from itself.
    let work = user.work.clone();
    init(&user, &work).success();
    let paths: Vec<String> = company.registry.requests().into_iter().map(|request| request.path).collect();
    assert!(paths.iter().any(|path| path.starts_with("/v1/modules/")), "{paths:?}");
    assert!(!paths.iter().any(|path| path.starts_with("/v1/providers/")), "{paths:?}");
    assert!(with_certificate(&company.registry));
    // 3. So it is in a run within a run, whose hosts are those of the outer one.
    std::fs::remove_dir_all(work.join(".terraform")).expect("what was installed");
    let inner = format!("{} exec -- terraform init -input=false -no-color", executable("credmint").display());
    let inner = exec(&user, &work, &["/bin/sh", "-c", &inner]).output().success();
    assert!(inner.stdout.contains(&format!("Installed {HOST}/corp/widget v1.0.0 (self-signed")), "{}", inner.stdout);
    // 4. A registry that is not named is not asked at all.
    let main = read(&directory, "main.tf").replace("\"corp/widget", "\"b.example/corp/widget");
    std::fs::write(directory.join("main.tf"), main).expect("a configuration");
    let refused = init(&user, &directory);
    assert!(refused.code == Some(1) && refused.stderr.contains("was not found in any of"), "{}", refused.stderr);
    user.canary.check(&user.home);
}

#[test]
fn the_token_of_a_registry_opens_its_mirror_and_gpg_takes_the_signature() {
    let company = Company::found();
    let (mut user, directory) = user_of(&company, &format!("\"{PUBLIC}/*/*\""));
    mirror::write(&company.registry, PUBLIC, &Hashes::Zh, None);
    let line = "grep -o 127.0.0.1:[0-9]* \"$TF_CLI_CONFIG_FILE\" | head -n 1; echo \"$TF_TOKEN_providers_example_net\"; \
                echo \"$TF_TOKEN_registry_corp_example\"; echo ready; read go";
    let mut running = exec(&user, &directory, &["/bin/sh", "-c", line]).typed().answer().start();
    let (own, token, of_host) = running.shows("port and tokens", |text| {
        let mut lines = text.lines().map(str::to_owned);
        let found = (lines.next()?, lines.next()?, lines.next()?);
        text.contains("ready").then_some(found)
    });
    let ask = |method: &str, path: &str, token: &str| {
        let request = Request::new(method, &format!("http://{own}/{HOST}/{path}"));
        request.header("Authorization", &format!("Bearer {token}")).send()
    };
    let (os, arch) = credmint_test_kit::registry::platform();
    let versions = format!(".mirror/{PUBLIC}/corp/widget/versions");
    let package = format!(".mirror/{PUBLIC}/corp/widget/{VERSION}/download/{os}/{arch}");

    // 1. The token of the registry opens the mirror, and nothing else of its host; that of the host does not open the mirror.
    assert_eq!(ask("GET", &versions, &token).json(), serde_json::json!({ "versions": [{ "version": VERSION }] }));
    assert_eq!(ask("GET", &versions, &of_host).status, 428);
    assert_eq!(ask("GET", "v1/modules/corp/network/aws/versions", &token).status, 401);
    assert_eq!(ask("GET", "v1/modules/corp/network/aws/versions", &of_host).status, 200);
    assert_eq!(ask("POST", &versions, &token).status, 428);
    assert_eq!(ask("GET", &versions.replace(PUBLIC, "other.example"), &token).status, 428);
    assert_eq!(ask("GET", &package.replace(os, "plan9"), &token).status, 404);
    assert_eq!(ask("GET", &versions.replace("widget", "nothing"), &token).status, 404);
    // 2. What the bridge signs is a signature for gpg, too, by the key that it names.
    let found = ask("GET", &package, &token).json();
    let key = &found["signing_keys"]["gpg_public_keys"][0];
    let text = |value: &serde_json::Value| value.as_str().expect("text").to_owned();
    std::fs::write(directory.join("key.asc"), text(&key["ascii_armor"])).expect("written");
    for (file, name) in [("sums", "shasums_url"), ("sums.sig", "shasums_signature_url")] {
        let url = text(&found[name]);
        let fetched = Command::new("curl").args(["-sSf", "-o", file, &url]).current_dir(&directory).status();
        assert!(fetched.expect("curl").success());
    }
    let home = user.home.path().join("gnupg");
    let gpg = "mkdir -m 700 \"$GNUPGHOME\"; gpg -q --batch --import key.asc && gpg --batch --status-fd 1 --verify sums.sig sums; gpgconf --kill all";
    let said = Command::new("/bin/sh")
        .args(["-c", gpg])
        .env("GNUPGHOME", &home)
        .current_dir(&directory)
        .output()
        .expect("a shell");
    let said = String::from_utf8_lossy(&said.stdout).into_owned() + &String::from_utf8_lossy(&said.stderr);
    assert!(said.contains(&format!("GOODSIG {} credmint, for one run", text(&key["key_id"]))), "{said}");
    // 3. With the run all of it ends.
    running.type_line("go");
    running.output().success();
    user.canary.allow_variable("TF_TOKEN_providers_example_net");
    user.canary.watch("session token", token);
    user.canary.check(&user.home);
}

#[test]
fn a_mirror_that_shares_a_registry_with_another_method_is_left_as_it_is_and_said() {
    let company = Company::found();
    let (user, directory) = user_of(&company, &format!("\"{PUBLIC}/corp/*\""));
    let text = read(&user.home.path(), ".terraformrc").replacen("\n}\n", "\n  direct {}\n}\n", 1);
    user.home.write(".terraformrc", &text);
    let shown = exec(&user, &directory, &["/bin/sh", "-c", "cat \"$TF_CLI_CONFIG_FILE\""]).output().success();
    assert!(shown.stdout.contains("network_mirror {") && !shown.stdout.contains(".mirror/"), "{}", shown.stdout);
    assert!(shown.stderr.contains("shares a registry with another method"), "{}", shown.stderr);
}
