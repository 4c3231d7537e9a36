//! The port of numbers: what Prometheus reads there, who else gets nothing, and that a port which is taken stops nobody.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test arranges the machine by hand, and fails by panicking"
)]

use std::net::TcpListener;
use std::time::Duration;

use credmint_faults::fake::{Act, Fake, Received};
use credmint_faults::raw::{self, Answer};
use credmint_faults::{HOST, JOB, User};
use credmint_test_kit::metrics::{self, value};
use credmint_test_kit::random;
use serde_json::json;

const VERSIONS: &str = "/v1/modules/corp/network/aws/versions";

struct Client {
    user: User,
    session: String,
    port: u16,
}

impl Client {
    fn of(fake: &Fake, port: u16) -> Self {
        let mut user = User::move_in();
        user.token(&random::secret("subject"));
        user.settings(format!(
            "{JOB}[bridge]\nmetrics_port = {port}\n[issuer.pass]\nkind = \"oidc\"\n\n[host.\"{HOST}\"]\nidentity = \"job\"\n\
             issuer = \"pass\"\ndeliver = \"bridge\"\nupstream = \"{}\"\n",
            fake.address()
        ));
        let session = user.bearer();
        Self { user, session, port }
    }

    fn get(&self, path: &str) -> Answer {
        let bearer = format!("Bearer {}", self.session);
        raw::request(self.user.port, "GET", &format!("/{HOST}{path}"), &[("Authorization", &bearer)])
    }

    fn page(&self) -> Answer {
        raw::request(self.port, "GET", "/metrics", &[])
    }

    fn status(&self) -> String {
        self.user.home.run("credmint").arg("status").output().success().stdout
    }
}

#[test]
fn prometheus_understands_the_page_and_nothing_secret_is_on_it() {
    let mut tries = 0;
    let fake = Fake::start(move |request: &Received| {
        tries += 1;
        match request.path.as_str() {
            "/gone" => Act::json(404, &json!({})),
            "/again" if tries < 4 => Act::json(503, &json!({})),
            _ => Act::json(200, &json!({ "some": "bytes" })),
        }
    });
    let client = Client::of(&fake, raw::free_port());
    assert_eq!((client.get(VERSIONS).status, client.get("/gone").status, client.get("/again").status), (200, 404, 200));
    // Who has no right to anything is not counted either.
    assert_eq!(raw::request(client.user.port, "GET", &format!("/{HOST}/x"), &[]).status, 401);
    let page = client.page();
    assert_eq!((page.status, page.header("Content-Type")), (200, Some("text/plain; version=0.0.4; charset=utf-8")));
    let text = String::from_utf8(page.body.clone()).expect("text");
    let samples = metrics::read(&text);
    let requests = |service: &str, status: &str| {
        value(&samples, "credmint_requests_total", &[("host", HOST), ("service", service), ("status", status)])
    };
    assert_eq!(
        (requests("modules", "200"), requests("other", "404"), requests("other", "200")),
        (Some(1.0), Some(1.0), Some(1.0))
    );
    let of_host = |name: &str| value(&samples, name, &[("host", HOST)]);
    assert_eq!(of_host("credmint_entries"), Some(1.0));
    assert!(of_host("credmint_upstream_retries_total").is_some_and(|retries| retries >= 1.0), "{text}");
    let labels = [("host", HOST), ("service", "modules")];
    assert_eq!(value(&samples, "credmint_request_duration_seconds_count", &labels), Some(1.0));
    assert!(value(&samples, "credmint_response_bytes_total", &labels).is_some_and(|bytes| bytes > 10.0));
    assert_eq!(value(&samples, "credmint_build_info", &[("version", env!("CARGO_PKG_VERSION"))]), Some(1.0));
    // Buckets only grow, and what the parser knows has the kind that its name promises.
    let buckets: Vec<f64> = samples
        .iter()
        .filter(|one| one.name.ends_with("_bucket") && one.labels["service"] == "modules")
        .map(|one| one.value)
        .collect();
    assert!(buckets.len() == 14 && buckets.is_sorted(), "{buckets:?}");
    for sample in &samples {
        assert_eq!(sample.name.ends_with("_total"), sample.kind == "counter", "{sample:?}");
    }
    for secret in [client.session.as_str(), "job", "versions", "gone"] {
        assert!(!text.contains(secret), "{secret} is in {text}");
    }
    assert!(client.status().contains(&format!("metrics    127.0.0.1:{}", client.port)));
    client.user.check();
}

#[test]
fn pages_of_the_web_other_names_and_other_paths_get_nothing() {
    let fake = Fake::always(Act::json(200, &json!({})));
    let client = Client::of(&fake, raw::free_port());
    assert_eq!(client.page().status, 200);
    let status =
        |method: &str, path: &str, headers: &[(&str, &str)]| raw::request(client.port, method, path, headers).status;
    let own = format!("localhost:{}", client.port);
    assert_eq!(status("GET", "/metrics", &[("Host", &own)]), 200);
    for headers in [
        [("Host", "rebound.example")],
        [("Host", "127.0.0.1")],
        [("Origin", "https://evil.example")],
        [("X-Forwarded-For", "192.0.2.7")],
        [("Sec-Fetch-Site", "cross-site")],
    ] {
        assert_eq!(status("GET", "/metrics", &headers), 403, "{headers:?}");
    }
    assert_eq!(
        (status("POST", "/metrics", &[]), status("GET", "/", &[]), status("GET", "/metrics/x", &[])),
        (405, 404, 404)
    );
    client.user.check();
}

#[test]
fn a_port_that_is_taken_stops_nobody_is_told_and_is_had_when_it_is_free() {
    let fake = Fake::always(Act::json(200, &json!({})));
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let client = Client::of(&fake, taken.local_addr().expect("bound").port());
    assert_eq!(client.get(VERSIONS).status, 200);
    let status = client.status();
    assert!(
        status.contains("metrics    nobody can read them at 127.0.0.1:") && status.contains("another program holds it"),
        "{status}"
    );
    drop(taken);
    // Asking for the status looks again; without that it takes some seconds.
    let status = client.status();
    assert!(
        status.contains(&format!("metrics    127.0.0.1:{}", client.port)) && !status.contains("nobody can"),
        "{status}"
    );
    assert_eq!(client.page().status, 200);
    client.user.check();
}

#[test]
fn who_reads_no_answer_keeps_nobody_else_from_it_for_long_and_no_agent_alive() {
    let fake = Fake::always(Act::json(200, &json!({})));
    let client = Client::of(&fake, raw::free_port());
    // Fewer than there are places: they are silent, and the page is read all the same.
    let silent: Vec<_> =
        (0..8).map(|_| std::net::TcpStream::connect(("127.0.0.1", client.port)).expect("a listener")).collect();
    assert_eq!(client.page().status, 200);
    client.user.home.run("credmint").args(["agent", "stop"]).output().success();
    let gone = || std::net::TcpStream::connect(("127.0.0.1", client.port)).is_err();
    assert!(
        (0..100).any(|_| {
            std::thread::sleep(Duration::from_millis(50));
            gone()
        }),
        "the port is given back"
    );
    drop(silent);
    client.user.check();
}
