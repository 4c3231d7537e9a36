//! Pins: which keys have to be on a server's certification path, besides everything else that is asked of it.
//! Digests of the settings come in, a judge of server certificates goes out.
//! Judges after the usual one, never in its place. RFC 7469 §2.4 (what is digested) and §2.6 (the verified path).

use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, TrustAnchor, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme};
use webpki::{EndEntityCert, KeyUsage, VerifiedPath};

/// Judges a server's certificate in the usual way, and then by the pins.
#[derive(Debug)]
pub(crate) struct Pinned {
    usual: Arc<WebPkiServerVerifier>,
    anchors: Arc<RootCertStore>,
    provider: Arc<CryptoProvider>,
    pins: Vec<String>,
}

/// Says that no pin is on the path, and which key the server has.
#[derive(Debug)]
pub(crate) struct NotPinned {
    pub(crate) seen: String,
}

impl fmt::Display for NotPinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no pin is on its certification path, and its key is {}", self.seen)
    }
}

impl Error for NotPinned {}

impl Pinned {
    /// Puts pins after the usual judgement by these anchors.
    pub(crate) fn new(
        anchors: Arc<RootCertStore>,
        provider: Arc<CryptoProvider>,
        pins: &[String],
    ) -> Result<Arc<Self>, rustls::client::VerifierBuilderError> {
        let usual = WebPkiServerVerifier::builder_with_provider(Arc::clone(&anchors), Arc::clone(&provider)).build()?;
        Ok(Arc::new(Self { usual, anchors, provider, pins: pins.to_vec() }))
    }

    /// Looks for a path that is valid and has a pin on it.
    fn judge(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), rustls::Error> {
        let broken = |_| rustls::Error::InvalidCertificate(CertificateError::BadEncoding);
        let server = EndEntityCert::try_from(end_entity).map_err(broken)?;
        let found = Mutex::new(false);
        let look = |path: &VerifiedPath<'_>| {
            let pinned = keys(path).iter().any(|key| self.pins.contains(key));
            *found.lock().unwrap_or_else(PoisonError::into_inner) |= pinned;
            if pinned { Ok(()) } else { Err(webpki::Error::UnknownIssuer) }
        };
        let algorithms = self.provider.signature_verification_algorithms.all;
        let usage = KeyUsage::server_auth();
        // Its own error says nothing here: the usual judge accepted the server already.
        let judged =
            server.verify_for_usage(algorithms, &self.anchors.roots, intermediates, now, usage, None, Some(&look));
        if judged.is_ok() && *found.lock().unwrap_or_else(PoisonError::into_inner) {
            return Ok(());
        }
        let seen = pin_of(&server.subject_public_key_info());
        Err(CertificateError::Other(OtherError(Arc::new(NotPinned { seen }))).into())
    }
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let usual = self.usual.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)?;
        self.judge(end_entity, intermediates, now).map(|()| usual)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.usual.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.usual.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}

/// Lists the keys of a path as pins: the server's, the intermediates', the anchor's.
fn keys(path: &VerifiedPath<'_>) -> Vec<String> {
    let own = pin_of(&path.end_entity().subject_public_key_info());
    let between = path.intermediate_certificates().map(|certificate| pin_of(&certificate.subject_public_key_info()));
    std::iter::once(own).chain(between).chain([pin_of(&of_anchor(path.anchor()))]).collect()
}

/// Writes an anchor's SubjectPublicKeyInfo whole again: the anchor has what stands inside of it (X.690 §8.1.3).
fn of_anchor(anchor: &TrustAnchor<'_>) -> Vec<u8> {
    const SEQUENCE: u8 = 0x30;
    let inside = anchor.subject_public_key_info.as_ref();
    let length = inside.len().to_be_bytes();
    let length: Vec<u8> = length.into_iter().skip_while(|byte| *byte == 0).collect();
    let mut whole = vec![SEQUENCE];
    if let (128.., Ok(count)) = (inside.len(), u8::try_from(length.len())) {
        whole.push(0x80 | count);
    }
    whole.extend(length);
    whole.extend_from_slice(inside);
    whole
}

fn pin_of(key: &[u8]) -> String {
    format!("sha256//{}", STANDARD.encode(digest(&SHA256, key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_anchors_key_is_written_whole_again_however_long_it_is() {
        let whole = |length: usize| {
            let (subject, key) = ((&[][..]).into(), vec![7; length].into());
            of_anchor(&TrustAnchor { subject, subject_public_key_info: key, name_constraints: None })
        };
        for (length, head) in [(89, &[0x30, 89][..]), (128, &[0x30, 0x81, 128]), (290, &[0x30, 0x82, 1, 34])] {
            assert!(whole(length).starts_with(head) && whole(length).len() == head.len() + length);
        }
    }
}
