//! Whole answers: what is refused, what is explained, and what is bounded.

use std::sync::Arc;
use std::time::{Duration, Instant};

use credmint_client_identity::KeyAlgorithm;
use credmint_https::{Answer, HttpsError, OauthHttp, Trust};
use credmint_vocabulary::{Deadline, FailureKind};
use http::{Request, StatusCode, Version};
use oauth2::AsyncHttpClient;
use tokio::net::TcpListener;

use crate::kit::*;

async fn get(trust: &Trust, url: &str) -> Result<Answer, HttpsError> {
    https().send(trust, Request::get(url).body(Vec::new()).unwrap(), soon()).await
}

#[tokio::test]
async fn an_answer_comes_whole_and_the_request_carries_no_more_than_asked() {
    let ca = authority("CA");
    let server = Plan::new(&ca).start().await;
    let request = Request::post(server.url("/echo?x=y")).header("x-vault-token", "t").body(b"canary".to_vec());
    let answer = https().send(&trust(&ca), request.unwrap(), soon()).await.unwrap();
    assert_eq!((answer.status, answer.body.as_slice()), (StatusCode::OK, &b"canary"[..]));
    let seen = server.seen();
    assert_eq!((seen.version, seen.path.as_str()), (Version::HTTP_2, "/echo?x=y"));
    let mut sent: Vec<_> = seen.headers.keys().map(|name| name.as_str()).collect();
    sent.sort_unstable();
    assert_eq!(sent, ["accept", "content-length", "user-agent", "x-vault-token"]);
}

#[tokio::test]
async fn connections_are_kept_per_trust_and_dropped_on_demand() {
    let ca = authority("CA");
    let server = Plan::new(&ca).start().await;
    let (https, mut trust) = (https(), trust(&ca));
    let get = async |trust: &Trust| {
        let request = Request::get(server.url("/fine")).body(Vec::new()).unwrap();
        https.clone().send(trust, request, soon()).await.unwrap();
        server.connections()
    };
    assert_eq!((get(&trust).await, get(&trust).await), (1, 1));
    https.forget();
    assert_eq!(get(&trust).await, 2);
    trust.client = Some(identity(&ca, KeyAlgorithm::EcdsaP256, now()));
    assert_eq!((get(&trust).await, get(&trust).await), (3, 3));
    trust.client = Some(identity(&ca, KeyAlgorithm::EcdsaP256, now()));
    assert_eq!(get(&trust).await, 4);
}

#[tokio::test]
async fn another_authority_is_told_even_one_of_the_same_name() {
    let ca = authority("CA");
    let server = Plan::new(&ca).start().await;
    for other in [authority("Other"), authority("CA")] {
        let error = get(&trust(&other), &server.url("/")).await.unwrap_err();
        assert_eq!(error, HttpsError::UnknownAuthority { peer: server.address.to_string() });
        assert!(error.hint().unwrap().contains("ca = "));
    }
    let with_system = Trust { ca_only: false, ..trust(&ca) };
    assert!(get(&with_system, &server.url("/")).await.is_ok());
}

#[tokio::test]
async fn another_name_is_told_with_the_names_that_are_there() {
    let ca = authority("CA");
    let mut plan = Plan::new(&ca);
    plan.names = credmint_client_identity::Names { ip_addresses: Vec::new(), ..names("other.example") };
    let server = plan.start().await;
    let error = get(&trust(&ca), &server.url("/")).await.unwrap_err();
    let HttpsError::WrongName { presented, .. } = &error else { panic!("{error:?}") };
    assert!(presented.contains("other.example"), "{error}");
}

#[tokio::test]
async fn a_certificate_that_is_over_or_has_not_begun_is_told() {
    let ca = authority("CA");
    let mut plan = Plan::new(&ca);
    plan.at = now().minus(HOUR + Duration::from_secs(60));
    let server = plan.start().await;
    let error = get(&trust(&ca), &server.url("/")).await.unwrap_err();
    let HttpsError::CertificateExpired { not_after: Some(at), .. } = error else { panic!("{error:?}") };
    assert!(at < now());

    let mut plan = Plan::new(&ca);
    plan.at = now().plus(HOUR);
    let server = plan.start().await;
    let error = get(&trust(&ca), &server.url("/")).await.unwrap_err();
    assert_eq!(error, HttpsError::CertificateNotYetValid { peer: server.address.to_string() });
}

