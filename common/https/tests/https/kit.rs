//! The server, the authorities and the proxy that the tests need.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use credmint_client_identity::{Asked, Authority, ClientIdentity, KeyAlgorithm, Names, PrivateKey, SigningRequest};
use credmint_https::{Https, HttpsError, Trust, Upstream, UpstreamTarget};
use credmint_vocabulary::{Deadline, Hostname, Timestamp};
use http::{Request, Response, StatusCode, Version};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::{Frame, Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{HandshakeKind, NamedGroup, RootCertStore, ServerConfig, SupportedProtocolVersion};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

pub(crate) const HOUR: Duration = Duration::from_secs(3_600);

pub(crate) fn https() -> Https {
    Https::new("credmint/test")
}

pub(crate) fn soon() -> Deadline {
    Deadline::after(Instant::now(), Duration::from_secs(10))
}

#[expect(clippy::disallowed_methods, reason = "rustls compares with the real clock, so the test must as well")]
pub(crate) fn now() -> Timestamp {
    Timestamp::from_system(SystemTime::now())
}

pub(crate) fn names(dns: &str) -> Names {
    Names { dns_names: vec![dns.to_owned()], ip_addresses: vec![[127, 0, 0, 1].into()], ..Names::default() }
}

/// An authority that was there an hour ago already, for what is to have expired.
pub(crate) fn authority(name: &str) -> Authority {
    Authority::new(name, HOUR * 24, now().minus(HOUR * 2)).unwrap()
}

/// Trusts this authority and no other.
pub(crate) fn trust(authority: &Authority) -> Trust {
    Trust { ca: Some(written(authority.certificate_pem())), ca_only: true, ..Trust::default() }
}

#[expect(clippy::disallowed_methods, reason = "`ca` is a path")]
pub(crate) fn written(pem: &str) -> PathBuf {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let name = format!("ca-{}-{}.pem", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, pem).unwrap();
    path
}

/// Replaces what `written` wrote, as a whole: nobody reads half of it.
#[expect(clippy::disallowed_methods, reason = "`ca` is a path")]
pub(crate) fn rewritten(path: &Path, pem: &str) {
    let next = path.with_extension("next");
    std::fs::write(&next, pem).unwrap();
    std::fs::rename(&next, path).unwrap();
}

/// Makes a client identity that was issued at `at` for an hour.
pub(crate) fn identity(authority: &Authority, algorithm: KeyAlgorithm, at: Timestamp) -> Arc<ClientIdentity> {
    let key = PrivateKey::generate(algorithm).unwrap();
    let names = Names { common_name: Some("me".to_owned()), ..Names::default() };
    let request = SigningRequest::new(&key, &names).unwrap();
    let pem = authority.sign(&request, HOUR, at).unwrap();
    let chain = [authority.certificate_pem().to_owned()];
    Arc::new(ClientIdentity::assemble(key, &pem, &chain, &Asked::default(), at).unwrap().0)
}

/// The name of every upstream.
pub(crate) const NAME: &str = "registry.corp.example";

pub(crate) fn upstream(address: &str, name: &str, trust: Trust) -> Result<Upstream, HttpsError> {
    let server_name = Hostname::from_comparison_form(name).unwrap();
    https().upstream(UpstreamTarget { address: address.parse().unwrap(), server_name, trust })
}

pub(crate) async fn get(upstream: &Upstream, path: &str) -> Result<(StatusCode, Bytes), HttpsError> {
    let request = Request::get(path).header("host", "127.0.0.1:9").body(Empty::<Bytes>::new()).unwrap();
    let response = upstream.request(request).await?;
    let status = response.status();
    Ok((status, response.into_body().collect().await.unwrap().to_bytes()))
}

pub(crate) fn plan(ca: &Authority) -> Plan<'_> {
    Plan { names: credmint_client_identity::Names { ip_addresses: Vec::new(), ..names(NAME) }, ..Plan::new(ca) }
}

/// What the server saw of a request.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) version: Version,
    pub(crate) host: String,
    pub(crate) path: String,
    pub(crate) sni: Option<String>,
    pub(crate) client: bool,
    pub(crate) resumed: bool,
    pub(crate) group: Option<NamedGroup>,
    pub(crate) headers: http::HeaderMap,
}

/// How a server is to be.
pub(crate) struct Plan<'a> {
    pub(crate) authority: &'a Authority,
    pub(crate) names: Names,
    pub(crate) at: Timestamp,
    pub(crate) clients: Option<&'a Authority>,
    pub(crate) alpn: &'static [&'static str],
    pub(crate) version: &'static SupportedProtocolVersion,
    pub(crate) listen: &'static str,
    /// Certificates that are sent along and lead nowhere.
    pub(crate) along: Option<&'a Authority>,
}

impl<'a> Plan<'a> {
    pub(crate) fn new(authority: &'a Authority) -> Self {
        Self {
            authority,
            names: names("localhost"),
            at: now(),
            clients: None,
            alpn: &["h2", "http/1.1"],
            version: &TLS13,
            listen: "127.0.0.1:0",
            along: None,
        }
    }

    pub(crate) fn tls12(self) -> Self {
        Self { version: &TLS12, ..self }
    }

    pub(crate) async fn start(self) -> Server {
        let tls = self.tls();
        let listener = TcpListener::bind(self.listen).await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = Server { address, seen: Arc::default(), connections: Arc::default(), handshakes: Arc::default() };
        tokio::spawn(accept(listener, TlsAcceptor::from(tls), server.clone()));
        server
    }

