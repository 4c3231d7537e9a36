//! Proxies: only the one in the settings, never for this machine, and told apart from the server.

use bytes::Bytes;
use credmint_https::{HttpsError, Trust, UpstreamTarget};
use credmint_vocabulary::Hostname;
use http::{Request, StatusCode};
use http_body_util::Empty;

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
