//! A client that is kept for its connections, and what it was made for.
//! A trust comes in, whether this client may serve it goes out.
//! Holds the client identity only weakly: when the agent drops it, this client goes too.

use std::path::PathBuf;
use std::sync::{Arc, Weak};

use credmint_client_identity::ClientIdentity;

use crate::roots::Ground;
use crate::tls::Presented;
use crate::trust::Trust;

/// Sends, and knows what was presented.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) http: reqwest::Client,
    pub(crate) presented: Arc<Presented>,
}

/// Holds a client with the trust that it was made for; of the anchors what they were, because files change.
pub(crate) struct Kept {
    pub(crate) client: Client,
    path: Option<PathBuf>,
    ground: Ground,
    ca_only: bool,
    pins: Vec<String>,
    proxy: Option<String>,
    identity: Option<Weak<ClientIdentity>>,
}

impl Kept {
    pub(crate) fn new(trust: &Trust, ground: Ground, proxy: Option<&str>, client: Client) -> Self {
        Self {
            client,
            path: trust.ca.clone(),
            ground,
            ca_only: trust.ca_only,
            pins: trust.pins.clone(),
            proxy: proxy.map(ToOwned::to_owned),
            identity: trust.client.as_ref().map(Arc::downgrade),
        }
    }

    /// Tells whether it was made for just this.
    pub(crate) fn serves(&self, trust: &Trust, ground: &Ground, proxy: Option<&str>) -> bool {
        let same_identity = match (&self.identity, &trust.client) {
            (None, None) => true,
            (Some(kept), Some(asked)) => std::ptr::eq(kept.as_ptr(), Arc::as_ptr(asked)),
            _ => false,
        };
        same_identity
            && self.path == trust.ca
            && self.ground == *ground
            && self.pins == trust.pins
            && self.ca_only == trust.ca_only
            && self.proxy.as_deref() == proxy
    }

    /// Tells whether the identity that it presents is still somebody's.
    pub(crate) fn is_alive(&self) -> bool {
        self.identity.as_ref().is_none_or(|identity| identity.strong_count() > 0)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use credmint_client_identity::{Asked, Authority, KeyAlgorithm, Names, PrivateKey, SigningRequest};
    use credmint_vocabulary::Timestamp;

    use super::*;
    use crate::tls;

    fn identity() -> Arc<ClientIdentity> {
        let (now, hour) = (Timestamp::from_unix(1_800_000_000), Duration::from_secs(3_600));
        let authority = Authority::new("CA", hour, now).unwrap();
        let key = PrivateKey::generate(KeyAlgorithm::EcdsaP256).unwrap();
        let request = SigningRequest::new(&key, &Names::default()).unwrap();
        let pem = authority.sign(&request, hour, now).unwrap();
        Arc::new(ClientIdentity::assemble(key, &pem, &[], &Asked::default(), now).unwrap().0)
    }

    fn client() -> Client {
        let (tls, presented) = tls::configuration(Arc::new(rustls::RootCertStore::empty()), &Trust::default()).unwrap();
        Client { http: reqwest::Client::builder().tls_backend_preconfigured(tls).build().unwrap(), presented }
    }

    #[test]
    fn a_client_goes_with_the_identity_that_it_presents() {
        let mut trust = Trust { client: Some(identity()), ..Trust::default() };
        let none = Ground::default();
        let kept = Kept::new(&trust, none.clone(), None, client());
        assert!(kept.is_alive() && kept.serves(&trust, &none, None));
        assert!(!kept.serves(&Trust::default(), &none, None));
        assert!(!kept.serves(&trust, &none, Some("http://proxy:1")));
        assert!(!kept.serves(&trust, &Ground::of_file(b"another file"), None));
        trust.pins = vec!["sha256//a".to_owned()];
        assert!(!kept.serves(&trust, &none, None));
        trust.client = None;
        assert!(!kept.is_alive());
        assert!(Kept::new(&trust, none, None, client()).is_alive());
    }
}
