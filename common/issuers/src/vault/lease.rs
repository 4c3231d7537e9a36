//! Gives back what a Vault lent: the client token of a login, and the lease of a secret.
//! What was lent and the client token come in, nothing goes out but whether it worked.
//! Tells nobody but the Vault that lent it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use credmint_client_identity::ClientIdentity;
use credmint_https::Https;
use credmint_vocabulary::{Deadline, Secret, Timestamp};
use serde_json::json;
use zeroize::Zeroizing;

use crate::error::GrantError;
use crate::grant::World;
use crate::lease::{Lease, Place, revoke};
use crate::vault::answer::Reply;
use crate::vault::login::Session;
use crate::vault::server::Server;
use crate::vault::transport::{Call, Line};
use crate::wiped::to_json;

/// Says what a Vault lent.
#[derive(Debug)]
pub(crate) struct Lent {
    server: Server,
    /// Whether the client token is ours to revoke.
    pub(crate) token_is_ours: bool,
    lease_id: Option<String>,
}

impl Lent {
    /// Makes the lease of it.
    pub(crate) fn lease(mut server: Server, token: Secret<String>, is_ours: bool, lease_id: Option<String>) -> Lease {
        let client = server.trust.client.take();
        Lease::new(Place::Vault(Self { server, token_is_ours: is_ours, lease_id }), token, client)
    }

    /// Revokes the client token, if it is ours: all its leases go with it. Otherwise the lease of the secret: a token that the user
    /// gave stays.
    pub(crate) async fn revoke(
        mut self,
        token: &Secret<String>,
        client: Option<Arc<ClientIdentity>>,
        (https, deadline): (&Https, Deadline),
    ) -> Result<(), GrantError> {
        self.server.trust.client = client;
        let line = Line::new(&self.server, https, Timestamp::from_unix(0), deadline);
        if self.token_is_ours {
            return send(&line, "auth/token/revoke-self", Zeroizing::new(b"{}".to_vec()), token).await;
        }
        match &self.lease_id {
            Some(id) => send(&line, "sys/leases/revoke", to_json(&json!({"lease_id": id})), token).await,
            None => Ok(()),
        }
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
