//! The certification path: from our certificate up to, but without, the trust anchor.
//! Certificates in any order come in, the path in order goes out, each link proved by its signature.
//! Touches nothing. RFC 5280 §6.1; RFC 8446 §4.4.2 lets the anchor be left out.

use x509_parser::prelude::X509Certificate;

use crate::certificate::{is_self_issued, issued_by, validity};

/// Bounds the length of a path.
const LONGEST: usize = 10;

/// Holds a path as positions in the pool: what is presented above the end entity, and the anchor if it was there.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) above: Vec<usize>,
    pub(crate) anchor: Option<usize>,
}

/// Says that certificates bear the issuer's name and none of them signed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadLink;

/// Orders the pool above `leaf`; what does not belong is left out.
pub(crate) fn above(leaf: &X509Certificate<'_>, pool: &[X509Certificate<'_>]) -> Result<Path, BadLink> {
    let mut path = Path::default();
    let mut top = leaf;
    while !is_self_issued(top) && path.above.len() < LONGEST {
        let Some((at, issuer)) = issuer_of(top, pool, &path.above)? else { break };
        if is_self_issued(issuer) {
            path.anchor = Some(at);
            break;
        }
        path.above.push(at);
        top = issuer;
    }
    Ok(path)
}

/// Finds who issued `certificate`; of several (cross-signed or renewed), an anchor first, then the one that lives longest.
fn issuer_of<'p, 'd>(
    certificate: &X509Certificate<'_>,
    pool: &'p [X509Certificate<'d>],
    used: &[usize],
) -> Result<Option<(usize, &'p X509Certificate<'d>)>, BadLink> {
    let named = |candidate: &X509Certificate<'_>| candidate.subject().as_raw() == certificate.issuer().as_raw();
    let by_name: Vec<_> = pool.iter().enumerate().filter(|(at, c)| !used.contains(at) && named(c)).collect();
    let anyone = !by_name.is_empty();
    let signed = by_name.into_iter().filter(|(_, candidate)| issued_by(certificate, candidate));
    match signed.max_by_key(|(_, candidate)| (is_self_issued(candidate), validity(candidate).1)) {
        None if anyone => Err(BadLink),
        found => Ok(found),
    }
}
