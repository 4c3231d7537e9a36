//! The bridge's other side: who is asked, as whom, and what arrives.

use bytes::Bytes;
use credmint_client_identity::KeyAlgorithm;
use credmint_https::{HttpsError, Trust};
use http::{Request, Response, StatusCode, Version};
use http_body_util::{BodyExt, Empty, Full};

use crate::kit::*;

#[tokio::test]
async fn name_sni_and_host_are_the_settings_whatever_the_request_says() {
    let ca = authority("CA");
    // Whoever speaks HTTP/2 as well, or knows nothing of ALPN, is spoken to in HTTP/1.1.
    for alpn in [&["h2", "http/1.1"][..], &["http/1.1"], &[]] {
        let server = Plan { alpn, ..plan(&ca) }.start().await;
        let upstream = upstream(&server.url("/prefix/"), NAME, trust(&ca)).unwrap();
        let (status, body) = get(&upstream, "http://127.0.0.1:9/v1/modules?x=%20y").await.unwrap();
        assert_eq!((status, &body[..]), (StatusCode::OK, &b"fine"[..]));
        let seen = server.seen();
        assert_eq!((seen.version, seen.host.as_str(), seen.sni.as_deref()), (Version::HTTP_11, NAME, Some(NAME)));
        assert_eq!(seen.path, "/prefix/v1/modules?x=%20y");
    }
}

#[tokio::test]
async fn a_port_other_than_443_stands_in_host() {
    let ca = authority("CA");
    let server = Plan { alpn: &["http/1.1"], ..plan(&ca) }.start().await;
    let upstream = upstream(&server.url(""), "registry.corp.example:8443", trust(&ca)).unwrap();
    get(&upstream, "/").await.unwrap();
    assert_eq!(server.seen().host, "registry.corp.example:8443");
    assert_eq!(server.seen().sni.as_deref(), Some(NAME));
}

#[tokio::test]
async fn the_client_certificate_is_presented_and_connections_are_kept() {
    let (ca, clients) = (authority("CA"), authority("Clients"));
    let server = Plan { clients: Some(&clients), ..plan(&ca) }.start().await;
    let trust = Trust { client: Some(identity(&clients, KeyAlgorithm::EcdsaP256, now())), ..trust(&ca) };
    let upstream = upstream(&server.url(""), NAME, trust).unwrap();
    for _ in 0..3 {
        get(&upstream.clone(), "/").await.unwrap();
    }
    assert!(server.seen().client);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_refused_client_certificate_is_told() {
    let (ca, clients) = (authority("CA"), authority("Clients"));
    for plan in [plan(&ca), plan(&ca).tls12()] {
        let server = Plan { clients: Some(&clients), ..plan }.start().await;
        let error = get(&upstream(&server.url(""), NAME, trust(&ca)).unwrap(), "/").await.unwrap_err();
        assert!(matches!(error, HttpsError::ClientCertificateRefused { .. }), "{error:?}");
        assert!(error.to_string().starts_with("registry.corp.example at 127.0.0.1:"), "{error}");
    }
}

#[tokio::test]
async fn the_name_is_checked_and_not_the_address() {
    let ca = authority("CA");
    let server = Plan::new(&ca).start().await;
    let error = get(&upstream(&server.url(""), NAME, trust(&ca)).unwrap(), "/").await.unwrap_err();
    assert!(matches!(error, HttpsError::WrongName { .. }), "{error:?}");
}

#[tokio::test]
async fn bodies_stream_and_a_break_is_seen() {
    let ca = authority("CA");
    let server = plan(&ca).start().await;
    let upstream = upstream(&server.url(""), NAME, trust(&ca)).unwrap();
    let body = Full::new(Bytes::from(vec![7; 3 << 20]));
    let response = upstream.request(Request::post("/echo").body(body).unwrap()).await.unwrap();
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes().len(), 3 << 20);
    let request = Request::get("/broken").body(Empty::<Bytes>::new()).unwrap();
    match upstream.request(request).await {
        Ok(response) => assert!(response.into_body().collect().await.is_err()),
        Err(error) => assert!(matches!(error, HttpsError::Stream { .. }), "{error:?}"),
    }
}

#[tokio::test]
async fn downloads_that_begin_at_once_all_begin_and_all_go_on() {
    let (ca, clients) = (authority("CA"), authority("Clients"));
    let server = Plan { clients: Some(&clients), ..plan(&ca) }.start().await;
    let trust = Trust { client: Some(identity(&clients, KeyAlgorithm::EcdsaP256, now())), ..trust(&ca) };
    let upstream = upstream(&server.url(""), NAME, trust).unwrap();
    let mut begun = tokio::task::JoinSet::new();
    for _ in 0..64 {
        let upstream = upstream.clone();
        let request = Request::get("/endless").body(Empty::<Bytes>::new()).unwrap();
        begun.spawn(async move { upstream.request(request).await.map(Response::into_body) });
    }
    let mut bodies: Vec<_> = begun.join_all().await.into_iter().map(Result::unwrap).collect();
    for body in &mut bodies {
        let mut length = 0;
        while length < 1 << 20 {
            length += body.frame().await.unwrap().unwrap().into_data().unwrap().len();
        }
    }
    assert_eq!(server.connections(), 64, "a connection for each");
    // The server still counts one whose client is done, and has begun the next.
    assert!(server.most_handshakes() <= 2 * 8, "{} handshakes at once", server.most_handshakes());
}

#[tokio::test]
async fn an_ipv6_literal_is_reached() {
    let ca = authority("CA");
    let server = Plan { listen: "[::1]:0", ..plan(&ca) }.start().await;
    assert!(get(&upstream(&server.url(""), NAME, trust(&ca)).unwrap(), "/").await.is_ok());
    let by_name = format!("https://localhost:{}", server.address.port());
    assert!(get(&upstream(&by_name, NAME, trust(&ca)).unwrap(), "/").await.is_ok());
}

#[tokio::test]
async fn http_goes_to_this_machine_only() {
    assert!(upstream("http://127.0.0.1:8080", NAME, Trust::default()).is_ok());
    assert!(matches!(upstream("http://10.0.0.7:8080", NAME, Trust::default()), Err(HttpsError::Address { .. })));
}
