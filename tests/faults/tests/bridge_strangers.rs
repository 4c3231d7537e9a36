//! The bridge among strangers: other users and web pages of the machine reach its port, and upstreams may be hostile.

use credmint_faults::fake::{Act, Fake};
use credmint_faults::raw::{self, Answer};
use credmint_faults::{HOST, JOB, REFUSED, User, host};
use credmint_test_kit::random;

const DOWNLOAD: &str = "/v1/modules/corp/network/aws/1.0.0/download";

struct Client {
    user: User,
    session: String,
}

impl Client {
    /// A user whose bearer token is passed on to the fake.
    fn of(fake: &Fake) -> Self {
        let mut user = User::move_in();
        user.token(&random::secret("subject"));
        let more = format!("deliver = \"bridge\"\nupstream = \"{}\"", fake.address());
        user.settings(format!("{JOB}[issuer.pass]\nkind = \"oidc\"\n\n{}", host("pass", &more)));
        let session = user.bearer();
        user.canary.watch("session token", session.clone());
        Self { user, session }
    }

    fn ask(&self, method: &str, path: &str) -> Answer {
        let bearer = format!("Bearer {}", self.session);
        raw::request(self.user.port, method, &format!("/{HOST}{path}"), &[("Authorization", &bearer)])
    }

    fn failures(&self) -> String {
        self.user.home.run("credmint").arg("status").output().success().stdout
    }
}

#[test]
fn what_strangers_ask_pushes_no_failure_out_of_status() {
    let fake = Fake::always(Act::json(200, &serde_json::json!({})));
    let client = Client::of(&fake);
    // 1. A failure that the user should see.
    client.user.home.write("token", "");
    let output = client.user.fails(REFUSED, &["no identity has an answer"]);
    assert!(client.failures().contains("no identity has an answer"), "{}", output.stderr);
    // 2. Somebody without any right makes many of theirs, for hosts of their own and for ours.
    for number in 0..40 {
        let name = if number % 2 == 0 { HOST.to_owned() } else { format!("made-up-{number}.example") };
        assert_eq!(raw::request(client.user.port, "GET", &format!("/{name}/v1/modules/x"), &[]).status, 401);
    }
    let told = client.failures();
    assert!(told.contains("no identity has an answer") && !told.contains("made-up"), "{told}");
    client.user.check();
}

#[test]
fn an_address_beyond_ascii_is_judged_like_any_other() {
    let location = |text: &str| Act::Bytes(format!("HTTP/1.1 302 Found\r\n{text}\r\nContent-Length: 0\r\n\r\n").into());
    let fake = Fake::always(location("Location: https://elsewhere.example/é"));
    let client = Client::of(&fake);
    // 1. Terraform would follow this one with its token.
    let answer = client.ask("GET", DOWNLOAD);
    assert_eq!((answer.status, answer.header("Location")), (401, None), "{}", answer.head);
    // 2. One that stays inside is kept inside.
    fake.then(move |_| location("Location: /é"));
    let answer = client.ask("GET", DOWNLOAD);
    let inside = format!("http://127.0.0.1:{}/{HOST}/%C3%A9", client.user.port);
    assert_eq!(answer.header("Location"), Some(inside.as_str()), "{}", answer.head);
    // 3. The address of an archive is one as well.
    fake.then(|_| Act::Bytes("HTTP/1.1 204 No Content\r\nX-Terraform-Get: /é.zip\r\n\r\n".into()));
    let answer = client.ask("GET", DOWNLOAD);
    assert!(answer.header("X-Terraform-Get").is_some_and(|to| to.contains("/.cap/")), "{}", answer.head);
    // 4. What is no text at all leads nowhere.
    fake.then(|_| {
        Act::Bytes(b"HTTP/1.1 302 Found\r\nLocation: https://e.example/\xff\r\nContent-Length: 0\r\n\r\n".into())
    });
    let answer = client.ask("GET", DOWNLOAD);
    assert_eq!((answer.status, answer.header("Location")), (401, None), "{}", answer.head);
    client.user.check();
}

#[test]
fn nobody_has_the_credential_shown_by_an_upstream_that_echoes() {
    let fake = Fake::start(|request| Act::Answer(200, Vec::new(), request.head.clone().into_bytes()));
    let client = Client::of(&fake);
    let answer = client.ask("TRACE", DOWNLOAD);
    assert_eq!((answer.status, fake.received().len()), (401, 0), "{}", answer.head);
    client.user.check();
}
