//! Upstreams that end, lie and send ahead at an exact place of a connection, and a crowd at the bridge.
#![allow(clippy::expect_used, clippy::disallowed_methods, reason = "a test fails by panicking, and connects by hand")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use credmint_faults::bridge::Client;
use credmint_faults::fake::{Act, Fake};
use credmint_faults::wire::Wire;
use credmint_test_kit::{Gate, Registry};
use serde_json::json;

const VERSIONS: &str = "/v1/modules/corp/network/aws/versions";
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

#[test]
fn a_read_on_a_connection_that_was_kept_and_is_closed_is_asked_again_and_an_upload_is_not() {
    // Every other connection answers once, is kept, and is closed as soon as a second request has come; those between answer nothing.
    let wire = Wire::start(|mut visitor| {
        if visitor.head().is_some() && visitor.number % 2 == 0 && visitor.stream.write_all(OK).is_ok() {
            drop(visitor.head());
        }
    });
    let client = Client::of(&wire.address());
    assert_eq!(client.get(VERSIONS).status, 200);
    // Connection 0 takes it and is closed, so is connection 1: the one more try is used up.
    assert_eq!(client.get(VERSIONS).status, 502);
    assert_eq!((wire.heads().len(), wire.connections()), (3, 2), "{:?}", wire.heads());
    // Connection 2 answers and is kept; the upload finds it closed.
    assert_eq!(client.get(VERSIONS).status, 200);
    assert_eq!(client.ask("PUT", "/v1/state", &[("Content-Length", "0")]).status, 502);
    let uploads = wire.heads().iter().filter(|head| head.starts_with("PUT")).count();
    assert_eq!(uploads, 1, "{:?}", wire.heads());
    client.user.check();
}

#[test]
fn what_an_upstream_sends_beyond_its_answer_is_nobodys_answer() {
    let more = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged";
    let wire = Wire::start(move |mut visitor| {
        while let Some(head) = visitor.head() {
            let answer = if head.contains("/lies") { [OK, more].concat() } else { OK.to_vec() };
            if visitor.stream.write_all(&answer).is_err() {
                return;
            }
        }
    });
    let client = Client::of(&wire.address());
    for _ in 0..5 {
        let answer = client.get("/v1/lies");
        assert_eq!((answer.status, answer.body.as_slice()), (200, b"ok".as_slice()));
        let answer = client.get(VERSIONS);
        assert_eq!((answer.status, answer.body.as_slice()), (200, b"ok".as_slice()), "never what was left");
    }
    client.user.check();
}

#[test]
fn two_lengths_in_an_answer_are_the_chunks() {
    let wire = Wire::start(|mut visitor| {
        while visitor.head().is_some() {
            let fields = "Content-Length: 3\r\nTransfer-Encoding: chunked";
            let text = format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n5\r\nwhole\r\n0\r\n\r\n");
            if visitor.stream.write_all(text.as_bytes()).is_err() {
                return;
            }
        }
    });
    let client = Client::of(&wire.address());
    let answer = client.get("/files/x");
    assert_eq!((answer.status, answer.header("Content-Length")), (200, None), "{}", answer.head);
    assert!(String::from_utf8_lossy(&answer.body).contains("whole"));
    client.user.check();
}

#[test]
fn the_length_of_a_document_that_is_rewritten_is_not_told_to_who_asks_for_the_head_alone() {
    let kind = |kind: &str| format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: 300\r\n\r\n");
    let wire = Wire::start(move |mut visitor| {
        while let Some(head) = visitor.head() {
            let text = kind(if head.contains("/runs/") { "application/vnd.api+json" } else { "application/json" });
            if visitor.stream.write_all(text.as_bytes()).is_err() {
                return;
            }
        }
    });
    let client = Client::of(&wire.address());
    for (path, length) in [
        ("/v1/providers/corp/widget/1.0.0/download/linux/amd64", None),
        ("/api/v2/runs/run-1", None),
        ("/v1/providers/corp/widget/versions", Some("300")),
        (VERSIONS, Some("300")),
    ] {
        let answer = client.ask("HEAD", path, &[]);
        assert_eq!((answer.status, answer.header("Content-Length")), (200, length), "{path}: {}", answer.head);
        assert!(answer.header("Transfer-Encoding").is_none() || length.is_none(), "{path}: {}", answer.head);
    }
    client.user.check();
}

