//! `kind = "spiffe"`: the X.509-SVID of this machine's SPIFFE agent, whole with the key that it made.
//! A workload of the settings comes in, a client identity goes out.
//! Makes no key and asks for no name: who we are is the SPIFFE agent's to say. SPIFFE X509-SVID.

use credmint_client_identity::{Asked, AssembleError, Bundle, ClientIdentity, Names, PrivateKey};
use credmint_identities::{IdentityError, X509Svid, x509_svid};
use credmint_settings::{SPIFFE_ENDPOINT_SOCKET, SpiffeWorkload};
use credmint_vocabulary::Timestamp;

use crate::error::GrantError;
use crate::grant::{Grant, Granted, World};

/// Fetches what the Workload API has now: it renews by itself, long before the end.
pub(crate) async fn grant(workload: &SpiffeWorkload, world: &World<'_>) -> Result<Grant, GrantError> {
    let found = x509_svid(workload, world.caller, world.deadline).await.map_err(IdentityError::from)?;
    let absent = || {
        let (what, place) = ("the address of the SPIFFE Workload API", SPIFFE_ENDPOINT_SOCKET.to_owned());
        GrantError::SourceAbsent { what, place }
    };
    granted(found.ok_or_else(absent)?, world.now)
}

fn granted(found: X509Svid, now: Timestamp) -> Result<Grant, GrantError> {
    let X509Svid { spiffe_id, certificates, key } = found;
    let asked = Asked { names: Names { uris: vec![spiffe_id], ..Names::default() }, ttl: None };
    let key = PrivateKey::from_pkcs8_der(key)?;
    let (identity, differences) = ClientIdentity::assemble_bundle(key, bundle(&certificates)?, &asked, now)?;
    let notes = differences.iter().map(ToString::to_string).collect();
    Ok(Grant { credential: Granted::Identity(identity), notes, lease: None })
}

fn bundle(certificates: &[Vec<u8>]) -> Result<Bundle, AssembleError> {
    certificates.iter().try_fold(Bundle::default(), |all, der| Ok(all.with(Bundle::read(der)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use credmint_client_identity::Authority;
    use credmint_vocabulary::Secret;
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;
    use std::time::Duration;

    #[test]
    fn an_x509_svid_that_is_none_is_refused() {
        let now = Timestamp::from_unix(1_800_000_000);
        let authority = Authority::new("corp.example", Duration::from_secs(3_600), now).unwrap();
        let certificate = CertificateDer::from_pem_slice(authority.certificate_pem().as_bytes()).unwrap().to_vec();
        let key = || Secret::new(rcgen::KeyPair::generate().unwrap().serialize_der());
        let told = |certificates: Vec<Vec<u8>>, key| {
            let spiffe_id = "spiffe://corp.example/runner".to_owned();
            granted(X509Svid { spiffe_id, certificates, key }, now).map(drop).unwrap_err().to_string()
        };
        for (certificates, words) in [
            (vec![certificate], "for another key"),
            (Vec::new(), "has no certificate"),
            (vec![b"0\x03abc".to_vec()], "cannot be read"),
        ] {
            let told = told(certificates, key());
            assert!(told.contains(words), "{told}");
        }
        assert!(!told(Vec::new(), Secret::new(b"no key".to_vec())).contains("no key"));
    }
}
