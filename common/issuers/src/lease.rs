//! What an issuer lent, so that it can be given back: the token that gives a right to that, and whom to tell.
//! What a grant brought comes in as a lease, nothing goes out but whether it was given back.
//! Is called when an entry is dropped, so that nothing lives longer than what it was got for.

use std::sync::Arc;

use credmint_client_identity::ClientIdentity;
use credmint_https::Https;
use credmint_vocabulary::{Deadline, Secret};

use crate::error::GrantError;
use crate::github_app::Installation;
use crate::vault::Lent;

/// Holds what must be revoked.
#[derive(Debug)]
pub struct Lease {
    lender: Lender,
    token: Secret<String>,
    client: Option<Arc<ClientIdentity>>,
}

/// Says where a lease is from, without anything that gives a right there.
#[derive(Debug)]
pub struct Lender(Place);

/// Where it was lent.
#[derive(Debug)]
pub(crate) enum Place {
    /// At a Vault.
    Vault(Lent),
    /// At GitHub, or a GitHub Enterprise Server.
    Installation(Installation),
}

impl Lender {
    /// Tells whether it ends with a token that is somebody else's to revoke.
    #[must_use]
    pub const fn ends_with_another(&self) -> bool {
        match &self.0 {
            Place::Vault(lent) => !lent.token_is_ours,
            Place::Installation(_) => false,
        }
    }

    /// Makes the lease whole again.
    #[must_use]
    pub fn lease(self, token: Secret<String>, client: Option<ClientIdentity>) -> Lease {
        Lease { lender: self, token, client: client.map(Arc::new) }
    }
}

impl Lease {
    pub(crate) const fn new(place: Place, token: Secret<String>, client: Option<Arc<ClientIdentity>>) -> Self {
        Self { lender: Lender(place), token, client }
    }

    /// Takes it apart: where it is from, the token, and the client identity of a login by certificate.
    #[must_use]
    pub fn parts(self) -> (Lender, Secret<String>, Option<Arc<ClientIdentity>>) {
        (self.lender, self.token, self.client)
    }

    /// Tells whether it ends with a token that is somebody else's to revoke.
    #[must_use]
    pub const fn ends_with_another(&self) -> bool {
        self.lender.ends_with_another()
    }
}

/// Gives back what was lent.
///
/// # Errors
/// [`GrantError`] when the issuer was not reached or refused; then it ends by itself.
pub async fn revoke(lease: Lease, https: &Https, deadline: Deadline) -> Result<(), GrantError> {
    let Lease { lender, token, client } = lease;
    match lender.0 {
        Place::Vault(lent) => lent.revoke(&token, client, (https, deadline)).await,
        Place::Installation(installation) => installation.revoke(&token, (https, deadline)).await,
    }
}
