//! A client that is kept for its connections, and what it was made for.
//! A trust comes in, whether this client may serve it goes out.
//! Holds the client identity only weakly: when the agent drops it, this client goes too.

use std::path::PathBuf;
use std::sync::{Arc, Weak};

use credmint_client_identity::ClientIdentity;

use crate::trust::Trust;

/// Holds a client with the trust that it was made for; of the file of anchors the content, because files change.
pub(crate) struct Kept {
    pub(crate) client: reqwest::Client,
    path: Option<PathBuf>,
    ca: Option<Vec<u8>>,
    ca_only: bool,
    proxy: Option<String>,
    identity: Option<Weak<ClientIdentity>>,
}

impl Kept {
    pub(crate) fn new(trust: &Trust, ca: Option<Vec<u8>>, proxy: Option<&str>, client: reqwest::Client) -> Self {
        Self {
            client,
            path: trust.ca.clone(),
            ca,
            ca_only: trust.ca_only,
            proxy: proxy.map(ToOwned::to_owned),
            identity: trust.client.as_ref().map(Arc::downgrade),
        }
    }

    /// Tells whether it was made for just this.
    pub(crate) fn serves(&self, trust: &Trust, ca: Option<&[u8]>, proxy: Option<&str>) -> bool {
        let same_identity = match (&self.identity, &trust.client) {
            (None, None) => true,
            (Some(kept), Some(asked)) => std::ptr::eq(kept.as_ptr(), Arc::as_ptr(asked)),
            _ => false,
        };
        same_identity
            && self.path == trust.ca
            && self.ca.as_deref() == ca
            && self.ca_only == trust.ca_only
            && self.proxy.as_deref() == proxy
    }

    /// Tells whether the identity that it presents is still somebody's.
    pub(crate) fn is_alive(&self) -> bool {
        self.identity.as_ref().is_none_or(|identity| identity.strong_count() > 0)
    }
}
