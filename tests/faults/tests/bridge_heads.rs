//! Requests at the bridge that no Terraform makes: of web pages, of proxies, and with heads that two readers read in two ways.

use credmint_faults::HOST;
use credmint_faults::bridge::Client;
use credmint_faults::fake::{Act, Fake, Received};
use credmint_faults::raw;
use serde_json::json;

const VERSIONS: &str = "/v1/modules/corp/network/aws/versions";

fn echo(request: &Received) -> Act {
    Act::json(200, &json!({ "path": request.path, "body": String::from_utf8_lossy(&request.body) }))
}

#[test]
fn browsers_and_proxies_get_nothing_even_with_a_right_session() {
    let fake = Fake::start(echo);
    let client = Client::of(&fake.address());
    for (name, value, word) in [
        ("Origin", "https://evil.example", "web browser"),
        ("Origin", "null", "web browser"),
        ("Sec-Fetch-Site", "cross-site", "web browser"),
        ("Sec-Fetch-Site", "none", "web browser"),
        ("Sec-Fetch-Dest", "document", "web browser"),
        ("X-Forwarded-For", "192.0.2.1", "passed on from elsewhere"),
        ("X-Forwarded-Host", "evil.example", "passed on from elsewhere"),
        ("Forwarded", "for=192.0.2.1", "passed on from elsewhere"),
    ] {
        let answer = client.ask("GET", VERSIONS, &[(name, value)]);
        assert_eq!(answer.status, 401, "{name}: {}", answer.head);
        assert!(answer.status_line().contains(word), "{name}: {}", answer.head);
    }
    assert_eq!(fake.received().len(), 0);
    assert_eq!(client.get(VERSIONS).status, 200);
    client.user.check();
}

#[test]
fn a_head_that_two_readers_read_in_two_ways_is_refused() {
    let fake = Fake::start(echo);
    let client = Client::of(&fake.address());
    let (port, session) = (client.user.port, client.session.as_str());
    let own = format!("127.0.0.1:{port}");
    let bearer = format!("Authorization: Bearer {session}\r\n");
    let host = format!("Host: {own}\r\n");
    let asks = |target: &str, fields: &[&str]| {
        let text = format!("GET {target} HTTP/1.1\r\nConnection: close\r\n{}\r\n", fields.concat());
        raw::send(port, text.as_bytes())
    };
    let path = format!("/{HOST}{VERSIONS}");
    let absolute = |authority: &str| format!("http://{authority}{path}");
    // 1. Host: none, two, another one in the request line, one with user information.
    for (target, fields) in [
        (path.clone(), vec![bearer.as_str()]),
        (path.clone(), vec![&host, &host, &bearer]),
        (path.clone(), vec![&host, "Host: evil.example\r\n", &bearer]),
        (path.clone(), vec!["Host: evil.example\r\n", &host, &bearer]),
        (absolute("evil.example"), vec![&host, &bearer]),
        (absolute(&format!("evil.example:{port}")), vec![&host, &bearer]),
        (absolute(&format!("me:secret@{own}")), vec![&host, &bearer]),
        (path.clone(), vec![&format!("Host: me@{own}\r\n"), &bearer]),
    ] {
        let answer = asks(&target, &fields);
        assert!((400..500).contains(&answer.status), "{target} {fields:?}: {}", answer.head);
    }
    // 2. Credentials: two, even if both are right.
    let answer = asks(&path, &[&host, &bearer, &bearer]);
    assert!(answer.status == 401 && answer.status_line().contains("two of Authorization"), "{}", answer.head);
    // 3. Lengths that contradict each other, or are none; a body that is coded twice.
    for fields in [
        "Content-Length: 3\r\nContent-Length: 4\r\n",
        "Content-Length: 3, 4\r\n",
        "Content-Length: +3\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 0x3\r\n",
        "Content-Length: 18446744073709551616\r\n",
        "Transfer-Encoding: chunked, gzip\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Content-Length : 3\r\n",
        " folded\r\n",
    ] {
        let answer = asks(&path, &[&host, &bearer, fields]);
        assert!(matches!(answer.status, 0 | 400), "{fields}: {}", answer.head);
    }
    assert_eq!(fake.received().len(), 0);
    // 4. The whole address in the request line is fine, if it is ours.
    assert_eq!(asks(&absolute(&own), &[&host, &bearer]).status, 200);
    client.user.check();
}

#[test]
fn nothing_is_smuggled_behind_a_request_with_two_lengths() {
    let fake = Fake::start(echo);
    let client = Client::of(&fake.address());
    // What follows the last chunk would be a second request for a server that believes Content-Length.
    for fields in [
        [("Content-Length", "48"), ("Transfer-Encoding", "chunked")],
        [("Transfer-Encoding", "chunked"), ("Content-Length", "48")],
    ] {
        let before = fake.received().len();
        let head = client.head("PUT", "/v1/state", &fields);
        let hidden = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
        let text = format!("{head}Connection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n{hidden}");
        let answer = raw::send(client.user.port, text.as_bytes());
        let received = fake.received().split_off(before);
        assert!(received.iter().all(|request| request.path == "/v1/state"), "{received:?}");
        assert!(received.len() <= 1, "{received:?}");
        if let Some(request) = received.first() {
            assert!(!request.head.to_lowercase().contains("content-length"), "{}", request.head);
        }
        assert!(matches!(answer.status, 200 | 400), "{}", answer.head);
    }
    client.user.check();
}

#[test]
fn no_path_leaves_what_the_settings_name() {
    let fake = Fake::start(echo);
    let client = Client::of(&format!("{}/tenant", fake.address()));
    for up in ["..%2fother", "x/..%2F..%2fother", "..%5cother", "%2e%2e%2fother", "..;/other", "%252e%252e/other"] {
        let answer = client.get(&format!("/{up}"));
        assert_eq!(answer.status, 401, "{up}: {}", answer.head);
        assert!(answer.status_line().contains("leads upwards"), "{up}: {}", answer.head);
    }
    assert_eq!(fake.received().len(), 0);
    // What is resolved by the rules of URLs stays below; what only looks like it is passed on as it is.
    for (path, arrives) in [
        ("/../other", "/tenant/other"),
        ("/v1/%2e%2e/%2E%2e/%2e./other", "/tenant/other"),
        ("/..\\..\\other", "/tenant/other"),
        ("//evil.example/x", "/tenant//evil.example/x"),
        ("/http://evil.example/x", "/tenant/http://evil.example/x"),
        ("/corp%2Fnetwork?a=%2e%2e/b", "/tenant/corp%2Fnetwork?a=%2e%2e/b"),
        ("/@evil.example/x", "/tenant/@evil.example/x"),
    ] {
        let before = fake.received().len();
        let answer = client.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.head);
        let received = fake.received().split_off(before);
        let paths: Vec<&str> = received.iter().map(|request| request.path.as_str()).collect();
        assert_eq!(paths, [arrives], "{path}");
    }
    // The host of the path is one of the settings, as it is written there, or it is nobody.
    let port = client.user.port;
    for host in
        ["me@registry.corp.example", "registry.corp.example:1", "registry.corp.example%2f..", "%72egistry.corp.example"]
    {
        let answer = raw::request(
            port,
            "GET",
            &format!("/{host}{VERSIONS}"),
            &[("Authorization", &format!("Bearer {}", client.session))],
        );
        assert!((400..500).contains(&answer.status), "{host}: {}", answer.head);
    }
    client.user.check();
}