#[test]
fn trailers_of_a_request_reach_the_upstream_if_they_are_named_and_no_others() {
    let wire = Wire::start(|mut visitor| {
        // What stands up to the empty line after the last chunk is read like a second head.
        if visitor.head().is_some() && visitor.head().is_some() {
            drop(visitor.stream.write_all(OK));
        }
    });
    let client = Client::of(&wire.address());
    let fields = [("Transfer-Encoding", "chunked"), ("Trailer", "X-Sum"), ("Connection", "close")];
    let head = client.head("PUT", "/v1/state", &fields);
    let text = format!("{head}\r\n5\r\nwhole\r\n0\r\nX-Sum: 1\r\nX-More: 2\r\nHost: evil.example\r\n\r\n");
    let answer = credmint_faults::raw::send(client.user.port, text.as_bytes());
    let body = wire.heads().pop().unwrap_or_default().to_lowercase();
    assert_eq!(answer.status, 200, "{}", answer.head);
    assert!(body.contains("whole") && body.contains("x-sum: 1"), "{body}");
    assert!(!body.contains("x-more") && !body.contains("evil.example"), "{body}");
    client.user.check();
}

#[test]
fn a_reset_is_told_like_an_end() {
    // Nothing is sent, or half of an answer; then the connection is reset.
    let wire = Wire::start(|mut visitor| {
        let Some(head) = visitor.head() else { return };
        if head.contains("/files/") {
            drop(visitor.stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"));
            // A reset may overtake what was sent before it.
            thread::sleep(Duration::from_millis(300));
        }
        visitor.reset();
    });
    let client = Client::of(&wire.address());
    let answer = client.get(VERSIONS);
    assert_eq!((answer.status, wire.connections()), (502, 2), "once more: {}", answer.head);
    assert!(answer.status_line().contains("registry.corp.example"), "{}", answer.head);
    let answer = client.ask("PUT", "/v1/state", &[("Content-Length", "0")]);
    assert_eq!((answer.status, wire.connections()), (502, 3), "never again: {}", answer.head);
    let answer = client.get("/files/x");
    assert_eq!((answer.status, answer.body.as_slice()), (200, b"half".as_slice()));
    assert_eq!(answer.header("Content-Length"), Some("9"), "the client knows that it is not all");
    assert!(client.status().contains("broke off in the middle of an answer"), "{}", client.status());
    client.user.check();
}

#[test]
fn no_1xx_is_an_answer_and_an_answer_that_breaks_off_is_told_in_the_status() {
    let fake = Fake::always(Act::Bytes([b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", OK].concat()));
    let client = Client::of(&fake.address());
    let answer = client.get(VERSIONS);
    assert_eq!((answer.status, answer.header("Link")), (200, None), "{}", answer.head);
    fake.then(|_| {
        Act::Bytes(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n".to_vec())
    });
    let answer = client.ask("GET", VERSIONS, &[("Connection", "Upgrade"), ("Upgrade", "x")]);
    assert_eq!(answer.status, 502, "{}", answer.head);
    assert!(fake.received().iter().all(|request| !request.head.to_lowercase().contains("upgrade")));
    fake.then(|_| Act::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf".to_vec()));
    let answer = client.get("/files/x");
    assert_eq!((answer.status, answer.body.as_slice()), (200, b"half".as_slice()));
    assert!(client.status().contains("broke off in the middle of an answer"), "{}", client.status());
    // A header that is longer than what we take from clients is not handed to them either.
    let long = format!("HTTP/1.1 200 OK\r\nX-Long: {}\r\nContent-Length: 0\r\n\r\n", "x".repeat(70_000));
    fake.then(move |_| Act::Bytes(long.clone().into_bytes()));
    let answer = client.get(VERSIONS);
    assert!(answer.status == 502 && answer.status_line().contains("64 KiB"), "{}", answer.head);
    client.user.check();
}

#[test]
fn what_is_too_long_to_be_a_request_is_said_to_be() {
    let fake = Fake::always(Act::json(200, &json!({})));
    let client = Client::of(&fake.address());
    let long = "x".repeat(100_000);
    let line = client.get(&format!("/{long}"));
    assert!(matches!(line.status, 414 | 431), "{}", line.head);
    let field = client.ask("GET", VERSIONS, &[("X-Long", &long)]);
    assert_eq!(field.status, 431, "{}", field.head);
    let many: Vec<(&str, &str)> = (0..150).map(|_| ("X-Many", "x")).collect();
    assert_eq!(client.ask("GET", VERSIONS, &many).status, 431);
    assert_eq!(fake.received().len(), 0);
    client.user.check();
}

#[test]
fn a_head_that_comes_too_slowly_is_not_waited_for() {
    let fake = Fake::always(Act::json(200, &json!({})));
    let client = Client::of(&fake.address());
    let start = Instant::now();
    let mut stream = TcpStream::connect(("127.0.0.1", client.user.port)).expect("the bridge");
    stream.set_read_timeout(Some(Duration::from_millis(200))).expect("a time limit");
    // A byte now and then does not help.
    while start.elapsed() < Duration::from_secs(20) && stream.write_all(b"G").is_ok() {
        match stream.read(&mut [0; 512]) {
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {}
            _ => break,
        }
    }
    let took = start.elapsed();
    assert!((9..15).contains(&took.as_secs()), "it took {took:?}");
    client.user.check();
}

/// Lets so many clients ask at once, on connections that they keep until all have an answer; gives the statuses.
fn crowd(client: &Client, many: usize) -> Vec<u16> {
    let (port, text) = (client.user.port, client.head("GET", VERSIONS, &[]) + "\r\n");
    let all_have_one = Arc::new(Barrier::new(many));
    let ask = move |text: String, all_have_one: Arc<Barrier>| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).ok();
        let mut answer = [0; 12];
        if let Some(stream) = &mut stream {
            drop(stream.set_read_timeout(Some(Duration::from_secs(60))));
            drop(stream.write_all(text.as_bytes()));
            drop(stream.read_exact(&mut answer));
        }
        all_have_one.wait();
        String::from_utf8_lossy(&answer).split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0)
    };
    let begin = |_| {
        let (text, all_have_one) = (text.clone(), Arc::clone(&all_have_one));
        let thread = thread::Builder::new().stack_size(64 << 10);
        thread.spawn(move || ask(text, all_have_one)).expect("a thread")
    };
    let threads: Vec<_> = (0..many).map(begin).collect();
    threads.into_iter().map(|thread| thread.join().expect("a status")).collect()
}

/// Gives the most memory that the agent ever had, in KiB.
fn most_memory(client: &Client) -> u64 {
    let agent = client.user.home.agents().pop().expect("an agent");
    let status = std::fs::read_to_string(format!("/proc/{}/status", agent.pid)).expect("its status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn two_thousand_at_once_are_all_answered_and_take_no_more_memory_than_there_are_places() {
    let registry = Registry::behind(Gate::AnyBearer).start();
    let client = Client::with(registry.address(), &format!("ca = \"{}\"", registry.ca_file().display()));
    assert_eq!(client.get(VERSIONS).status, 200);
    let (start, before) = (Instant::now(), most_memory(&client));
    let statuses = crowd(&client, 2000);
    let failed = statuses.iter().filter(|status| **status != 200).count();
    assert_eq!(failed, 0, "of 2,000, in {:?}", start.elapsed());
    // They keep their connections: nobody may have waited for those to end by themselves.
    assert!(start.elapsed() < Duration::from_secs(60), "it took {:?}", start.elapsed());
    let grown = most_memory(&client) - before;
    assert!(grown < 32 * 1024, "the agent has grown by {grown} KiB");
    assert_eq!(client.get(VERSIONS).status, 200);
    client.user.check();
}

#[test]
fn with_few_file_descriptors_all_wait_their_turn_and_the_agent_goes_on() {
    let fake = Fake::always(Act::json(200, &json!({})));
    let client = Client::of_agent_with_files(&fake.address(), 64);
    let statuses = crowd(&client, 200);
    let ok = statuses.iter().filter(|status| **status == 200).count();
    // Whoever is not served is told in HTTP.
    assert!(statuses.iter().all(|status| matches!(status, 200 | 502)), "{statuses:?}");
    assert!(ok >= 190, "{ok} of 200");
    assert_eq!(client.get(VERSIONS).status, 200);

    client.user.check();
}
