//! Trust anchors: the system's, read late and again after a while, and those of a PEM file, read each time they are needed.
//! A path comes in, a store of anchors goes out.
//! Reads the files that `rustls-native-certs` knows, and the one it is given. Loading all costs 5 ms and 147 files.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use credmint_vocabulary::printable;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::error::HttpsError;
use crate::trust::Trust;

/// Bounds a file of trust anchors; the system's own bundle has 0.2 MiB.
const LARGEST: u64 = 4 * 1024 * 1024;
/// How old the system's anchors may be when they are used.
const OLDEST: Duration = Duration::from_secs(600);

/// Holds the system's anchors once they were needed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Roots(Arc<Mutex<Option<System>>>);

/// The system's anchors.
#[derive(Debug)]
struct System {
    store: Arc<RootCertStore>,
    read: Instant,
}

/// What a peer is judged by at one moment: what is in the file that the trust names, and the system's anchors where they count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ground {
    ca: Option<Vec<u8>>,
    system: Option<Arc<RootCertStore>>,
}

impl PartialEq for Ground {
    fn eq(&self, other: &Self) -> bool {
        self.ca == other.ca && self.system.as_ref().map(Arc::as_ptr) == other.system.as_ref().map(Arc::as_ptr)
    }
}

impl Roots {
    /// Reads what a peer is judged by now.
    pub(crate) fn ground(&self, trust: &Trust) -> Result<Ground, HttpsError> {
        let ca = trust.ca.as_deref().map(read_file).transpose()?;
        Ok(Ground { ca, system: (!trust.ca_only).then(|| self.system(Instant::now(), load)) })
    }

    /// Gives the system's anchors. What has grown old is given once more, and read anew in the background: that may take long.
    fn system(&self, now: Instant, load: fn() -> RootCertStore) -> Arc<RootCertStore> {
        let mut system = self.lock();
        match system.as_mut() {
            Some(known) => {
                if now.saturating_duration_since(known.read) >= OLDEST {
                    known.read = now;
                    let roots = self.clone();
                    let read_anew = move || roots.replace(load());
                    match tokio::runtime::Handle::try_current() {
                        Ok(runtime) => drop(runtime.spawn_blocking(read_anew)),
                        Err(_) => drop(std::thread::spawn(read_anew)),
                    }
                }
                Arc::clone(&known.store)
            }
            None => {
                let store = Arc::new(load());
                *system = Some(System { store: Arc::clone(&store), read: now });
                store
            }
        }
    }

    /// Takes over what was read anew, unless nothing has changed, or nothing could be read.
    fn replace(&self, fresh: RootCertStore) {
        if let Some(known) = self.lock().as_mut().filter(|known| !fresh.is_empty() && known.store.roots != fresh.roots)
        {
            known.store = Arc::new(fresh);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<System>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ground {
    /// Gives the anchors.
    pub(crate) fn store(&self, trust: &Trust) -> Result<Arc<RootCertStore>, HttpsError> {
        let system = || self.system.as_deref().cloned().unwrap_or_else(RootCertStore::empty);
        let store = match (&trust.ca, &self.ca, &self.system) {
            (Some(path), Some(pem), _) => Arc::new(with(system(), path, pem)?),
            (_, _, Some(system)) => Arc::clone(system),
            _ => return Err(HttpsError::NoAnchors),
        };
        if store.is_empty() { Err(HttpsError::NoAnchors) } else { Ok(store) }
    }
}

fn load() -> RootCertStore {
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    store
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
impl Ground {
    pub(crate) fn of_file(pem: &[u8]) -> Self {
        Self { ca: Some(pem.to_vec()), system: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anchor(name: &str) -> RootCertStore {
        let now = credmint_vocabulary::Timestamp::from_unix(1_800_000_000);
        let authority = credmint_client_identity::Authority::new(name, Duration::from_secs(3_600), now).unwrap();
        with(RootCertStore::empty(), Path::new("ca.pem"), authority.certificate_pem().as_bytes()).unwrap()
    }

    #[test]
    fn the_systems_anchors_are_read_again_when_they_are_old_ghostunnel_219() {
        let (roots, start) = (Roots::default(), Instant::now());
        let first = roots.system(start, || anchor("old"));
        assert!(Arc::ptr_eq(&first, &roots.system(start + OLDEST / 2, || anchor("never"))));
        // Whoever asks first still gets the old ones, and waits for nobody.
        assert!(Arc::ptr_eq(&first, &roots.system(start + OLDEST, || anchor("new"))));
        let mut fresh = Arc::clone(&first);
        while Arc::ptr_eq(&first, &fresh) {
            std::thread::yield_now();
            fresh = roots.system(start + OLDEST, || anchor("never"));
        }
        // Nothing at all is no news, and neither is the same again.
        roots.replace(RootCertStore::empty());
        roots.replace(RootCertStore::clone(&fresh));
        assert!(Arc::ptr_eq(&fresh, &roots.system(start + OLDEST, || anchor("never"))));
    }

    #[test]
    fn a_file_below_the_home_is_found_there() {
        let found = |path: &str, home: Option<&str>| below_home(Path::new(path), home.map(PathBuf::from));
        assert_eq!(found("~/corp-ca.pem", Some("/home/ada")), Path::new("/home/ada/corp-ca.pem"));
        assert_eq!(found("/etc/~/ca.pem", Some("/home/ada")), Path::new("/etc/~/ca.pem"));
        assert_eq!(found("~/corp-ca.pem", None), Path::new("~/corp-ca.pem"));
    }
}
