//! What has to be revoked when an entry is dropped, so that it can be sealed: its token, and the client identity of its login.
//! A lease comes in and is taken out once; while it is sealed there is none to take.
//! Revokes nothing itself.

use std::cell::RefCell;

use credmint_agent_protocol::WireSecret;
use credmint_issuers::{Lease, Lender};
use serde::{Deserialize, Serialize};

use super::packing::PackedIdentity;
use super::sealing::{Sealed, SealingKey};

/// Holds the lease of an entry, if there is one.
pub(crate) struct Lent(RefCell<Slot>);

enum Slot {
    Nothing,
    Open(Lease),
    Sealed(Lender, Sealed),
}

#[derive(Serialize, Deserialize)]
struct PackedLease {
    token: WireSecret,
    client: Option<PackedIdentity>,
}

impl Lent {
    /// Takes the lease out. One that is sealed stays, and ends by itself if nobody opens it.
    pub(crate) fn take(&self) -> Option<Lease> {
        match self.0.replace(Slot::Nothing) {
            Slot::Open(lease) => Some(lease),
            other => {
                self.0.replace(other);
                None
            }
        }
    }

    /// Tells whether there is one that can be taken now.
    pub(crate) fn is_open(&self) -> bool {
        matches!(&*self.0.borrow(), Slot::Open(_))
    }

    /// Tells whether there is one that cannot be taken now.
    pub(crate) fn is_sealed(&self) -> bool {
        matches!(&*self.0.borrow(), Slot::Sealed(..))
    }

    /// Leaves to the end of a session's token what ends with that.
    pub(crate) fn end_with_the_session(&self) {
        let ends_with_it = match &*self.0.borrow() {
            Slot::Nothing => false,
            Slot::Open(lease) => lease.ends_with_another(),
            Slot::Sealed(lender, _) => lender.ends_with_another(),
        };
        if ends_with_it {
            self.0.replace(Slot::Nothing);
        }
    }

    /// Seals it.
    pub(crate) fn seal(&self, key: &SealingKey) {
        let Some(lease) = self.take() else { return };
        let (lender, token, client) = lease.parts();
        let client = client.map(|client| PackedIdentity::of(&client));
        let sealed = key.seal(&PackedLease { token: token.into(), client });
        self.0.replace(sealed.map_or(Slot::Nothing, |sealed| Slot::Sealed(lender, sealed)));
    }

    /// Brings it back.
    pub(crate) fn unseal(&self, key: &SealingKey) {
        let slot = match self.0.replace(Slot::Nothing) {
            Slot::Sealed(lender, sealed) => key.open(&sealed).map_or(Slot::Nothing, |packed: PackedLease| {
                let client = packed.client.and_then(PackedIdentity::identity);
                Slot::Open(lender.lease(packed.token.into_secret(), client))
            }),
            other => other,
        };
        self.0.replace(slot);
    }
}

impl From<Option<Lease>> for Lent {
    fn from(lease: Option<Lease>) -> Self {
        Self(RefCell::new(lease.map_or(Slot::Nothing, Slot::Open)))
    }
}