#[tokio::test]
async fn mutual_tls_works_with_every_algorithm_and_both_versions_of_tls() {
    let (ca, clients) = (authority("CA"), authority("Clients"));
    for algorithm in KeyAlgorithm::ALL {
        let trust = Trust { client: Some(identity(&clients, algorithm, now())), ..trust(&ca) };
        for plan in [Plan::new(&ca), Plan::new(&ca).tls12()] {
            let server = Plan { clients: Some(&clients), ..plan }.start().await;
            assert_eq!(get(&trust, &server.url("/")).await.unwrap().status, StatusCode::OK, "{}", algorithm.word());
            assert!(server.seen().client);
        }
    }
}

#[tokio::test]
async fn a_refused_client_certificate_is_told_whenever_the_alert_comes() {
    let (ca, clients, strangers) = (authority("CA"), authority("Clients"), authority("Strangers"));
    let none = trust(&ca);
    let stranger = Trust { client: Some(identity(&strangers, KeyAlgorithm::EcdsaP256, now())), ..trust(&ca) };
    let over = identity(&clients, KeyAlgorithm::EcdsaP256, now().minus(HOUR + Duration::from_secs(60)));
    let over = Trust { client: Some(over), ..trust(&ca) };
    for alpn in [&["h2"], &["http/1.1"]] {
        for plan in [Plan::new(&ca), Plan::new(&ca).tls12()] {
            let server = Plan { clients: Some(&clients), alpn, ..plan }.start().await;
            let cases = [(&none, "none was presented"), (&stranger, "does not know"), (&over, "expired")];
            for (trust, why) in cases {
                let error = get(trust, &server.url("/")).await.unwrap_err();
                assert!(error.to_string().contains(why), "{alpn:?} {error:?}");
                assert_eq!(error.kind(), FailureKind::Refused);
            }
            let login = Request::post(server.url("/echo")).body(vec![b'x'; 64 << 10]).unwrap();
            let error = https().send(&none, login, soon()).await.unwrap_err();
            assert!(error.to_string().contains("none was presented"), "{alpn:?} {error:?}");
        }
    }
}

#[tokio::test]
async fn a_redirect_is_an_answer() {
    let ca = authority("CA");
    let server = Plan::new(&ca).start().await;
    let answer = get(&trust(&ca), &server.url("/redirect")).await.unwrap();
    assert_eq!(answer.status, StatusCode::TEMPORARY_REDIRECT);
    assert_eq!(answer.headers.get("location").unwrap(), "/fine");
    assert_eq!(server.seen().path, "/redirect");
}

#[tokio::test]
async fn a_body_is_bounded_announced_or_not() {
    let ca = authority("CA");
    let server = Plan::new(&ca).start().await;
    for path in ["/large", "/endless"] {
        let error = get(&trust(&ca), &server.url(path)).await.unwrap_err();
        assert_eq!(error, HttpsError::TooLarge { peer: server.address.to_string(), limit: 1 << 20 });
    }
}

