//! `kind = "spiffe"`, of an identity and of an issuer.
//! A table comes in, an identity with an audience or a workload goes out.
//! Opens no socket. SPIFFE Workload Endpoint §4 (addresses), SPIFFE-ID §2.

use std::net::SocketAddr;

use crate::error::SettingsError;
use crate::identity::Identity;
use crate::issuer::Issuer;
use crate::reader::fields::Fields;
use crate::reader::item::Item;
use crate::reader::shape::{Key, may, must};
use crate::spiffe::{SpiffeIdentity, SpiffeWorkload};

pub(crate) const AUDIENCE: &[Key] = &[must("audience")];
pub(crate) const WORKLOAD: &[Key] = &[may("socket"), may("spiffe_id")];

pub(crate) fn identity(fields: &Fields<'_>) -> Result<Identity, SettingsError> {
    let audience = fields.list("audience", Item::text)?;
    if audience.is_empty() {
        return Err(fields.missing("audience"));
    }
    Ok(Identity::Spiffe(Box::new(SpiffeIdentity { audience, workload: workload(fields)? })))
}

pub(crate) fn issuer(fields: &Fields<'_>) -> Result<Issuer, SettingsError> {
    Ok(Issuer::Spiffe(Box::new(workload(fields)?)))
}

fn workload(fields: &Fields<'_>) -> Result<SpiffeWorkload, SettingsError> {
    Ok(SpiffeWorkload {
        socket: fields.optional("socket", socket)?,
        spiffe_id: fields.optional("spiffe_id", spiffe_id)?,
    })
}

/// Reads where a Workload API listens.
fn socket(item: &Item<'_>) -> Result<String, SettingsError> {
    let text = item.text()?;
    let path = text.strip_prefix("unix://").unwrap_or(&text);
    let loopback = |place: &str| place.parse::<SocketAddr>().is_ok_and(|place| place.ip().is_loopback());
    if path.starts_with('/') || text.strip_prefix("tcp://").is_some_and(loopback) {
        return Ok(text);
    }
    let hint = "an absolute path, `unix:///PATH`, or `tcp://127.0.0.1:PORT`: what is sent there is not encrypted";
    Err(item.is_wrong("is no address of a Workload API on this machine").with_hint(hint))
}

/// Reads a SPIFFE ID; which of its characters are good is judged by whoever knows the standard, when it is used.
fn spiffe_id(item: &Item<'_>) -> Result<String, SettingsError> {
    let text = item.text()?;
    if text.strip_prefix("spiffe://").is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/')) {
        return Ok(text);
    }
    Err(item.is_wrong("is no SPIFFE ID").with_hint("spiffe://TRUST-DOMAIN/PATH"))
}
