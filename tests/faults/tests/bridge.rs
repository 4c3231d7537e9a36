//! The bridge between a client and an upstream, when one of the two misbehaves.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test arranges the machine by hand, and fails by panicking"
)]

use std::net::TcpListener;
use std::time::{Duration, Instant};

use credmint_faults::fake::{Act, Fake};
use credmint_faults::raw::{self, Answer};
use credmint_faults::{HOST, JOB, User};
use credmint_test_kit::{Gate, Registry, random};
use serde_json::json;

const VERSIONS: &str = "/v1/modules/corp/network/aws/versions";
const PROVIDER: &str = "/v1/providers/corp/widget/versions";
const DOWNLOAD: &str = "/v1/modules/corp/network/aws/1.0.0/download";

/// The route: a token that is passed on, behind the bridge.
fn behind(upstream: &str, more: &str) -> String {
    format!(
        "{JOB}[issuer.pass]\nkind = \"oidc\"\n\n[host.\"{HOST}\"]\nidentity = \"job\"\nissuer = \"pass\"\n\
         deliver = \"bridge\"\nupstream = \"{upstream}\"\n{more}\n"
    )
}

/// A user with that route, and a session of the bridge.
struct Client {
    user: User,
    session: String,
}

impl Client {
    fn of(upstream: &str, more: &str) -> Self {
        let mut user = User::move_in();
        user.token(&random::secret("subject"));
        user.settings(behind(upstream, more));
        let mut client = Self { user, session: String::new() };
        client.session = client.user.bearer();
        // From here on the session is a secret, too; the answers in which it stood are allowed.
        client.user.canary.watch("session token", client.session.clone());
        client
    }

    fn ask(&self, method: &str, path: &str, more: &[(&str, &str)]) -> Answer {
        let bearer = format!("Bearer {}", self.session);
        let headers = [&[("Authorization", bearer.as_str())], more].concat();
        raw::request(self.user.port, method, &format!("/{HOST}{path}"), &headers)
    }

    fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[])
    }

    /// Expects the failure on all three kinds of paths, as Terraform shows it.
    fn fails(&self, modules: u16, providers: u16, words: &[&str]) {
        for (path, status) in [(VERSIONS, modules), (PROVIDER, providers)] {
            let start = Instant::now();
            let answer = self.get(path);
            assert_eq!(answer.status, status, "{}", answer.head);
            assert!(start.elapsed() < Duration::from_secs(10), "it took {:?}", start.elapsed());
            for word in words {
                assert!(answer.status_line().contains(word), "{word:?} expected in: {}", answer.status_line());
            }
            let body: serde_json::Value = serde_json::from_slice(&answer.body).expect("JSON");
            assert!(body["errors"][0].as_str().is_some_and(|text| text.contains(words[0])), "{body}");
        }
        let status = self.user.home.run("credmint").arg("status").output().success().stdout;
        assert!(status.contains(words[0]), "status does not show {:?}: {status}", words[0]);
    }
}

fn well(request: &credmint_faults::fake::Received) -> Act {
    if request.path == DOWNLOAD {
        return Act::status(204, "X-Terraform-Get", "/archives/network.zip");
    }
    Act::json(200, &json!({ "path": request.path }))
}

#[test]
fn a_port_that_another_program_holds_is_told_and_used_as_soon_as_it_is_free() {
    for taken in ["127.0.0.1", "::1"] {
        let mut user = User::move_in();
        user.token(&random::secret("subject"));
        user.settings(behind("http://127.0.0.1:9", ""));
        let stranger = TcpListener::bind((taken, user.port)).expect("the port");
        for _ in 0..2 {
            user.stops(&[&format!("{}", user.port), taken, "another program", "[bridge]"]);
        }
        drop(stranger);
        user.recovers();
        user.check();
    }
}

#[test]
fn an_upstream_that_is_down_is_told_and_found_again() {
    let fake = Fake::start(well);
    let client = Client::of(&fake.address(), "");
    assert_eq!(client.get(VERSIONS).status, 200);
    let port = fake.port();
    drop(fake);
    client.fails(502, 502, &[&format!("127.0.0.1:{port}"), HOST, "refused"]);
    let _again = Fake::on(TcpListener::bind(("127.0.0.1", port)).expect("the same port"), well);
    assert_eq!(client.get(VERSIONS).status, 200);
    client.user.check();
}

