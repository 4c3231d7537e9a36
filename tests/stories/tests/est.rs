//! Enrolment over Secure Transport: a first certificate for a token, the next ones for the certificate itself.

use credmint_stories::{HOST, User, file_identity, terraform, wait_until};
use credmint_test_kit::est::{EstServer, Policy};
use credmint_test_kit::{Gate, OpenIdProvider, Registry};

/// A company whose certificates come from an EST server, and a user with a token.
struct Corp {
    est: EstServer,
    registry: Registry,
    user: User,
}

impl Corp {
    fn found(life: u64) -> Self {
        let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
        let token = provider.token_for("alice", "est", 300);
        let est = EstServer::start(&[&format!("Bearer {token}")], life);
        let registry = Registry::behind(Gate::ClientCertificate(est.root())).start();
        user.setup(registry.address());
        let file = user.token_file(&token);
        let corp = Self { est, registry, user };
        corp.user.settings(
            &(file_identity(&file) + &corp.issuer("auth = { method = \"bearer\" }") + &corp.host("identity = \"job\"")),
        );
        corp
    }

    fn issuer(&self, auth: &str) -> String {
        format!(
            "[issuer.est]\nkind = \"est\"\naddress = \"{}\"\nlabel = \"clients\"\n{auth}\nca = \"{}\"\n\
             common_name = \"build-07.corp.example\"\ndns_names = \"build-07.corp.example\"\n\n",
            self.est.address(),
            self.est.ca_file().display()
        )
    }

    fn host(&self, lines: &str) -> String {
        format!("[host.\"{HOST}\"]\nissuer = \"est\"\nca = \"{}\"\n{lines}\n", self.registry.ca_file().display())
    }

    fn paths(&self) -> Vec<String> {
        let last = |path: String| path.rsplit('/').next().unwrap_or_default().to_owned();
        self.est.asked().into_iter().map(|asked| last(asked.path)).collect()
    }
}

#[test]
fn init_enrols_with_a_token_and_completes_the_path() {
    let Some(terraform) = terraform() else { return };
    let corp = Corp::found(3600);

    // 1. terraform runs the helper, which starts the agent, which enrols; the server answers with the leaf alone.
    terraform.init(&corp.user.home, &corp.user.work).success();
    assert_eq!(corp.paths(), ["simpleenroll", "cacerts"]);
    let asked = corp.est.asked().remove(0);
    assert_eq!(asked.path, "/.well-known/est/clients/simpleenroll");
    assert!(!asked.body.contains("PRIVATE") && !asked.body.contains("-----"));
    // 2. The registry trusts the root alone: the path was completed, and the root left out.
    let requests = corp.registry.requests();
    assert!(requests.iter().all(|request| request.verify == "SUCCESS"), "{requests:?}");
    assert_eq!(requests[0].subject, "CN=build-07.corp.example");
    let status = corp.user.credmint(&["status"]).stdout;
    assert!(status.contains("CN=build-07.corp.example") && !status.contains("note"), "{status}");
    corp.user.canary.check(&corp.user.home);
}

#[test]
fn a_certificate_renews_itself_with_another_key_and_without_the_token() {
    let corp = Corp::found(12);

    // 1. The first one for the token.
    let session = corp.user.got("token");
    let versions = "v1/modules/corp/network/aws/versions";
    assert_eq!(corp.user.ask_bridge("127.0.0.1", versions, &session).status, 200);
    // 2. From now on the token is worth nothing; when the certificate has little life left it renews itself.
    corp.est.believe_nobody();
    wait_until("the certificate renews itself", || {
        let _ = corp.user.got("token");
        corp.paths().contains(&"simplereenroll".to_owned())
    });
    let renewal = corp.est.asked().into_iter().find(|asked| asked.path.ends_with("simplereenroll")).expect("a renewal");
    assert_eq!((renewal.status, renewal.authorization.as_str()), (200, ""));
    assert_eq!(renewal.certificate, "CN=build-07.corp.example");
    assert_ne!(renewal.body, corp.est.asked()[0].body, "another key");
    // 3. What it goes on with is accepted.
    assert_eq!(corp.user.ask_bridge("127.0.0.1", versions, &session).status, 200);
    let serials: std::collections::BTreeSet<_> =
        corp.registry.wait_for_requests(2).into_iter().map(|request| request.serial).collect();
    assert!(serials.len() >= 2, "{serials:?}");
    corp.user.canary.check(&corp.user.home);
}

#[test]
fn a_certificate_that_may_not_renew_itself_is_no_dead_end_vault_26367() {
    let corp = Corp::found(12);
    let _ = corp.user.got("token");

    // 1. The server renews nothing; the token still counts.
    corp.est.renews(false);
    wait_until("it enrols anew", || {
        let _ = corp.user.got("token");
        corp.paths().iter().filter(|path| *path == "simpleenroll").count() == 2
    });
    let asked = corp.est.asked();
    assert!(asked.iter().any(|asked| asked.path.ends_with("simplereenroll") && asked.status == 403), "{asked:?}");
    // 2. Whoever asks is told that it was another way.
    let status = corp.user.credmint(&["status"]).stdout;
    let status = status.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(status.contains("enrolled anew") && status.contains("may not renew itself"), "{status}");
    corp.user.canary.check(&corp.user.home);
}

