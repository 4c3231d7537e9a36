//! TLS of the demo's registry: a server certificate of its own authority, and clients only with the agent's.
//! A time and the agent's trust anchor come in, a rustls configuration and the authority's certificate go out.
//! Writes no file; the server's key stays in this process.

use std::sync::Arc;
use std::time::Duration;

use credmint_client_identity::{Authority, Names, PrivateKey};
use credmint_vocabulary::{Failure, FailureKind, Timestamp};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

const DAY: Duration = Duration::from_secs(86_400);

/// Holds the registry's own certificate.
pub(crate) struct ServerIdentity {
    /// Trust anchor that clients need, in PEM.
    pub(crate) anchor_pem: String,
    certificate_pem: String,
    key: PrivateKey,
}

impl ServerIdentity {
    /// Makes an authority and a certificate for one name.
    pub(crate) fn new(name: &str, now: Timestamp) -> Result<Self, Failure> {
        let authority = Authority::new("credmint demo registry authority", DAY, now).map_err(internal)?;
        let names = Names { dns_names: vec![name.to_owned()], ..Names::default() };
        let (certificate_pem, key) = authority.server_certificate(&names, DAY, now).map_err(internal)?;
        Ok(Self { anchor_pem: authority.certificate_pem().to_owned(), certificate_pem, key })
    }

    /// Makes the configuration of a server that wants a client certificate under `anchor_pem`.
    pub(crate) fn demanding(self, anchor_pem: &str) -> Result<ServerConfig, Failure> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(certificate(anchor_pem)?).map_err(internal)?;
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(self.key.pkcs8_der().expose().clone()));
        let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.map_err(internal)?.with_client_cert_verifier(verifier.map_err(internal)?);
        builder.with_single_cert(vec![certificate(&self.certificate_pem)?], key).map_err(internal)
    }
}

fn certificate(pem: &str) -> Result<CertificateDer<'static>, Failure> {
    CertificateDer::from_pem_slice(pem.as_bytes())
        .map_err(|_| Failure::new(FailureKind::Internal, "the demo: a certificate is not PEM"))
}

fn internal(error: impl std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Internal, format!("the demo: {error}"))
}
