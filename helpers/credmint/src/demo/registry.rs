//! The demo's registry: one module, served on loopback to whoever presents a client certificate of the right authority.
//! A bound listener, a server certificate and the trust anchor for clients come in; what was asked, and by whom, goes out.
//! Keeps all in memory. Module registry protocol; RFC 8446 §4.4.2 (client certificates).

use std::convert::Infallible;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use credmint_vocabulary::{Failure, FailureKind};
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use tokio_rustls::TlsAcceptor;

use super::client_certificate::{ClientCertificate, read};

/// One request, as the registry saw it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Method and path.
    pub(crate) line: String,
    /// Status of the answer.
    pub(crate) status: u16,
    /// Who asked.
    pub(crate) client: ClientCertificate,
}

/// Holds what the registry has seen so far.
#[derive(Clone, Default)]
pub(crate) struct Registry {
    seen: Arc<Mutex<Vec<Seen>>>,
    archive: Bytes,
}

impl Registry {
    /// Takes the module's archive.
    pub(crate) fn new(archive: Vec<u8>) -> Self {
        Self { seen: Arc::default(), archive: archive.into() }
    }

    /// Serves on a thread of its own until the program ends.
    pub(crate) fn open(&self, listener: TcpListener, config: ServerConfig) -> Result<(), Failure> {
        let failed = |error: std::io::Error| Failure::new(FailureKind::Internal, format!("the demo registry: {error}"));
        listener.set_nonblocking(true).map_err(failed)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let registry = self.clone();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        std::thread::spawn(move || runtime.block_on(registry.accept(listener, acceptor)));
        Ok(())
    }

    /// Gives what was asked since the last call.
    pub(crate) fn take(&self) -> Vec<Seen> {
        self.seen.lock().map(|mut seen| std::mem::take(&mut *seen)).unwrap_or_default()
    }

    async fn accept(self, listener: TcpListener, acceptor: TlsAcceptor) {
        let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
        while let Ok((stream, _)) = listener.accept().await {
            let (registry, acceptor) = (self.clone(), acceptor.clone());
            tokio::spawn(async move { registry.serve(stream, &acceptor).await });
        }
    }

    async fn serve(self, stream: tokio::net::TcpStream, acceptor: &TlsAcceptor) {
        let Ok(stream) = acceptor.accept(stream).await else { return };
        let presented = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
        let Some(client) = presented.and_then(|certificate| read(certificate)) else { return };
        let service = service_fn(|request: Request<Incoming>| {
            let answer = self.answer(request.method(), request.uri().path(), &client);
            async move { Ok::<_, Infallible>(answer) }
        });
        drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
    }

    fn answer(&self, method: &Method, path: &str, client: &ClientCertificate) -> Response<Full<Bytes>> {
        let (status, header, body) = self.route(path);
        let seen = Seen { line: format!("{method} {path}"), status: status.as_u16(), client: client.clone() };
        if let Ok(mut all) = self.seen.lock() {
            all.push(seen);
        }
        let answer = Response::builder().status(status).header(header.0, header.1);
        answer.body(Full::new(body)).unwrap_or_default()
    }

    fn route(&self, path: &str) -> (StatusCode, (&'static str, &'static str), Bytes) {
        let json = ("Content-Type", "application/json");
        match path {
            "/.well-known/terraform.json" => (StatusCode::OK, json, r#"{"modules.v1":"/v1/modules/"}"#.into()),
            VERSIONS => (StatusCode::OK, json, r#"{"modules":[{"versions":[{"version":"1.0.0"}]}]}"#.into()),
            DOWNLOAD => (StatusCode::NO_CONTENT, ("X-Terraform-Get", ARCHIVE), Bytes::new()),
            ARCHIVE => (StatusCode::OK, ("Content-Type", "application/zip"), self.archive.clone()),
            _ => (StatusCode::NOT_FOUND, json, r#"{"errors":["not found"]}"#.into()),
        }
    }
}

/// Path of the module's list of versions.
pub(crate) const VERSIONS: &str = "/v1/modules/corp/hello/local/versions";
/// Path that leads to the module's archive.
pub(crate) const DOWNLOAD: &str = "/v1/modules/corp/hello/local/1.0.0/download";
/// Path of the archive.
const ARCHIVE: &str = "/archive/corp-hello-local-1.0.0.zip";
