//! `kind = "offline"`: people sign, by whatever way the certification request reaches them.
//! Templates come in and a request goes out; later certificates come in and a client identity goes out.
//! Asks nobody. The key waits in the agent's memory from the one to the other.

use credmint_client_identity::Bundle;
use credmint_identities::SubjectToken;
use credmint_settings::Offline;
use credmint_vocabulary::Timestamp;

use crate::error::GrantError;
use crate::grant::{Grant, Granted};
use crate::pending::{Pending, PendingRequests, Waiting};
use crate::prepared::Prepared;

/// Makes a key and a request for it, and keeps both. Whoever asks twice has to look for the first one beforehand.
///
/// # Errors
/// Names that cannot be had from the token, or that no certificate can carry.
pub async fn request(
    settings: &Offline,
    subject: Option<&SubjectToken>,
    kept: (&PendingRequests, [u8; 32]),
    now: Timestamp,
) -> Result<Waiting, GrantError> {
    let prepared = Prepared::new(&settings.wanted, subject).await?;
    let (requests, entry) = kept;
    let waiting = Waiting { request_pem: prepared.request.pem().to_owned(), since: now, is_sent: false };
    requests.keep(entry, Pending::carried(prepared, now));
    Ok(waiting)
}

/// Completes the request with what people signed. A certificate that does not fit leaves the request as it is; `None` when there
/// is no request.
///
/// # Errors
/// Why the certificate must not be used.
pub fn complete(
    certificates: &[u8],
    kept: (&PendingRequests, [u8; 32]),
    now: Timestamp,
) -> Result<Option<Grant>, GrantError> {
    let (requests, entry) = kept;
    let Some(pending) = requests.take(entry, now) else { return Ok(None) };
    match Bundle::read(certificates).and_then(|bundle| pending.prepared.assemble(bundle, now)) {
        Ok((identity, differences)) => {
            let notes = differences.iter().map(ToString::to_string).collect();
            Ok(Some(Grant { credential: Granted::Identity(identity), notes, lease: None }))
        }
        Err(error) => {
            requests.keep(entry, pending);
            Err(error.into())
        }
    }
}
