//! Certificates that people sign: the request goes out as a file, what they signed comes back as one, and the key is in the
//! agent all the while.

#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test reads what was written, and stops at what is not so"
)]

use std::fs;
use std::path::Path;

use credmint_stories::{HOST, User, person, terraform};
use credmint_test_kit::est::pkcs7;
use credmint_test_kit::home::executable;
use credmint_test_kit::{Authority, Gate, OpenIdProvider, Output, Registry};

const VERSIONS: &str = "v1/modules/corp/network/aws/versions";

/// A company whose authority is people, a registry that trusts them, and a user.
struct Corp {
    root: Authority,
    people: Authority,
    registry: Registry,
    user: User,
}

impl Corp {
    fn found() -> Self {
        let root = Authority::new("Corp Root");
        let people = root.subordinate("Corp People");
        let registry = Registry::behind(Gate::ClientCertificate(root.certificate().to_owned())).start();
        let user = User::move_in();
        user.setup(registry.address());
        let corp = Self { root, people, registry, user };
        corp.user.settings(&corp.settings("common_name = \"build-07\"", ""));
        corp
    }

    fn settings(&self, issuer: &str, host: &str) -> String {
        format!(
            "[issuer.by-hand]\nkind = \"offline\"\n{issuer}\n\n\
             [host.\"{HOST}\"]\nissuer = \"by-hand\"\nca = \"{}\"\n{host}\n",
            self.registry.ca_file().display()
        )
    }

    fn login(&self, words: &[&str]) -> Output {
        self.user.home.run("credmint").args(["login", HOST]).args(words.iter().copied()).output()
    }

    /// Asks for the request, in a file of the home.
    fn request(&self, name: &str) -> String {
        let file = self.user.home.path().join(name);
        self.login(&["--csr", &file.display().to_string()]).success();
        fs::read_to_string(file).expect("the request")
    }

    /// Signs it; gives the path, the end-entity certificate last.
    fn sign(&self, request: &str, life: u64) -> String {
        let leaf = self.people.sign_request(request, -30, life + 30);
        format!("{}{}{leaf}", self.root.certificate(), self.people.certificate())
    }

    fn complete(&self, certificate: &str) -> Output {
        let file = self.user.home.write("in.pem", certificate);
        self.login(&["--certificate", &file.display().to_string()])
    }
}

#[test]
fn init_over_mtls_with_a_certificate_that_people_signed() {
    let Some(terraform) = terraform() else { return };
    let corp = Corp::found();

    // 1. Nobody has signed anything: `get` says what to do.
    let output = corp.user.get().output();
    assert_eq!((output.code, output.stdout.as_str()), (Some(77), ""), "{}", output.stderr);
    assert!(output.stderr.contains(&format!("hint: credmint login {HOST} --csr ")), "{}", output.stderr);
    // 2. The request, in a file that anybody may read; the key is nowhere but in the agent.
    let request = corp.request("out.pem");
    assert!(request.starts_with("-----BEGIN CERTIFICATE REQUEST-----") && !request.contains("PRIVATE"), "{request}");
    let output = corp.user.get().output();
    assert!(
        output.stderr.contains("has no answer yet") && output.stderr.contains("--certificate"),
        "{}",
        output.stderr
    );
    let status = corp.user.credmint(&["status"]).stdout;
    assert!(status.contains("(certification request)") && status.contains("agent's memory only"), "{status}");
    // 3. Asked again it is the same one; the same file is written again without a word, another one is left alone.
    assert_eq!(corp.request("out.pem"), request);
    let other = corp.user.home.write("other.pem", "something else").display().to_string();
    let refused = corp.login(&["--csr", &other]);
    assert!(refused.code == Some(64) && refused.stderr.contains("--force"), "{}", refused.stderr);
    assert_eq!(fs::read_to_string(&other).ok().as_deref(), Some("something else"));
    corp.login(&["--csr", &other, "--force"]).success();
    assert_eq!(corp.login(&["--csr", "-"]).success().stdout, request);
    // 4. What people signed, in any order: verified, and in its place.
    let done = corp.complete(&corp.sign(&request, 3600)).success();
    assert!(done.stdout.contains("is in its place") && done.stdout.contains("CN=build-07"), "{}", done.stdout);
    // 5. terraform works with it; the root is not sent.
    terraform.init(&corp.user.home, &corp.user.work).success();
    let requests = corp.registry.requests();
    assert!(requests.iter().all(|request| request.verify == "SUCCESS"), "{requests:?}");
    assert_eq!(requests[0].subject, "CN=build-07");
    // 6. The end is told: nothing renews it, and what an end of the agent takes with it.
    let status = corp.user.credmint(&["status"]).stdout;
    assert!(status.contains("nothing renews it") && !status.contains("renewed at"), "{status}");
    let shown = corp.user.credmint(&["cert", HOST]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("nothing renews it, and it is lost with its key when the agent ends"), "{shown}");
    let stopped = corp.user.credmint(&["agent", "stop"]).stdout;
    assert!(stopped.contains("lost with it: the certificate for"), "{stopped}");
    corp.user.canary.check(&corp.user.home);
}