#[test]
fn an_upstream_that_never_answers_is_told_before_terraform_gives_up() {
    let fake = Fake::always(Act::Silence);
    let client = Client::of(&fake.address(), "");
    let start = Instant::now();
    let answer = client.get(VERSIONS);
    assert_eq!(answer.status, 502, "{}", answer.head);
    assert!(answer.status_line().contains(&format!("{HOST} did not answer within")), "{}", answer.status_line());
    assert!(start.elapsed() < Duration::from_millis(9_900), "it took {:?}", start.elapsed());
    fake.then(|_| Act::Later(Duration::from_secs(3), Box::new(Act::json(200, &json!({})))));
    assert_eq!(client.get(VERSIONS).status, 200, "slow is not too slow");
    client.user.check();
}

#[test]
fn an_upstream_that_talks_nonsense_is_told() {
    for nonsense in [b"SSH-2.0-OpenSSH_9.2\r\n".to_vec(), Vec::new(), vec![0xff; 4000]] {
        let fake = Fake::always(Act::Bytes(nonsense));
        let client = Client::of(&fake.address(), "");
        client.fails(502, 502, &[HOST]);
        fake.then(well);
        assert_eq!(client.get(VERSIONS).status, 200);
        client.user.check();
    }
}

#[test]
fn a_body_that_ends_early_is_never_a_complete_one() {
    let zip = b"HTTP/1.1 200 OK\r\nContent-Type: application/zip\r\nContent-Length: 1000\r\n\r\nPK-half".to_vec();
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\nPK-half\r\n".to_vec();
    for half in [zip, chunked] {
        let fake = Fake::start(well);
        let client = Client::of(&fake.address(), "");
        let archive = capability(&client.get(DOWNLOAD), client.user.port);
        fake.then(move |_| Act::Bytes(half.clone()));
        let answer = raw::request(client.user.port, "GET", &archive, &[]);
        let is_cut = match answer.header("Content-Length") {
            Some(length) => answer.body.len() < length.parse().expect("a number"),
            None => !answer.body.ends_with(b"0\r\n\r\n"),
        };
        assert!(is_cut, "{} and {} bytes", answer.head, answer.body.len());
        // A package's description is read by the bridge itself.
        fake.then(|_| {
            Act::Bytes(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{\"do".to_vec())
        });
        let description = client.get("/v1/providers/corp/widget/1.0.0/download/linux/amd64");
        assert_eq!(description.status, 502, "{}", description.head);
        fake.then(well);
        assert_eq!(raw::request(client.user.port, "GET", &archive, &[]).status, 200, "the same address, once more");
        client.user.check();
    }
}

#[test]
fn a_server_that_cannot_be_trusted_gets_no_request() {
    let ca = |registry: &Registry| format!("ca = \"{}\"", registry.ca_file().display());
    let unknown = Registry::behind(Gate::Open).start();
    let misnamed = Registry::behind(Gate::Open).names(&["other.corp.example", "127.0.0.1"]).start();
    let expired = Registry::behind(Gate::Open).expired().start();
    let well = Registry::behind(Gate::Open).start();
    for (registry, more, word) in [
        (&unknown, String::new(), "authority that is not trusted"),
        (&misnamed, ca(&misnamed), "another name"),
        (&expired, ca(&expired), "expired"),
    ] {
        let mut client = Client::of(registry.address(), &more);
        client.fails(502, 502, &[word, HOST]);
        assert!(registry.requests().is_empty(), "{:?}", registry.requests());
        client.user.settings(behind(well.address(), &ca(&well)));
        client.session = client.user.bearer();
        assert_eq!(client.get(VERSIONS).status, 200);
        client.user.check();
    }
}

#[test]
fn an_upstream_that_refuses_our_certificate_is_told() {
    // nginx says 400 over HTTP; a server that refuses in the handshake is `openssl s_server`.
    let Some(server) = credmint_faults::strict_server::StrictServer::start() else { return };
    let user = User::move_in();
    user.settings(server.route("unknown", HOST));
    let session = user.bearer();
    let client = Client { user, session };
    client.fails(401, 428, &["refused the client certificate", HOST]);
    let mut client = client;
    client.user.settings(server.route("known", HOST));
    client.session = client.user.bearer();
    let answer = client.get("/");
    assert_eq!(answer.status, 200, "{}", answer.head);
    client.user.check();
}

#[test]
fn answers_of_the_upstream_pass_as_they_are() {
    let fake = Fake::start(well);
    let client = Client::of(&fake.address(), "");
    for status in [400, 401, 403, 404, 410, 429, 500, 503] {
        fake.then(move |_| Act::json(status, &json!({ "errors": ["of the registry"] })).with("Retry-After", "30"));
        for path in [VERSIONS, PROVIDER] {
            let answer = client.get(path);
            assert_eq!(answer.status, status);
            assert_eq!(answer.body, br#"{"errors":["of the registry"]}"#);
            assert_eq!(answer.header("Retry-After"), Some("30"));
        }
    }
    client.user.check();
}

#[test]
fn a_redirect_of_the_api_to_another_host_is_refused_and_gets_nothing() {
    let elsewhere = Fake::start(well);
    let fake = Fake::start(well);
    let client = Client::of(&fake.address(), "");
    let target = format!("{}{VERSIONS}", elsewhere.address().replace("127.0.0.1", "localhost"));
    for status in [301, 302, 303, 307, 308] {
        let (target, user_info) = (target.clone(), status == 308);
        fake.then(move |_| {
            let target = if user_info { target.replace("http://", "http://me:secret@") } else { target.clone() };
            Act::status(status, "Location", &target)
        });
        let answer = client.get(VERSIONS);
        assert_eq!(answer.status, 401, "{}", answer.head);
        assert!(
            answer.status_line().contains("another host") && answer.header("Location").is_none(),
            "{}",
            answer.head
        );
        assert_eq!(client.get(PROVIDER).status, 428);
    }
    assert!(elsewhere.received().is_empty(), "nothing may arrive there");
    // One to the same host stays inside.
    fake.then(|_| Act::status(307, "Location", "/v2/elsewhere"));
    let answer = client.get(VERSIONS);
    let inside = format!("http://127.0.0.1:{}/{HOST}/v2/elsewhere", client.user.port);
    assert_eq!((answer.status, answer.header("Location")), (307, Some(inside.as_str())));
    client.user.check();
}

#[test]
fn an_archive_on_another_host_is_fetched_without_our_credential() {
    let fake = Fake::start(well);
    let client = Client::of(&fake.address(), "");
    fake.then(|_| Act::status(204, "X-Terraform-Get", "https://storage.example.net/a.zip?signature=x"));
    let answer = client.get(DOWNLOAD);
    assert_eq!(answer.header("X-Terraform-Get"), Some("https://storage.example.net/a.zip?signature=x"));
    client.user.check();
}

#[test]
fn requests_that_are_too_large_or_no_http_end_the_connection_and_nothing_else() {
    let fake = Fake::start(well);
    let client = Client::of(&fake.address(), "");
    let huge = "x".repeat(100 << 10);
    let answer = client.ask("GET", VERSIONS, &[("X-Huge", &huge)]);
    assert!(matches!(answer.status, 0 | 400..=499), "{}", answer.head);
    let many: Vec<(&str, &str)> = (0..500).map(|_| ("X-Many", "x")).collect();
    let answer = client.ask("GET", VERSIONS, &many);
    assert!(matches!(answer.status, 0 | 400..=499), "{}", answer.head);
    for nonsense in [b"\x16\x03\x01\x02\x00\x01\x00".to_vec(), b"\r\n\r\n\r\n".to_vec(), vec![0; 200_000]] {
        let answer = raw::send(client.user.port, &nonsense);
        assert!(matches!(answer.status, 0 | 400..=499), "{}", answer.head);
    }
    assert_eq!(fake.received().len(), 0);
    assert_eq!(client.get(VERSIONS).status, 200);
    client.user.check();
}

#[test]
fn an_answer_with_a_huge_header_is_told() {
    let head = format!("HTTP/1.1 200 OK\r\nX-Huge: {}\r\nContent-Length: 0\r\n\r\n", "x".repeat(2 << 20));
    let fake = Fake::always(Act::Bytes(head.into_bytes()));
    let client = Client::of(&fake.address(), "");
    client.fails(502, 502, &[HOST]);
    fake.then(well);
    assert_eq!(client.get(VERSIONS).status, 200);
    client.user.check();
}

#[test]
fn a_request_that_was_made_for_another_host_is_refused() {
    let fake = Fake::start(well);
    let client = Client::of(&fake.address(), "");
    let port = client.user.port;
    // DNS rebinding: a page of evil.example reaches us under its own name, even with a right token.
    let wrong =
        ["evil.example", "evil.example:80", "registry.corp.example", "127.0.0.1", "127.0.0.1:1", "", "0.0.0.0:80"];
    for host in wrong.map(str::to_owned).into_iter().chain([format!("evil.example:{port}"), format!("0.0.0.0:{port}")])
    {
        let answer = client.ask("GET", VERSIONS, &[("Host", &host)]);
        assert!((400..500).contains(&answer.status), "{host}: {}", answer.head);
    }
    assert_eq!(fake.received().len(), 0);
    for host in ["localhost", "[::1]", "127.0.0.1"] {
        assert_eq!(client.ask("GET", VERSIONS, &[("Host", &format!("{host}:{port}"))]).status, 200);
    }
    client.user.check();
}

#[test]
fn without_the_session_of_that_very_host_nobody_gets_in() {
    let fake = Fake::start(well);
    let client = Client::of(&fake.address(), "");
    let (port, other) = (client.user.port, "other.corp.example");
    let both = behind(&fake.address(), "");
    let second = both.split_at(both.find("[host.").expect("the host's table")).1.replace(HOST, other);
    client.user.settings(format!("{both}\n{second}"));
    let others = client.user.helper(&["get", other]).output().success().json()["token"].as_str().unwrap().to_owned();
    let mine = client.user.bearer();

    let ask = |host: &str, authorization: Option<String>| {
        let headers: Vec<_> = authorization.iter().map(|value| ("Authorization", value.as_str())).collect();
        raw::request(port, "GET", &format!("/{host}{VERSIONS}"), &headers)
    };
    let bearer = |token: &str| Some(format!("Bearer {token}"));
    assert_eq!(ask(HOST, bearer(&mine)).status, 200);
    assert_eq!(ask(other, bearer(&others)).status, 200);
    let so_far = fake.received().len();
    for (host, authorization) in [
        (HOST, None),
        (HOST, bearer(&others)),
        (other, bearer(&mine)),
        (HOST, bearer("")),
        (HOST, bearer(&mine[..mine.len() - 1])),
        (HOST, bearer(&format!("{mine}x"))),
        (HOST, bearer(&random::secret("guess"))),
        (HOST, Some(mine.clone())),
        (HOST, Some(format!("Basic {mine}"))),
        ("unknown.corp.example", bearer(&mine)),
        ("REGISTRY.corp.example", bearer(&mine)),
        ("..", bearer(&mine)),
    ] {
        let answer = ask(host, authorization);
        assert!(matches!(answer.status, 401 | 403), "{host}: {}", answer.head);
    }
    assert_eq!(fake.received().len(), so_far, "nothing may arrive upstream");
    client.user.check();
}

/// Takes the path of the capability URL out of an answer.
fn capability(answer: &Answer, port: u16) -> String {
    let address = answer.header("X-Terraform-Get").unwrap_or_else(|| panic!("an archive: {}", answer.head));
    let path = address.strip_prefix(&format!("http://127.0.0.1:{port}")).expect("an address of the bridge");
    assert!(path.starts_with(&format!("/{HOST}/.cap/")) && path.ends_with("/network.zip"), "{path}");
    path.to_owned()
}

#[test]
fn the_address_of_an_archive_is_a_right_that_cannot_be_guessed_and_that_ends() {
    let fake = Fake::start(well);
    let client = Client::of(&fake.address(), "");
    let port = client.user.port;
    let archive = capability(&client.get(DOWNLOAD), port);
    let so_far = fake.received().len();
    let answer = raw::request(port, "HEAD", &archive, &[]);
    assert_eq!((answer.status, answer.body.len()), (200, 0), "HEAD is passed on");
    assert_eq!(fake.received()[so_far].method, "HEAD");
    assert_eq!(raw::request(port, "GET", &archive, &[]).status, 200);

    let secret = archive.split('/').nth(3).expect("the secret").to_owned();
    let so_far = fake.received().len();
    for (method, path) in [
        ("GET", archive.replace(&secret, &random::secret("guess"))),
        ("GET", archive.replace(&secret, "")),
        ("GET", archive.replace(&secret, &secret[..secret.len() - 1])),
        ("GET", archive.replace(HOST, "other.corp.example")),
        ("POST", archive.clone()),
        ("DELETE", archive.clone()),
        ("GET", format!("/{HOST}/.cap/")),
        ("GET", format!("/{HOST}/.cap")),
    ] {
        let answer = raw::request(port, method, &path, &[]);
        assert!(matches!(answer.status, 401 | 403), "{method}: {}", answer.head);
    }
    // It leads to one file, whatever stands behind it.
    assert_eq!(raw::request(port, "GET", &format!("{archive}/../../../v1/modules"), &[]).status, 200);
    assert!(fake.received()[so_far..].iter().all(|request| request.path == "/archives/network.zip"));

    client.user.helper(&["forget", HOST]).output().success();
    assert_eq!(raw::request(port, "GET", &archive, &[]).status, 403, "over with the session");
    assert_eq!(client.get(VERSIONS).status, 401, "which has ended, too");
    client.user.recovers();
    client.user.check();
}
