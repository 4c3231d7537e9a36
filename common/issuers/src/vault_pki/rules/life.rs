//! `ttl`, `max_ttl` and the end of the authority: how long a certificate may live.
//! Role, authority, the life that is asked for and the time come in, findings go out.
//! Touches nothing. canonical/vault-k8s-operator#500.

use std::time::Duration;

use credmint_vocabulary::Timestamp;

use super::{Authority, Effect, Finding, words};
use crate::vault_pki::role::Role;

/// From when on the end of an authority is told.
const SOON: Duration = Duration::from_secs(30 * 86_400);

pub(super) fn judge(
    name: &str,
    role: Option<&Role>,
    authority: Option<&Authority>,
    ttl: Option<Duration>,
    now: Timestamp,
) -> Vec<Finding> {
    let fixed = role.filter(|role| !role.not_after.is_empty()).map(|role| {
        let what = format!("not_after = {} of role {name} fixes the end, whatever ttl is", role.not_after);
        Finding::new(Effect::Changes, what, "")
    });
    let shortened = role.and_then(|role| over_the_role(name, role, ttl));
    let longest = |role: &Role| Some(role.max_ttl).filter(|max| !max.is_zero());
    let asked = ttl.or_else(|| role.map(|role| role.ttl).filter(|ttl| !ttl.is_zero()));
    let effective = match (asked, role.and_then(longest)) {
        (Some(asked), Some(longest)) => Some(asked.min(longest)),
        (asked, longest) => asked.or(longest),
    };
    let at_the_end = authority.map(|authority| beyond(authority, effective, now)).unwrap_or_default();
    fixed.into_iter().chain(shortened).chain(at_the_end).collect()
}

fn over_the_role(name: &str, role: &Role, ttl: Option<Duration>) -> Option<Finding> {
    let asked = ttl.filter(|asked| !role.max_ttl.is_zero() && *asked > role.max_ttl)?;
    let max = words(role.max_ttl);
    let what = format!("max_ttl = {max} of role {name} shortens the {} that are asked for", words(asked));
    Some(Finding::new(Effect::Changes, what, format!("set ttl = \"{max}\", or ask the administrator for more max_ttl")))
}

/// Tells what happens at the authority's own end.
fn beyond(authority: &Authority, life: Option<Duration>, now: Timestamp) -> Vec<Finding> {
    let left = authority.not_after.remaining(now);
    let end = format!("{} ends at {}", authority.subject, authority.not_after);
    if left.is_zero() {
        let hint = "the administrator has to renew or replace the issuing CA";
        return vec![Finding::new(Effect::Refuses, format!("the issuing CA {end}: it is over"), hint)];
    }
    let soon = (left < SOON).then(|| {
        let what = format!("the issuing CA {end}, in {}: nothing is granted beyond that", words(left));
        Finding::new(Effect::Warns, what, "tell its administrator ahead of time")
    });
    let over = life.filter(|life| *life > left).map(|life| {
        let what = format!("the issuing CA {end}, before the {} that are asked for", words(life));
        let hint = "set a shorter ttl, or ask the administrator to renew the issuing CA";
        match authority.beyond.as_deref() {
            Some("truncate") => {
                Finding::new(Effect::Changes, format!("{what} (leaf_not_after_behavior = truncate)"), hint)
            }
            Some("permit") => Finding::new(
                Effect::Changes,
                format!("{what} (leaf_not_after_behavior = permit): the certificate is of no use after that"),
                hint,
            ),
            Some(_) => Finding::new(Effect::Refuses, format!("{what} (leaf_not_after_behavior = err)"), hint),
            None => {
                Finding::new(Effect::Unknown, format!("{what}: that is refused, unless its issuer truncates"), hint)
            }
        }
    });
    soon.into_iter().chain(over).collect()
}