#[test]
fn a_request_that_waits_for_approval_is_the_same_one_when_it_goes_on() {
    let corp = Corp::found(3600);
    corp.est.policy(Policy::Wait(600));

    // 1. Somebody has to approve; it says so and when to come back, and does not ask before that.
    let output = corp.user.get().output();
    assert_eq!((output.code, output.stdout.as_str()), (Some(77), ""), "{}", output.stderr);
    assert!(output.stderr.contains("has to approve it") && output.stderr.contains("in 600 s"), "{}", output.stderr);
    let output = corp.user.get().output();
    assert_eq!(output.code, Some(77), "{}", output.stderr);
    assert_eq!(corp.paths(), ["simpleenroll"], "asked once");
    corp.user.canary.check(&corp.user.home);
}

#[test]
fn what_waited_for_an_approval_is_completed_by_a_later_get() {
    let Some(terraform) = terraform() else { return };
    let corp = Corp::found(3600);
    // Longer than Terraform waits, so the first one is told; by the second, less of it is left.
    corp.est.policy(Policy::Wait(10));
    let output = corp.user.get().output();
    assert_eq!(output.code, Some(77), "{}", output.stderr);
    let status = corp.user.credmint(&["status"]).stdout;
    assert!(status.contains("for an approval at the authority"), "{status}");
    // Approved meanwhile.
    corp.est.policy(Policy::Sign);
    wait_until("it is completed", || corp.user.get().output().code == Some(0));
    let asked: Vec<_> = corp.est.asked().into_iter().filter(|asked| asked.path.ends_with("simpleenroll")).collect();
    assert_eq!(asked.iter().map(|asked| asked.status).collect::<Vec<_>>(), [202, 200]);
    assert_eq!(asked[0].body, asked[1].body, "the same request, for the same key");
    terraform.init(&corp.user.home, &corp.user.work).success();
    assert!(!corp.user.credmint(&["status"]).stdout.contains("for an approval"));
    corp.user.canary.check(&corp.user.home);
}

#[test]
fn a_short_wait_is_waited_for_with_the_same_request() {
    let corp = Corp::found(3600);
    corp.est.policy(Policy::Wait(1));
    let get = corp.user.get().start();
    wait_until("it is asked", || !corp.est.asked().is_empty());
    corp.est.policy(Policy::Sign);
    get.output().success();
    let asked: Vec<_> = corp.est.asked().into_iter().filter(|asked| asked.path.ends_with("simpleenroll")).collect();
    assert_eq!(asked.iter().map(|asked| asked.status).collect::<Vec<_>>(), [202, 200]);
    assert_eq!(asked[0].body, asked[1].body, "RFC 7030 section 4.2.3");
    corp.user.canary.check(&corp.user.home);
}

#[test]
fn a_refusal_is_told_in_the_words_of_the_server() {
    let corp = Corp::found(3600);
    corp.est.policy(Policy::Refuse);
    let output = corp.user.get().output();
    assert_eq!((output.code, output.stdout.as_str()), (Some(77), ""), "{}", output.stderr);
    assert!(output.stderr.contains("status 403 (no certificates on Mondays)"), "{}", output.stderr);
    assert!(output.stderr.contains("hint: ask the authority's people"), "{}", output.stderr);
    corp.user.canary.check(&corp.user.home);
}

#[test]
fn a_password_enrols_and_stays_where_it_is() {
    let mut corp = Corp::found(3600);
    let file = corp.user.secret_file("est-password", "the password", "correct horse battery staple 4711");
    corp.est.believe_nobody();
    corp.est.believe("Basic YnVpbGQtMDc6Y29ycmVjdCBob3JzZSBiYXR0ZXJ5IHN0YXBsZSA0NzEx");
    let auth = format!(
        "auth = {{ method = \"basic\", username = \"build-07\", password = {{ file = \"{}\" }} }}",
        file.display()
    );
    corp.user.settings(&(corp.issuer(&auth) + &corp.host("")));
    let _ = corp.user.got("token");
    assert_eq!(corp.paths(), ["simpleenroll", "cacerts"]);
    corp.user.canary.check(&corp.user.home);
}

#[test]
fn a_certificate_of_the_machine_enrols_for_another() {
    let mut corp = Corp::found(3600);
    let machine = corp.est.machine("machine-07");
    let key = corp.user.secret_file("machine.key", "the machine's key", &machine.key);
    let certificate = corp.user.home.write("machine.pem", &machine.certificate);
    let auth = format!(
        "auth = {{ method = \"cert\", certificate = {{ file = \"{}\" }}, key = {{ file = \"{}\" }} }}",
        certificate.display(),
        key.display()
    );
    corp.user.settings(&(corp.issuer(&auth) + &corp.host("")));
    let _ = corp.user.got("token");
    assert_eq!(corp.est.asked()[0].certificate, "CN=machine-07");
    corp.user.canary.check(&corp.user.home);
}
