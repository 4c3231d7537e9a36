//! What the bridge asks for a second time, and what it never does.
#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::time::{Duration, Instant};

use credmint_faults::fake::{Act, Fake, Received};
use credmint_faults::raw::{self, Answer};
use credmint_faults::{HOST, JOB, User};
use credmint_test_kit::random;
use serde_json::json;

const VERSIONS: &str = "/v1/modules/corp/network/aws/versions";

struct Client {
    user: User,
    session: String,
}

impl Client {
    fn of(fake: &Fake) -> Self {
        let mut user = User::move_in();
        user.token(&random::secret("subject"));
        user.settings(format!(
            "{JOB}[issuer.pass]\nkind = \"oidc\"\n\n[host.\"{HOST}\"]\nidentity = \"job\"\nissuer = \"pass\"\n\
             deliver = \"bridge\"\nupstream = \"{}\"\n",
            fake.address()
        ));
        let session = user.bearer();
        Self { user, session }
    }

    fn ask(&self, method: &str) -> Answer {
        let bearer = format!("Bearer {}", self.session);
        raw::request(self.user.port, method, &format!("/{HOST}{VERSIONS}"), &[("Authorization", &bearer)])
    }
}

/// Acts like this so many times, and well afterwards.
fn first(times: usize, act: Act) -> impl FnMut(&Received) -> Act + Send + 'static {
    let mut left = times;
    move |_| {
        let is_bad = left > 0;
        left = left.saturating_sub(1);
        if is_bad { act.clone() } else { Act::json(200, &json!({})) }
    }
}

#[test]
fn a_connection_that_broke_before_a_byte_came_is_tried_once_more_and_no_upload_is() {
    let fake = Fake::start(first(1, Act::Bytes(Vec::new())));
    let client = Client::of(&fake);
    assert_eq!((client.ask("GET").status, fake.received().len()), (200, 2));
    fake.then(first(2, Act::Bytes(Vec::new())));
    assert_eq!((client.ask("GET").status, fake.received().len()), (502, 4));
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        let before = fake.received().len();
        fake.then(first(1, Act::Bytes(Vec::new())));
        assert_eq!((client.ask(method).status, fake.received().len() - before), (502, 1), "{method}");
    }
    client.user.check();
}

#[test]
fn an_upstream_that_is_not_ready_is_waited_for_and_no_upload_is_repeated() {
    let fake = Fake::start(|_| Act::json(200, &json!({})));
    let client = Client::of(&fake);
    for status in [502, 503, 504] {
        let before = fake.received().len();
        fake.then(first(2, Act::json(status, &json!({}))));
        assert_eq!((client.ask("GET").status, fake.received().len() - before), (200, 3), "{status}");
        let before = fake.received().len();
        fake.then(first(1, Act::json(status, &json!({}))));
        assert_eq!((client.ask("POST").status, fake.received().len() - before), (status, 1));
    }
    // It says for how long: within the client's patience that is waited for.
    fake.then(first(1, Act::json(503, &json!({})).with("Retry-After", "2")));
    let start = Instant::now();
    assert_eq!(client.ask("GET").status, 200);
    assert!(start.elapsed() >= Duration::from_secs(2), "it took {:?}", start.elapsed());
    // So is a date, by the server's own clock, however wrong that is.
    let dates = [("Date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("Retry-After", "Sun, 06 Nov 1994 08:49:39 GMT")];
    let busy = Act::json(503, &json!({}));
    fake.then(first(1, dates.iter().fold(busy, |act, (name, value)| act.with(name, value))));
    let start = Instant::now();
    assert_eq!(client.ask("GET").status, 200);
    assert!(start.elapsed() >= Duration::from_secs(2), "it took {:?}", start.elapsed());
    // One that does not come back answers in its own words, soon.
    fake.then(|_| Act::json(503, &json!({ "errors": ["closed"] })));
    let start = Instant::now();
    let answer = client.ask("GET");
    assert_eq!((answer.status, answer.body.as_slice()), (503, br#"{"errors":["closed"]}"#.as_slice()));
    assert!(start.elapsed() < Duration::from_secs(6), "it took {:?}", start.elapsed());
    client.user.check();
}
