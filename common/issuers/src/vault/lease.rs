//! Gives back what a Vault lent: the client token of a login, and the lease of a secret.
//! A lease comes in, nothing goes out but whether it worked.
//! Is called when an entry is dropped, so that a token lives no longer than what it was got for.

use std::sync::Arc;
use std::time::{Duration, Instant};

use credmint_client_identity::ClientIdentity;
use credmint_https::Https;
use credmint_vocabulary::{Deadline, Secret, Timestamp};
use serde_json::json;
use zeroize::Zeroizing;

use crate::error::GrantError;
use crate::grant::World;
use crate::vault::answer::Reply;
use crate::vault::login::Session;
use crate::vault::server::Server;
use crate::vault::transport::{Call, Line};
use crate::wiped::to_json;

/// Holds what must be revoked.
#[derive(Debug)]
pub struct Lease {
    server: Server,
    token: Secret<String>,
    token_is_ours: bool,
    lease_id: Option<String>,
}

/// Says where a lease is from, without anything that gives a right there.
#[derive(Debug)]
pub struct Lender {
    server: Server,
    token_is_ours: bool,
    lease_id: Option<String>,
}

impl Lender {
    /// Tells whether it ends with a token that is somebody else's to revoke.
    #[must_use]
    pub const fn ends_with_another(&self) -> bool {
        !self.token_is_ours
    }

    /// Makes the lease whole again.
    #[must_use]
    pub fn lease(mut self, token: Secret<String>, client: Option<ClientIdentity>) -> Lease {
        self.server.trust.client = client.map(Arc::new);
        Lease::new(self.server, token, self.token_is_ours, self.lease_id)
    }
}

impl Lease {
    /// Takes it apart: where it is from, the token, and the client identity of a login by certificate.
    #[must_use]
    pub fn parts(mut self) -> (Lender, Secret<String>, Option<Arc<ClientIdentity>>) {
        let client = self.server.trust.client.take();
        (Lender { server: self.server, token_is_ours: self.token_is_ours, lease_id: self.lease_id }, self.token, client)
    }

    pub(crate) fn new(server: Server, token: Secret<String>, token_is_ours: bool, lease_id: Option<String>) -> Self {
        Self { server, token, token_is_ours, lease_id }
    }

    /// Tells whether it ends with a token that is somebody else's to revoke.
    #[must_use]
    pub const fn ends_with_another(&self) -> bool {
        !self.token_is_ours
    }
}

/// Revokes the lease of the secret, then the client token. Revoking our token revokes its leases too, but a token that the
/// user gave stays.
///
/// # Errors
/// [`GrantError`] when the server was not reached or refused; then the token ends by itself.
pub async fn revoke(lease: Lease, https: &Https, deadline: Deadline) -> Result<(), GrantError> {
    let line = Line::new(&lease.server, https, Timestamp::from_unix(0), deadline);
    if lease.token_is_ours {
        return send(&line, "auth/token/revoke-self", Zeroizing::new(b"{}".to_vec()), &lease.token).await;
    }
    match &lease.lease_id {
        Some(id) => send(&line, "sys/leases/revoke", to_json(&json!({"lease_id": id})), &lease.token).await,
        None => Ok(()),
    }
}

/// Gives a client token back that turned out to be of no use, as far as there is time, and hands the reason through.
pub(crate) async fn give_back(error: GrantError, server: &Server, session: &Session, world: &World<'_>) -> GrantError {
    let reachable = !matches!(error, GrantError::Unreachable(_));
    if let Some(lease) = session.lease(server, "").filter(|_| reachable) {
        let soon = world.deadline.at_most(Instant::now(), Duration::from_secs(1));
        let _ = revoke(lease, world.https, soon).await;
    }
    error
}

async fn send(line: &Line<'_>, path: &str, body: Zeroizing<Vec<u8>>, token: &Secret<String>) -> Result<(), GrantError> {
    let answer = line.send(Call::post(path.to_owned(), body), Some(token)).await?;
    Reply::judge(&line.server.who, path, answer, line.now()).map(|_| ())
}
