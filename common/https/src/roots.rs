//! Trust anchors: the system's, read once and late, and those of a PEM file, read each time they are needed.
//! A path comes in, a store of anchors goes out.
//! Reads the files that `rustls-native-certs` knows, and the one it is given. Loading all costs 5 ms and 147 files.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use credmint_vocabulary::printable;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::error::HttpsError;
use crate::trust::Trust;

/// Bounds a file of trust anchors; the system's own bundle has 0.2 MiB.
const LARGEST: u64 = 4 * 1024 * 1024;

/// Holds the system's anchors once they were needed.
#[derive(Debug, Default)]
pub(crate) struct Roots {
    system: OnceLock<Arc<RootCertStore>>,
}

impl Roots {
    /// Gives the anchors that a peer is judged by; `ca` is the content of the file that the trust names.
    pub(crate) fn of(&self, trust: &Trust, ca: Option<&[u8]>) -> Result<Arc<RootCertStore>, HttpsError> {
        let store = match (&trust.ca, ca) {
            (Some(path), Some(pem)) if trust.ca_only => Arc::new(with(RootCertStore::empty(), path, pem)?),
            (Some(path), Some(pem)) => Arc::new(with(RootCertStore::clone(self.system()), path, pem)?),
            _ if trust.ca_only => return Err(HttpsError::NoAnchors),
            _ => Arc::clone(self.system()),
        };
        if store.is_empty() { Err(HttpsError::NoAnchors) } else { Ok(store) }
    }

    fn system(&self) -> &Arc<RootCertStore> {
        self.system.get_or_init(|| {
            let mut store = RootCertStore::empty();
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            Arc::new(store)
        })
    }
}

/// Reads the file that the trust names, if it names one.
pub(crate) fn read(trust: &Trust) -> Result<Option<Vec<u8>>, HttpsError> {
    trust.ca.as_deref().map(read_file).transpose()
}

#[expect(clippy::disallowed_methods, reason = "trust anchors are this room's own business, and no secret")]
fn read_file(path: &Path) -> Result<Vec<u8>, HttpsError> {
    let failed = |error: std::io::Error| unusable(path, &error.to_string());
    let (mut content, found) = (Vec::new(), below_home(path, std::env::home_dir()));
    std::fs::File::open(found).map_err(failed)?.take(LARGEST + 1).read_to_end(&mut content).map_err(failed)?;
    if content.len() as u64 > LARGEST {
        return Err(unusable(path, "it is larger than 4 MiB"));
    }
    Ok(content)
}

/// Puts the home in place of `~`.
fn below_home(path: &Path, home: Option<PathBuf>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

fn with(mut store: RootCertStore, path: &Path, pem: &[u8]) -> Result<RootCertStore, HttpsError> {
    let before = store.len();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|_| unusable(path, "it is no PEM of certificates"))?;
        store.add(certificate).map_err(|_| unusable(path, "a certificate in it cannot be read"))?;
    }
    if store.len() == before {
        return Err(unusable(path, "no certificate is in it"));
    }
    Ok(store)
}

fn unusable(path: &Path, why: &str) -> HttpsError {
    HttpsError::Ca { path: path.to_owned(), why: printable(why, 160) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_below_the_home_is_found_there() {
        let found = |path: &str, home: Option<&str>| below_home(Path::new(path), home.map(PathBuf::from));
        assert_eq!(found("~/corp-ca.pem", Some("/home/ada")), Path::new("/home/ada/corp-ca.pem"));
        assert_eq!(found("/etc/~/ca.pem", Some("/home/ada")), Path::new("/etc/~/ca.pem"));
        assert_eq!(found("~/corp-ca.pem", None), Path::new("~/corp-ca.pem"));
    }
}
