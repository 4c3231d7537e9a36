//! The one place where a TLS configuration is made.
//! Anchors and a client identity come in, a configuration goes out, for the pooled client and for the upstream alike.
//! Touches nothing. TLS 1.2 and 1.3 by aws-lc-rs, named here and never taken from the process's default.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use credmint_client_identity::ClientIdentity;
use rustls::client::{ResolvesClientCert, WantsClientCert};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, SignatureScheme};

use crate::error::HttpsError;
use crate::pins::Pinned;
use crate::trust::Trust;

/// Presents the client identity, if there is one, and remembers how far a server went with it.
#[derive(Debug)]
pub(crate) struct Presented {
    key: Option<Arc<CertifiedKey>>,
    asked: AtomicBool,
    answered: AtomicBool,
}

impl Presented {
    /// Notes that an answer came: what breaks later has another cause.
    pub(crate) fn answered(&self) {
        self.answered.store(true, Ordering::Relaxed);
    }

    /// Tells whether a server asked for a client certificate.
    pub(crate) fn was_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Says what to add to the story of a broken connection. An alert about the certificate (TLS 1.3 sends it after the
    /// handshake) is lost when the operating system reports the server's closing first.
    pub(crate) fn suspicion(&self) -> Option<&'static str> {
        let asked = self.asked.load(Ordering::Relaxed) && !self.answered.load(Ordering::Relaxed);
        asked.then_some(match self.key {
            None => "after the server had asked for a client certificate and none was presented",
            Some(_) => "after the server had asked for the client certificate and seen it",
        })
    }
}

impl ResolvesClientCert for Presented {
    fn resolve(&self, _issuers: &[&[u8]], _schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.asked.store(true, Ordering::Relaxed);
        self.key.clone()
    }

    fn has_certs(&self) -> bool {
        self.key.is_some()
    }
}

/// Makes a configuration without ALPN, which is the caller's, and with sessions of its own that are taken up again.
pub(crate) fn configuration(
    anchors: Arc<RootCertStore>,
    trust: &Trust,
) -> Result<(ClientConfig, Arc<Presented>), HttpsError> {
    let key = trust.client.as_deref().map(certified).transpose()?;
    let presented = Arc::new(Presented { key, asked: AtomicBool::default(), answered: AtomicBool::default() });
    let builder = judging(anchors, &trust.pins)?;
    Ok((builder.with_client_cert_resolver(Arc::clone(&presented) as Arc<dyn ResolvesClientCert>), presented))
}

/// Says how the server is judged: by the anchors, and by the pins if there are any.
fn judging(
    anchors: Arc<RootCertStore>,
    pins: &[String],
) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, HttpsError> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_protocol_versions(&[&TLS13, &TLS12]);
    let builder = builder.map_err(unusable)?;
    if pins.is_empty() {
        return Ok(builder.with_root_certificates(anchors));
    }
    let pinned = Pinned::new(anchors, provider, pins).map_err(|_| HttpsError::NoAnchors)?;
    Ok(builder.dangerous().with_custom_certificate_verifier(pinned))
}

/// Prepares a client identity; the key is parsed from where it lies, no second copy of its bytes is made.
fn certified(identity: &ClientIdentity) -> Result<Arc<CertifiedKey>, HttpsError> {
    let path = identity.certificates_der().iter().map(|der| CertificateDer::from(der.clone())).collect();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(identity.key_der().expose().as_slice()));
    let key = rustls::crypto::aws_lc_rs::sign::any_supported_type(&key).map_err(unusable)?;
    Ok(Arc::new(CertifiedKey::new(path, key)))
}

fn unusable(error: rustls::Error) -> HttpsError {
    HttpsError::Identity { why: error.to_string() }
}
