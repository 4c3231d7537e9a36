//! `kind = "offline"`: people sign, by whatever way the certification request reaches them.
//! Templates come in and a request goes out; later certificates come in and a client identity goes out.
//! Asks nobody. The key waits in the agent's memory from the one to the other.

use credmint_client_identity::{Asked, AssembleError, Bundle, ClientIdentity, Difference};
use credmint_identities::SubjectToken;
use credmint_settings::Offline;
use credmint_vocabulary::Timestamp;

use crate::error::GrantError;
use crate::grant::{Grant, Granted};
use crate::pending::{Pending, PendingRequests, Waiting};
use crate::prepared::Prepared;

/// Makes a key and a request for it, and keeps both; one that waits already is given again, unless a `new` one is wanted.
///
/// # Errors
/// Names that cannot be had from the token, or that no certificate can carry.
pub async fn request(
    settings: &Offline,
    subject: Option<&SubjectToken>,
    (requests, entry): (&PendingRequests, [u8; 32]),
    new: bool,
    now: Timestamp,
) -> Result<Waiting, GrantError> {
    let prepared = Prepared::new(&settings.wanted, subject).await?;
    // While this key was made, somebody else may have had one made: theirs may be on its way to the signers.
    if let Some(waiting) = requests.waiting(entry).filter(|_| !new) {
        return Ok(waiting);
    }
    let waiting = Waiting { request_pem: prepared.request.pem().to_owned(), since: now, is_sent: false };
    requests.keep(entry, Pending::carried(prepared, now));
    Ok(waiting)
}

/// Completes the request with what people signed, or gives the `present` certificate another life or a longer path: both are for
/// keys that are here. What does not fit leaves the request as it is; `None` when there is neither.
///
/// # Errors
/// Why the certificate must not be used.
pub fn complete(
    certificates: &[u8],
    (requests, entry): (&PendingRequests, [u8; 32]),
    present: Option<&ClientIdentity>,
    now: Timestamp,
) -> Result<Option<Grant>, GrantError> {
    let bundle = Bundle::read(certificates)?;
    let for_present = |bundle| {
        let present = present?;
        let asked = Asked { names: present.names(), ttl: None };
        Some(ClientIdentity::assemble_bundle(present.key_copied(), bundle, &asked, now))
    };
    let Some(pending) = requests.take(entry, now) else {
        return for_present(bundle).map(|assembled| Ok(granted(assembled?))).transpose();
    };
    match pending.prepared.assemble(bundle.clone(), now) {
        Ok(assembled) => Ok(Some(granted(assembled))),
        Err(error) => {
            requests.keep(entry, pending);
            let other = (error == AssembleError::KeyMismatch).then(|| for_present(bundle)).flatten();
            other.and_then(Result::ok).map(|assembled| Some(granted(assembled))).ok_or(error.into())
        }
    }
}

fn granted((identity, differences): (ClientIdentity, Vec<Difference>)) -> Grant {
    let notes = differences.iter().map(ToString::to_string).collect();
    Grant { credential: Granted::Identity(identity), notes, lease: None }
}
