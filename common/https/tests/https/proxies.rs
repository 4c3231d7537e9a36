//! Proxies: only the one in the settings, never for this machine, and told apart from the server.

use bytes::Bytes;
use credmint_https::{HttpsError, ProxyOfCaller, Trust, UpstreamTarget, passage};
use credmint_vocabulary::{Hostname, Secret};
use http::{Request, StatusCode};
use http_body_util::Empty;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::kit::*;

const NAME: &str = "registry.corp.example";

async fn send(trust: &Trust, url: &str) -> Result<StatusCode, HttpsError> {
    let request = Request::get(url).body(Vec::new()).unwrap();
    https().send(trust, request, soon()).await.map(|answer| answer.status)
}

async fn stream(trust: &Trust, url: &str) -> Result<StatusCode, HttpsError> {
    let server_name = Hostname::from_comparison_form(NAME).unwrap();
    let target = UpstreamTarget { address: url.parse().unwrap(), server_name, trust: trust.clone() };
    let request = Request::get("/").body(Empty::<Bytes>::new()).unwrap();
    https().upstream(target)?.request(request).await.map(|response| response.status())
}

#[tokio::test]
async fn a_configured_proxy_is_asked_for_a_tunnel_and_sees_no_more() {
    let ca = authority("CA");
    let server = Plan { names: names(NAME), ..Plan::new(&ca) }.start().await;
    let proxy = Proxy::start(Some(server.address)).await;
    let trust = Trust { proxy: proxy.url(), ..trust(&ca) };
    let url = "https://registry.corp.example/canary";
    assert_eq!(send(&trust, url).await, Ok(StatusCode::OK));
    assert_eq!(stream(&trust, url).await, Ok(StatusCode::OK));
    assert_eq!(proxy.asked(), ["CONNECT registry.corp.example:443 HTTP/1.1"; 2]);
}

#[tokio::test]
async fn a_proxy_that_refuses_is_told_apart_from_the_server() {
    let trust = Trust { proxy: Proxy::start(None).await.url(), ..trust(&authority("CA")) };
    for error in [send(&trust, "https://a.example/").await, stream(&trust, "https://a.example/").await] {
        assert!(matches!(error, Err(HttpsError::Tunnel { .. })), "{error:?}");
    }
}

#[tokio::test]
async fn a_proxy_that_is_not_there_is_told_apart_from_the_server() {
    let proxy = "http://127.0.0.1:1".to_owned();
    let trust = Trust { proxy: Some(proxy), ..trust(&authority("CA")) };
    for error in [send(&trust, "https://a.example/").await, stream(&trust, "https://a.example/").await] {
        assert!(matches!(error, Err(HttpsError::Tunnel { .. })), "{error:?}");
    }
}

#[tokio::test]
async fn this_machine_is_reached_without_the_proxy_kubelogin_48() {
    let ca = authority("CA");
    let server = Plan { names: names(NAME), ..Plan::new(&ca) }.start().await;
    let proxy = Proxy::start(None).await;
    let trust = Trust { proxy: proxy.url(), ..trust(&ca) };
    assert_eq!(send(&trust, &server.url("/")).await, Ok(StatusCode::OK));
    assert_eq!(stream(&trust, &server.url("/")).await, Ok(StatusCode::OK));
    assert!(proxy.asked().is_empty());
}

#[tokio::test]
async fn a_proxy_that_is_no_plain_one_is_a_mistake_in_the_settings() {
    let trust = Trust { proxy: Some("socks5://127.0.0.1:1".to_owned()), ..trust(&authority("CA")) };
    for error in [send(&trust, "https://a.example/").await, stream(&trust, "https://a.example/").await] {
        assert!(matches!(error, Err(HttpsError::Proxy { .. })), "{error:?}");
    }
}

/// Answers one request for a tunnel with these bytes, all at once, and gives what was asked.
async fn answering(bytes: &'static str) -> (ProxyOfCaller, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://ada:word@{}", listener.local_addr().unwrap());
    let asked = tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(client.read_u8().await.unwrap());
        }
        client.write_all(bytes.as_bytes()).await.unwrap();
        // What comes through the tunnel goes back.
        let (mut reading, mut writing) = client.split();
        let _ = tokio::io::copy(&mut reading, &mut writing).await;
        String::from_utf8(head).unwrap()
    });
    (ProxyOfCaller::of(&Secret::new(url)).unwrap(), asked)
}

#[tokio::test]
async fn what_a_server_says_first_is_not_lost_behind_the_answer_of_a_proxy() {
    for answer in
        ["HTTP/1.1 200 Connection established\r\n\r\n220 ready\r\n", "HTTP/1.0 200 OK\r\nA: b\r\n\r\n220 ready\r\n"]
    {
        let (proxy, asked) = answering(answer).await;
        let mut passage = passage("mail.example:25", Some(&proxy)).await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(passage.said, "220 ready\r\n");
        passage.stream.write_all(b"HELO").await.unwrap();
        let mut echo = [0; 4];
        passage.stream.read_exact(&mut echo).await.unwrap();
        assert_eq!(&echo, b"HELO");
        drop(passage);
        let asked = asked.await.unwrap().to_ascii_lowercase();
        assert!(asked.starts_with("connect mail.example:25 http/1.1\r\n"), "{asked}");
        assert!(asked.contains("\r\nhost: mail.example:25\r\n") && asked.contains("\r\nproxy-authorization: basic "));
    }
}

#[tokio::test]
async fn a_proxy_that_answers_something_else_made_no_tunnel() {
    for (answer, said) in [
        ("HTTP/1.1 407 X\r\nContent-Length: 9\r\n\r\n", "authorization required"),
        ("HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n", "503 Service Unavailable"),
        ("220 mail.example\r\n\r\n", "HTTP"),
    ] {
        let (proxy, _asked) = answering(answer).await;
        let error = passage("mail.example:25", Some(&proxy)).await.err().unwrap();
        assert!(matches!(&error, HttpsError::Tunnel { why, .. } if why.contains(said)), "{answer}: {error:?}");
    }
}