    fn tls(&self) -> Arc<ServerConfig> {
        let (pem, key) = self.authority.server_certificate(&self.names, HOUR, self.at).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.pkcs8_der().expose().clone()));
        let builder = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()));
        let builder = builder.with_protocol_versions(&[self.version]).unwrap();
        let builder = builder.with_client_cert_verifier(self.verifier());
        let path = std::iter::once(der(&pem)).chain(self.along.map(|other| der(other.certificate_pem()))).collect();
        let mut config = builder.with_single_cert(path, key).unwrap();
        config.alpn_protocols = self.alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        Arc::new(config)
    }

    fn verifier(&self) -> Arc<dyn ClientCertVerifier> {
        let Some(authority) = self.clients else { return WebPkiClientVerifier::no_client_auth() };
        let mut roots = RootCertStore::empty();
        roots.add(der(authority.certificate_pem())).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap()
    }
}

pub(crate) fn der(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
}

/// A server that ends with the test's runtime.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    connections: Arc<AtomicUsize>,
    handshakes: Arc<Handshakes>,
}

/// Handshakes that are under way, and the most that ever were.
#[derive(Default)]
struct Handshakes {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Server {
    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }

    pub(crate) fn seen(&self) -> Seen {
        self.seen.lock().unwrap().last().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    pub(crate) fn most_handshakes(&self) -> usize {
        self.handshakes.most.load(Ordering::Relaxed)
    }
}

async fn accept(listener: TcpListener, tls: TlsAcceptor, server: Server) {
    while let Ok((tcp, _)) = listener.accept().await {
        server.connections.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(serve(tcp, tls.clone(), server.clone()));
    }
}

async fn serve(tcp: TcpStream, tls: TlsAcceptor, server: Server) {
    let handshakes = Arc::clone(&server.handshakes);
    handshakes.most.fetch_max(handshakes.now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
    let accepted = tls.accept(tcp).await;
    handshakes.now.fetch_sub(1, Ordering::Relaxed);
    let Ok(stream) = accepted else { return };
    let session = stream.get_ref().1;
    let met = Met {
        sni: session.server_name().map(ToOwned::to_owned),
        client: session.peer_certificates().is_some(),
        resumed: session.handshake_kind() == Some(HandshakeKind::Resumed),
        group: session.negotiated_key_exchange_group().map(|group| group.name()),
    };
    let h2 = session.alpn_protocol() == Some(b"h2");
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        server.seen.lock().unwrap().push(see(&request, &met));
        answer(request)
    });
    if h2 {
        let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
            .serve_connection(TokioIo::new(stream), service)
            .await;
    } else {
        let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
    }
}

/// What the server knows of a connection.
struct Met {
    sni: Option<String>,
    client: bool,
    resumed: bool,
    group: Option<NamedGroup>,
}

fn see(request: &Request<Incoming>, met: &Met) -> Seen {
    let host = request.headers().get("host").map(|host| host.to_str().unwrap().to_owned());
    let authority = request.uri().authority().map(ToString::to_string);
    Seen {
        version: request.version(),
        host: host.or(authority).unwrap(),
        path: request.uri().path_and_query().unwrap().to_string(),
        sni: met.sni.clone(),
        client: met.client,
        resumed: met.resumed,
        group: met.group,
        headers: request.headers().clone(),
    }
}

type Body = UnsyncBoxBody<Bytes, std::io::Error>;

fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never: Infallible| match never {}).boxed_unsync()
}

async fn answer(request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    let path = request.uri().path().to_owned();
    let mut response = Response::new(whole("fine"));
    match path.rsplit('/').next().unwrap() {
        "redirect" => {
            *response.status_mut() = StatusCode::TEMPORARY_REDIRECT;
            response.headers_mut().insert("location", "/fine".parse().unwrap());
        }
        "echo" => response = Response::new(whole(request.into_body().collect().await.unwrap().to_bytes())),
        "large" => response = Response::new(whole(vec![b'x'; 2 << 20])),
        "endless" => response = Response::new(endless()),
        "slow" => std::future::pending().await,
        "broken" => response = Response::new(broken()),
        _ => {}
    }
    Ok(response)
}

/// Has no announced length and no end.
fn endless() -> Body {
    Chunks(|| Some(Ok(Bytes::from(vec![b'x'; 64 << 10])))).boxed_unsync()
}

/// Breaks off after the first chunk.
fn broken() -> Body {
    let mut chunks = vec![Err(std::io::Error::other("broken off")), Ok(Bytes::from_static(b"begin"))];
    Chunks(move || chunks.pop()).boxed_unsync()
}

/// A body whose chunks come from a function.
struct Chunks<F>(F);

impl<F> http_body::Body for Chunks<F>
where
    F: FnMut() -> Option<Result<Bytes, std::io::Error>> + Unpin,
{
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Poll::Ready((self.0)().map(|chunk| chunk.map(Frame::data)))
    }
}

/// A proxy that tunnels whatever it is asked for to one server, or refuses.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Starts one; without a server it refuses.
    pub(crate) async fn start(server: Option<SocketAddr>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Self { address: listener.local_addr().unwrap(), asked: Arc::default() };
        let asked = Arc::clone(&proxy.asked);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(tunnel(client, server, Arc::clone(&asked)));
            }
        });
        proxy
    }

    pub(crate) fn url(&self) -> Option<String> {
        Some(format!("http://{}", self.address))
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

#[expect(clippy::disallowed_methods, reason = "this proxy is the one that dials")]
async fn tunnel(mut client: TcpStream, server: Option<SocketAddr>, asked: Arc<Mutex<Vec<String>>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await.unwrap());
    }
    let line = String::from_utf8(head).unwrap().lines().next().unwrap().to_owned();
    asked.lock().unwrap().push(line);
    let Some(server) = server else {
        client.write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        return;
    };
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.unwrap();
    let mut server = TcpStream::connect(server).await.unwrap();
    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
}
