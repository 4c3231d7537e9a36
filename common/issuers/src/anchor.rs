//! The trust anchor that a host needs to accept what `local-ca` signs.
//! An issuer comes in, its certificate goes out.
//! Makes the authority if there is none yet.

use credmint_settings::Issuer;
use credmint_vocabulary::Timestamp;

use crate::local_ca::Authorities;

/// Gives the PEM of a `local-ca` issuer's own certificate; `None` for every other kind.
#[must_use]
pub fn anchor(issuer_name: &str, issuer: &Issuer, authorities: &Authorities, now: Timestamp) -> Option<String> {
    match issuer {
        Issuer::LocalCa(_) => authorities.with(issuer_name, now, |own| Ok(own.certificate_pem().to_owned())).ok(),
        _ => None,
    }
}
