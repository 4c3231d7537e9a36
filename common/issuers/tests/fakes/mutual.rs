//! The server of `fake`, over TLS, for those who present a certificate.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use credmint_client_identity::{Authority, Names};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::fake::{Fake, Said, Seen, serve};
use crate::world::now;

/// Serves those whose certificate leads to `anchor`; gives what to trust, in PEM.
pub(crate) async fn mutual(anchor: Vec<u8>, answer: impl Fn(&Seen) -> Said + Send + Sync + 'static) -> (Fake, String) {
    let (acceptor, own) = tls(anchor);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("https://{}", listener.local_addr().unwrap());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(stream) = acceptor.accept(stream).await else { continue };
            serve(stream, &kept, &answer).await;
        }
    });
    (Fake { address, seen, task }, own)
}

/// A TLS server of an authority of its own, which wants a client certificate.
fn tls(anchor: Vec<u8>) -> (TlsAcceptor, String) {
    let now = now();
    let authority = Authority::new("server's", Duration::from_secs(600), now).unwrap();
    let names = Names { ip_addresses: vec!["127.0.0.1".parse().unwrap()], ..Names::default() };
    let (certificate, key) = authority.server_certificate(&names, Duration::from_secs(600), now).unwrap();
    let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::try_from(key.pkcs8_der().expose().clone()).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from(anchor)).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build().unwrap();
    let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_client_cert_verifier(clients).with_single_cert(vec![certificate], key).unwrap();
    (TlsAcceptor::from(Arc::new(config)), authority.certificate_pem().to_owned())
}