#[tokio::test]
async fn a_slow_server_costs_no_more_than_the_deadline() {
    let ca = authority("CA");
    let server = Plan::new(&ca).start().await;
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent_url = format!("https://{}/", silent.local_addr().unwrap());
    for url in [server.url("/slow"), silent_url] {
        let begin = Instant::now();
        let deadline = Deadline::after(begin, Duration::from_millis(50));
        let request = Request::get(&url).body(Vec::new()).unwrap();
        let error = https().send(&trust(&ca), request, deadline).await.unwrap_err();
        assert!(matches!(error, HttpsError::Timeout { .. }), "{error:?}");
        assert!(begin.elapsed() < Duration::from_secs(2));
    }
    let request = Request::get(server.url("/")).body(Vec::new()).unwrap();
    let passed = Deadline::after(Instant::now(), Duration::ZERO);
    assert!(matches!(https().send(&trust(&ca), request, passed).await, Err(HttpsError::Timeout { .. })));
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_told() {
    let ca = authority("CA");
    for alpn in [&["h2"], &["http/1.1"]] {
        let server = Plan { alpn, ..Plan::new(&ca) }.start().await;
        let error = get(&trust(&ca), &server.url("/broken")).await.unwrap_err();
        assert!(matches!(error, HttpsError::Stream { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn nobody_there_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    drop(listener);
    let error = get(&trust(&authority("CA")), &url).await.unwrap_err();
    assert!(matches!(error, HttpsError::Connect { .. }), "{error:?}");
    assert!(error.to_string().contains("refused"), "{error}");
}

#[tokio::test]
async fn a_server_without_tls_is_told() {
    let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", plain.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = plain.accept().await.unwrap();
        let text = b"HTTP/1.1 400 Bad Request\r\n\r\nThis is no TLS at all, not even a little.";
        tokio::io::AsyncWriteExt::write_all(&mut stream, text).await.unwrap();
    });
    let error = get(&trust(&authority("CA")), &url).await.unwrap_err();
    assert!(matches!(error, HttpsError::Handshake { .. }), "{error:?}");
}

#[tokio::test]
async fn a_name_without_address_is_told() {
    let error = get(&trust(&authority("CA")), "https://registry.invalid/canary?canary").await.unwrap_err();
    assert!(matches!(error, HttpsError::Resolve { .. } | HttpsError::Timeout { .. }), "{error:?}");
    assert!(error.to_string().contains("registry.invalid:443") && !error.to_string().contains("canary"));
}

#[tokio::test]
async fn localhost_is_reached_on_whichever_family_listens() {
    let ca = authority("CA");
    for listen in ["127.0.0.1:0", "[::1]:0"] {
        let server = Plan { listen, ..Plan::new(&ca) }.start().await;
        let url = format!("https://localhost:{}/", server.address.port());
        assert_eq!(get(&trust(&ca), &url).await.unwrap().status, StatusCode::OK, "{listen}");
    }
}

#[tokio::test]
async fn http_is_refused_unless_it_stays_on_this_machine() {
    let error = get(&Trust::default(), "http://vault.corp.example:8200/v1/canary").await.unwrap_err();
    assert_eq!(error.kind(), FailureKind::Settings);
    let shown = error.to_string();
    assert!(shown.contains("http://vault.corp.example:8200") && !shown.contains("canary"), "{shown}");
}

#[tokio::test]
async fn a_file_of_anchors_is_read_again_and_its_faults_are_told() {
    let (ca, other) = (authority("CA"), authority("Other"));
    let server = Plan::new(&ca).start().await;
    let request = || Request::get(server.url("/")).body(Vec::new()).unwrap();
    let (https, trust) = (https(), trust(&other));
    assert!(https.send(&trust, request(), soon()).await.is_err());
    rewrite(trust.ca.as_deref().unwrap(), ca.certificate_pem());
    assert!(https.send(&trust, request(), soon()).await.is_ok());
    for content in ["", "no PEM", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        rewrite(trust.ca.as_deref().unwrap(), content);
        let error = https.send(&trust, request(), soon()).await.unwrap_err();
        assert!(matches!(error, HttpsError::Ca { .. }), "{content}: {error:?}");
    }
    let absent = Trust { ca: Some("/nonexistent/ca.pem".into()), ..Trust::default() };
    let error = get(&absent, &server.url("/")).await.unwrap_err().to_string();
    assert!(error.contains("/nonexistent/ca.pem") && error.contains("it is not there"), "{error}");
}

#[expect(clippy::disallowed_methods, reason = "`ca` is a path")]
fn rewrite(path: &std::path::Path, content: &str) {
    std::fs::write(path, content).unwrap();
}

#[tokio::test]
async fn oauth2_sends_through_us() {
    let ca = authority("CA");
    let server = Plan::new(&ca).start().await;
    let https = https();
    let http = OauthHttp { https: &https, trust: trust(&ca), deadline: soon() };
    let request = Request::post(server.url("/echo")).body(b"grant_type=x".to_vec()).unwrap();
    let response = http.call(request).await.unwrap();
    assert_eq!((response.status(), response.body().as_slice()), (StatusCode::OK, &b"grant_type=x"[..]));
}

#[tokio::test]
async fn the_agents_futures_may_move_between_threads() {
    fn is_send<T: Send>(_: &T) {}
    let (https, trust) = (https(), Arc::new(Trust::default()));
    let sending = https.send(&trust, Request::new(Vec::new()), soon());
    is_send(&sending);
}