#[test]
fn what_does_not_fit_leaves_the_request_as_it_is() {
    let corp = Corp::found();
    let request = corp.request("out.pem");

    // 1. Another key, nothing at all, a page, an expired one, one of a stranger: each is told, nothing is lost.
    let (other, _) = credmint_test_kit::certificates::request("build-07");
    let stranger = Authority::new("Corp People");
    let mixed = format!("{}{}", corp.people.sign_request(&request, -30, 600), stranger.certificate());
    for (certificate, words) in [
        (corp.sign(&other, 600), "for another key"),
        (String::new(), "has no certificate"),
        ("<html>login</html>".to_owned(), "cannot be read"),
        (corp.people.sign_request(&request, -600, 60), "expired"),
        (mixed, "did not sign what bears its name"),
    ] {
        let output = corp.complete(&certificate);
        assert_eq!((output.code, output.stdout.as_str()), (Some(77), ""), "{words}: {}", output.stderr);
        assert!(output.stderr.contains(words) && output.stderr.contains("--csr -"), "{words}: {}", output.stderr);
    }
    // 2. The right one is taken, as PKCS #7 too; again with a longer path it is taken as well.
    let leaf = corp.people.sign_request(&request, -30, 630);
    let alone = corp.complete(&leaf).success().stdout;
    assert!(alone.contains("did not send its own certificate"), "{alone}");
    corp.complete(&pkcs7(&corp.sign(&request, 600))).success();
    assert_eq!(corp.user.ask_bridge("127.0.0.1", VERSIONS, &corp.user.got("token")).status, 200);
    corp.user.canary.check(&corp.user.home);
}

#[test]
fn the_next_certificate_takes_the_place_of_the_present_one() {
    let corp = Corp::found();
    let request = corp.request("out.pem");
    corp.complete(&corp.sign(&request, 60)).success();
    let session = corp.user.got("token");
    assert_eq!(corp.user.ask_bridge("127.0.0.1", VERSIONS, &session).status, 200);

    // 1. Another request while the present certificate serves; --new makes another one still.
    let next = corp.request("next.pem");
    assert_ne!(next, request);
    corp.login(&["--csr", "-", "--new"]).success();
    assert_eq!(corp.complete(&corp.sign(&next, 3600)).code, Some(77), "its key is gone");
    let newest = corp.request("newest.pem");
    assert_eq!(corp.user.ask_bridge("127.0.0.1", VERSIONS, &session).status, 200);
    // 2. The same run goes on with the next one.
    corp.complete(&corp.sign(&newest, 3600)).success();
    assert_eq!(corp.user.ask_bridge("127.0.0.1", VERSIONS, &session).status, 200);
    let serials: Vec<_> = corp.registry.wait_for_requests(3).into_iter().map(|request| request.serial).collect();
    assert!(serials[0] == serials[1] && serials[1] != serials[2], "{serials:?}");
    // 3. `forget` drops the certificate and what waits.
    corp.request("last.pem");
    let forget = corp.user.home.run("terraform-credentials-credmint").args(["forget", HOST]).output();
    assert_eq!(forget.code, Some(0), "{}", forget.stderr);
    assert!(corp.user.credmint(&["status"]).stdout.contains("Nothing is kept."));
    corp.user.canary.check(&corp.user.home);
}

#[test]
fn the_names_of_a_person_stand_in_the_request_and_go_when_they_sign_out() {
    let (provider, mut corp) = (OpenIdProvider::start(), Corp::found());
    let settings = corp.settings("common_name = \"{sub}\"", "identity = \"me\"");
    corp.user.settings(&(person(&provider, "") + &settings));

    // 1. Nobody is signed in: there is no name to put into it.
    let output = corp.login(&["--csr", "-"]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(77), ""), "{}", output.stderr);
    assert!(output.stderr.contains("hint: credmint login me"), "{}", output.stderr);
    // 2. Signed in, it asks for her; the certificate outlives the sign-in of the same person.
    corp.user.signs_in(&provider, "alice");
    let request = corp.request("out.pem");
    corp.complete(&corp.sign(&request, 3600)).success();
    corp.user.signs_in(&provider, "alice");
    assert_eq!(corp.user.ask_bridge("127.0.0.1", VERSIONS, &corp.user.got("token")).status, 200);
    assert_eq!(corp.registry.wait_for_requests(1)[0].subject, "CN=alice");
    // 3. Another person gets nothing of it, and signing out drops it.
    corp.request("next.pem");
    corp.user.signs_in(&provider, "bob");
    assert_eq!(corp.user.get().output().code, Some(77));
    let status = corp.user.credmint(&["status"]).stdout;
    assert!(!status.contains("certification request"), "{status}");
    corp.user.canary.check(&corp.user.home);
}

#[test]
fn an_agent_that_cannot_keep_a_key_makes_none() {
    let corp = Corp::found();
    let output = corp
        .user
        .home
        .run(executable("credmint"))
        .args(["login", HOST, "--csr", "-"])
        .env("CREDMINT_AGENT", "once")
        .output();
    assert_eq!((output.code, output.stdout.as_str()), (Some(78), ""), "{}", output.stderr);
    assert!(output.stderr.contains("needs an agent that stays"), "{}", output.stderr);
    // A host in the place of a name is told apart.
    let output = corp.login(&[]);
    assert_eq!(output.code, Some(64), "{}", output.stderr);
    assert!(output.stderr.contains(&format!("hint: credmint login {HOST} --csr FILE")), "{}", output.stderr);
    assert!(!Path::new("-").exists());
    corp.user.canary.check(&corp.user.home);
}
