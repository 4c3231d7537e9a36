//! Trust anchors: the system's, read late and again after a while, and those of a PEM file, read each time they are needed.
//! A path comes in, a store of anchors goes out.
//! Reads the files that `rustls-native-certs` knows, and the one it is given. Loading all costs 5 ms and 147 files.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use credmint_local_machine::files::read_bounded;
use credmint_local_machine::{below_home, environment};
use credmint_vocabulary::printable;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::error::HttpsError;
use crate::trust::Trust;

/// Bounds a file of trust anchors; the system's own bundle has 0.2 MiB.
const LARGEST: usize = 4 * 1024 * 1024;
/// What `rustls-native-certs` reads in place of the system's anchors.
const SSL_CERT_FILE: &str = "SSL_CERT_FILE";
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
    if !environment::read(SSL_CERT_FILE).is_some_and(|named| may_have_no_end(Path::new(&named))) {
        store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    store
}

/// Tells what the library would read until it ends: a pipe or a device. What is not there, it finds out itself.
fn may_have_no_end(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Reads a file of anchors. A pipe or a device is refused: to wait for its end would stop everybody.
fn read_file(path: &Path) -> Result<Vec<u8>, HttpsError> {
    let found = below_home(path).map_err(|error| unusable(path, &error.to_string()))?;
    match read_bounded(&found, LARGEST) {
        Ok(Some(content)) => Ok(content),
        Ok(None) => Err(unusable(path, "it is not there")),
        Err(error) => Err(unusable(path, &format!("it {error}"))),
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

    #[cfg(unix)]
    #[test]
    fn a_pipe_or_a_device_is_refused_at_once_where_anchors_are_named() {
        let pipe = std::env::temp_dir().join(format!("credmint-https-{}-pipe.pem", std::process::id()));
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let told = [pipe.as_path(), Path::new("/dev/zero")].map(|path| {
            let trust = Trust { ca: Some(path.to_owned()), ca_only: true, ..Trust::default() };
            (Roots::default().ground(&trust).unwrap_err().to_string(), may_have_no_end(path))
        });
        std::fs::remove_file(&pipe).unwrap();
        for (why, endless) in told {
            assert!(endless && why.ends_with("cannot be used: it is no regular file"), "{why}");
        }
        assert!(!may_have_no_end(Path::new("/nonexistent")) && !may_have_no_end(&std::env::temp_dir()));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test writes the file that is too long")]
    fn a_file_of_anchors_has_a_limit() {
        let large = std::env::temp_dir().join(format!("credmint-https-{}-large.pem", std::process::id()));
        std::fs::write(&large, vec![b'\n'; LARGEST + 1]).unwrap();
        let why = read_file(&large).unwrap_err().to_string();
        std::fs::remove_file(&large).unwrap();
        assert!(why.ends_with("it is longer than 4194304 bytes"), "{why}");
    }
}
