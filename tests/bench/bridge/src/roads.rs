//! The roads to one registry: none between, the bridge, and two other proxies that present a client certificate.
//! A place comes in, roads go out.
//! Each has a client certificate of its own, so that the registry tells whose connections it has.

use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use crate::connection::{Connection, field};
use crate::place::{ANSWER, ARCHIVE, DOWNLOAD, HOST, Place};

/// One way to the registry.
pub(crate) struct Road {
    pub(crate) name: &'static str,
    pub(crate) port: u16,
    /// Where we present the certificate ourselves.
    pub(crate) tls: Option<Arc<ClientConfig>>,
    pub(crate) host: String,
    pub(crate) token: String,
    /// The path of a small answer.
    pub(crate) answer: String,
    /// The path of 1 GiB.
    pub(crate) archive: String,
}

impl Road {
    /// Lists them; the first is the one without a proxy, the second the bridge.
    pub(crate) fn all(place: &Place) -> Vec<Self> {
        let straight = |name, port| Self {
            name,
            port,
            tls: None,
            host: HOST.to_owned(),
            token: "unused".to_owned(),
            answer: ANSWER.to_owned(),
            archive: ARCHIVE.to_owned(),
        };
        vec![
            Self { tls: Some(tls(place)), ..straight("no proxy", place.registry_port) },
            bridge(place),
            straight("nginx", place.nginx_port),
            straight("stunnel", place.stunnel_port),
        ]
    }
}

/// Finds the archive as Terraform does: an answer names it.
fn bridge(place: &Place) -> Road {
    let host = format!("127.0.0.1:{}", place.bridge_port);
    let mut road = Road {
        name: "the bridge",
        port: place.bridge_port,
        tls: None,
        host: host.clone(),
        token: place.session_token.clone(),
        answer: format!("/{HOST}{ANSWER}"),
        archive: String::new(),
    };
    let head = Connection::open(&road).get(&format!("/{HOST}{DOWNLOAD}")).head;
    let archive = field(&head, "x-terraform-get").expect("an archive");
    road.archive = archive.strip_prefix(&format!("http://{host}")).expect("an address of the bridge").to_owned();
    road
}

fn tls(place: &Place) -> Arc<ClientConfig> {
    let mut anchors = RootCertStore::empty();
    let server = CertificateDer::from_pem_slice(place.authority.as_bytes()).expect("a certificate");
    anchors.add(server).expect("an anchor");
    let certificate = CertificateDer::from_pem_slice(place.client.certificate.as_bytes()).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(place.client.key.as_bytes()).expect("a key");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.expect("versions").with_root_certificates(anchors);
    Arc::new(builder.with_client_auth_cert(vec![certificate], key).expect("a client certificate"))
}
