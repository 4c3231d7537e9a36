//! `kind = "spiffe"`: the X.509-SVID of this machine's SPIFFE agent, whole with the key that it made.
//! A workload of the settings comes in, a client identity goes out.
//! Makes no key and asks for no name: who we are is the SPIFFE agent's to say. SPIFFE X509-SVID.

use credmint_client_identity::{Asked, AssembleError, Bundle, ClientIdentity, Names, PrivateKey};
use credmint_identities::{IdentityError, X509Svid, x509_svid};
use credmint_settings::{SPIFFE_ENDPOINT_SOCKET, SpiffeWorkload};

use crate::error::GrantError;
use crate::grant::{Grant, Granted, World};

/// Fetches what the Workload API has now: it renews by itself, long before the end.
pub(crate) async fn grant(workload: &SpiffeWorkload, world: &World<'_>) -> Result<Grant, GrantError> {
    let found = x509_svid(workload, world.caller, world.deadline).await.map_err(IdentityError::from)?;
    let absent = || {
        let (what, place) = ("the address of the SPIFFE Workload API", SPIFFE_ENDPOINT_SOCKET.to_owned());
        GrantError::SourceAbsent { what, place }
    };
    let X509Svid { spiffe_id, certificates, key } = found.ok_or_else(absent)?;
    let asked = Asked { names: Names { uris: vec![spiffe_id], ..Names::default() }, ttl: None };
    let key = PrivateKey::from_pkcs8_der(key)?;
    let (identity, differences) = ClientIdentity::assemble_bundle(key, bundle(&certificates)?, &asked, world.now)?;
    let notes = differences.iter().map(ToString::to_string).collect();
    Ok(Grant { credential: Granted::Identity(identity), notes, lease: None })
}

fn bundle(certificates: &[Vec<u8>]) -> Result<Bundle, AssembleError> {
    certificates.iter().try_fold(Bundle::default(), |all, der| Ok(all.with(Bundle::read(der)?)))
}
