//! The authority of one run: it vouches for the run's hosts towards the run's program, and for nobody else towards nobody else.
//! Hostnames and the time come in; TLS configurations for a server go out, each made when it is first needed.
//! Its key stays in memory, is wiped with the run, and is written nowhere. RFC 5280 §4.2.1.10.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use credmint_client_identity::{Authority, Names, PrivateKey};
use credmint_vocabulary::{Failure, FailureKind, Hostname, Timestamp};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};

use super::place::address;

type Servers = BTreeMap<Hostname, (Arc<ServerConfig>, Timestamp)>;

/// Makes certificates for the hosts of a run.
pub(super) struct RunAuthority {
    authority: Authority,
    servers: RefCell<Servers>,
}

impl RunAuthority {
    /// Makes one.
    pub(super) fn new(hosts: &[Hostname], port: u16, now: Timestamp) -> Result<Self, Failure> {
        let names = hosts.iter().map(names).fold(Names::default(), |mut all, one| {
            all.dns_names.extend(one.dns_names);
            all.ip_addresses.extend(one.ip_addresses);
            all
        });
        // Two runs, of which one is inside the other, are told apart by that.
        let title = format!("credmint exec at port {port}");
        let authority = Authority::for_servers(&title, &names, LIFE, now).map_err(|error| failed(&error))?;
        Ok(Self { authority, servers: RefCell::default() })
    }

    /// Lends its certificate.
    pub(super) fn certificate_pem(&self) -> &str {
        self.authority.certificate_pem()
    }

    /// Gives what a server of this name needs; made again before its certificate is over.
    pub(super) fn server(&self, host: &Hostname, now: Timestamp) -> Result<Arc<ServerConfig>, Failure> {
        let mut servers = self.servers.borrow_mut();
        if let Some((server, until)) = servers.get(host)
            && now < *until
        {
            return Ok(Arc::clone(server));
        }
        let (pem, key) =
            self.authority.server_certificate(&names(host), LIFE_OF_A_SERVER, now).map_err(|error| failed(&error))?;
        let server = Arc::new(configuration(&pem, &key)?);
        servers.insert(host.clone(), (Arc::clone(&server), now.plus(LIFE_OF_A_SERVER / 2)));
        Ok(server)
    }
}

fn names(host: &Hostname) -> Names {
    match address(host.name()) {
        Some(ip) => Names { ip_addresses: vec![ip], ..Names::default() },
        None => Names { dns_names: vec![host.name().to_owned()], ..Names::default() },
    }
}

fn configuration(pem: &str, key: &PrivateKey) -> Result<ServerConfig, Failure> {
    let path = CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<Vec<_>, _>>().map_err(|e| failed(&e))?;
    // Parsed from where it lies, so that no second copy of its bytes is made.
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.pkcs8_der().expose().as_slice()));
    let key = rustls::crypto::aws_lc_rs::sign::any_supported_type(&key).map_err(|error| failed(&error))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(provider);
    let builder = builder.with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12]);
    let builder = builder.map_err(|error| failed(&error))?.with_no_client_auth();
    let mut server = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(CertifiedKey::new(path, key))));
    // Our reason phrases do not exist in HTTP/2.
    server.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(server)
}

fn failed(error: &dyn std::error::Error) -> Failure {
    Failure::new(FailureKind::Internal, format!("the authority of this run: {error}"))
}

/// As long as a shell below `credmint exec` may be left open.
const LIFE: Duration = Duration::from_secs(30 * 24 * 3600);
const LIFE_OF_A_SERVER: Duration = Duration::from_secs(24 * 3600);
