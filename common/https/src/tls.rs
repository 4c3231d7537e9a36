//! The one place where a TLS configuration is made.
//! Anchors and a client identity come in, a configuration goes out, for the pooled client and for the upstream alike.
//! Touches nothing. TLS 1.2 and 1.3 by aws-lc-rs, named here and never taken from the process's default.

use std::sync::Arc;

use credmint_client_identity::ClientIdentity;
use rustls::client::ResolvesClientCert;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore};

use crate::error::HttpsError;

/// Makes a configuration without ALPN, which is the caller's.
pub(crate) fn configuration(
    anchors: Arc<RootCertStore>,
    client: Option<&ClientIdentity>,
) -> Result<ClientConfig, HttpsError> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13, &TLS12]);
    let builder = builder.map_err(unusable)?.with_root_certificates(anchors);
    Ok(match client {
        Some(identity) => builder.with_client_cert_resolver(presented(identity)?),
        None => builder.with_no_client_auth(),
    })
}

/// Prepares a client identity; the key is parsed from where it lies, no second copy of its bytes is made.
fn presented(identity: &ClientIdentity) -> Result<Arc<dyn ResolvesClientCert>, HttpsError> {
    let path = identity.certificates_der().iter().map(|der| CertificateDer::from(der.clone())).collect();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(identity.key_der().expose().as_slice()));
    let key = rustls::crypto::aws_lc_rs::sign::any_supported_type(&key).map_err(unusable)?;
    Ok(Arc::new(SingleCertAndKey::from(CertifiedKey::new(path, key))))
}

fn unusable(error: rustls::Error) -> HttpsError {
    HttpsError::Identity { why: error.to_string() }
}
