//! A client without a certificate, to see that the registry refuses it.
//! A port and the registry's trust anchor come in, whether it was refused goes out.
//! Speaks to loopback only. RFC 8446 §4.4.2.4: the server's alert comes after the client's handshake.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use credmint_vocabulary::{Failure, FailureKind};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::HOST;
use super::registry::VERSIONS;

/// Asks without a certificate; gives the words of the refusal, or a failure if there was an answer.
pub(crate) fn is_refused(port: u16, anchor_pem: &str) -> Result<String, Failure> {
    match ask(port, anchor_pem) {
        Ok(_) => Err(Failure::new(FailureKind::Internal, "the demo registry answered a client without a certificate")),
        Err(error) => Ok(error),
    }
}

#[expect(clippy::disallowed_methods, reason = "plays a stranger towards the demo's registry on loopback")]
fn ask(port: u16, anchor_pem: &str) -> Result<Vec<u8>, String> {
    let words = |error: &dyn std::fmt::Display| error.to_string();
    let name = ServerName::try_from(HOST).map_err(|error| words(&error))?;
    let connection = ClientConnection::new(Arc::new(config(anchor_pem)?), name).map_err(|error| words(&error))?;
    let stream = TcpStream::connect(("127.0.0.1", port)).map_err(|error| words(&error))?;
    let mut stream = StreamOwned::new(connection, stream);
    let request = format!("GET {VERSIONS} HTTP/1.0\r\nHost: {HOST}\r\n\r\n");
    stream.write_all(request.as_bytes()).map_err(|error| words(&error))?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).map_err(|error| words(&error))?;
    Ok(answer)
}

fn config(anchor_pem: &str) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    let anchor = CertificateDer::from_pem_slice(anchor_pem.as_bytes()).map_err(|_| "no PEM".to_owned())?;
    roots.add(anchor).map_err(|error| error.to_string())?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Ok(builder.map_err(|error| error.to_string())?.with_root_certificates(roots).with_no_client_auth())
}
