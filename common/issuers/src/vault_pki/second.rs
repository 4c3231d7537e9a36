//! After the engine refused a certification request: what its rules say, and one second try where they name what would do.
//! The refusal comes in, a certificate, or a refusal that names the rule, goes out.
//! Tries again once, with another key only where the settings leave it open. hashicorp/vault#4595, canonical/vault-k8s-operator#500.

use std::time::Duration;

use credmint_client_identity::KeyAlgorithm;
use credmint_settings::VaultPki;
use credmint_vocabulary::{Secret, Timestamp};

use super::reading::Rules;
use super::role::Role;
use super::rules::{Effect, Finding, fit, kind, named};
use super::{Prepared, Signed, assemble, prepare, sign};
use crate::error::GrantError;
use crate::vault::{Line, VaultRefusal};

/// Tells a refusal that is about the request, and not about the login.
pub(super) const fn is_about_the_request(error: &GrantError) -> bool {
    matches!(error, GrantError::Refused { status: 400, .. })
}

/// Reads the rules, and tries once more or explains.
pub(super) async fn second_try(
    settings: &VaultPki,
    first: Prepared,
    refusal: GrantError,
    line: &Line<'_>,
    token: &Secret<String>,
) -> Result<Signed, GrantError> {
    let rules = Rules::read(settings, line, token).await;
    let findings = rules.judge(first.wanted(), line.now());
    let Some(amended) = amend(settings, &first, &refusal, &rules, line.now()) else {
        return Err(explained(refusal, &findings));
    };
    let second = match amended.key {
        Some(key) => Prepared { ttl: first.ttl, ..prepare(first.asked, key).await? },
        None => Prepared { ttl: amended.ttl, ..first },
    };
    let again = sign(settings, &second, line, token).await;
    let reply = again.map_err(|refusal| {
        let about = is_about_the_request(&refusal);
        let findings = if about { rules.judge(second.wanted(), line.now()) } else { Vec::new() };
        explained(refusal, &findings)
    })?;
    let mut signed = assemble(second, &reply, line)?;
    signed.notes.insert(0, amended.note);
    Ok(signed)
}

/// Holds what is asked for in the second try.
#[derive(Debug, PartialEq, Eq)]
struct Amended {
    key: Option<KeyAlgorithm>,
    ttl: Option<Duration>,
    note: String,
}

fn amend(
    settings: &VaultPki,
    first: &Prepared,
    refusal: &GrantError,
    rules: &Rules,
    now: Timestamp,
) -> Option<Amended> {
    let GrantError::Refused { class, reason, .. } = refusal else { return None };
    match class {
        VaultRefusal::Key if settings.key.is_none() => {
            other_key(first.algorithm, reason, rules.role.as_ref().ok(), &settings.role)
        }
        VaultRefusal::Life => {
            let end = rules.authority.as_ref().map(|authority| authority.not_after).or_else(|| end_in(reason))?;
            shorter_life(end, now)
        }
        _ => None,
    }
}

/// Finds the key by the role, or by what the refusal names.
fn other_key(first: KeyAlgorithm, reason: &str, role: Option<&Role>, role_name: &str) -> Option<Amended> {
    let by_role = role.and_then(|role| fit(role, first));
    let key = by_role.or_else(|| key_in(reason, first)).filter(|key| *key != first)?;
    let word = key.word();
    let note =
        format!("role {role_name} takes no {} key: asked again with {word}; key = \"{word}\" saves that", first.word());
    Some(Amended { key: Some(key), ttl: None, note })
}

/// Reads `role requires keys of type rsa`, or `role requires a minimum of a 3072-bit key, but …`.
fn key_in(reason: &str, first: KeyAlgorithm) -> Option<KeyAlgorithm> {
    if let Some((_, rest)) = reason.split_once("keys of type ") {
        return named(rest.split(|c: char| !c.is_ascii_alphanumeric()).next()?, 0);
    }
    let (before, _) = reason.split_once("-bit key")?;
    named(kind(first).0, before.rsplit(' ').next()?.parse().ok()?)
}

/// Reads `… beyond the expiration of the CA certificate at 2026-12-01T05:37:10Z`.
fn end_in(reason: &str) -> Option<Timestamp> {
    let (_, rest) = reason.split_once("CA certificate at ")?;
    Timestamp::from_rfc3339(rest.split([' ', ';', ')']).next()?).ok()
}

/// Asks for what is left of the authority's life.
fn shorter_life(end: Timestamp, now: Timestamp) -> Option<Amended> {
    let ttl = end.remaining(now).checked_sub(MARGIN).filter(|left| *left >= MARGIN)?;
    let note = format!("the issuing CA ends at {end}: asked again for what is left; tell its administrator");
    Some(Amended { key: None, ttl: Some(ttl), note })
}

/// Names the rules that the request met; without any the refusal speaks for itself.
fn explained(refusal: GrantError, findings: &[Finding]) -> GrantError {
    let of = |effect: Effect| findings.iter().filter(move |finding| finding.effect == effect).cloned();
    let mut against: Vec<Finding> = of(Effect::Refuses).collect();
    if against.is_empty() {
        against = of(Effect::Unknown).collect();
    }
    against.truncate(3);
    if against.is_empty() { refusal } else { GrantError::ByRule { refused: Box::new(refusal), findings: against } }
}

/// Clocks differ, and requests take time.
const MARGIN: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_read_from_the_refusal_vault_4595() {
        use KeyAlgorithm::{EcdsaP256, EcdsaP384, Ed25519, Rsa2048, Rsa3072};
        for (reason, first, key) in [
            ("role requires keys of type rsa", EcdsaP256, Some(Rsa2048)),
            ("1 error: role requires keys of type ec; more", Rsa2048, Some(EcdsaP256)),
            ("role requires keys of type ed25519", EcdsaP256, Some(Ed25519)),
            ("role requires a minimum of a 384-bit key, but CSR's key is 256 bits", EcdsaP256, Some(EcdsaP384)),
            ("role requires a minimum of a 3072-bit key, but CSR's key is 2048 bits", Rsa2048, Some(Rsa3072)),
            ("role requires a minimum of a 9999-bit key, but CSR's key is 2048 bits", Rsa2048, None),
            ("role requires keys of type dsa", EcdsaP256, None),
            ("something of a later version", EcdsaP256, None),
        ] {
            assert_eq!(key_in(reason, first), key, "{reason}");
        }
    }

    #[test]
    fn what_is_left_of_the_authority_is_asked_for_vault_k8s_operator_500() {
        let reason = "cannot satisfy request, as TTL would result in notAfter of 2027-01-01T19:37:10.8Z that is beyond the \
                      expiration of the CA certificate at 2026-12-01T05:37:10Z";
        let end = end_in(reason).unwrap();
        assert_eq!(end.to_string(), "2026-12-01T05:37:10Z");
        let ttl = |left: u64| shorter_life(end, end.minus(Duration::from_secs(left))).and_then(|amended| amended.ttl);
        assert_eq!((ttl(3600), ttl(119), ttl(0)), (Some(Duration::from_secs(3540)), None, None));
    }
}
