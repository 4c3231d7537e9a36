//! A provider whose program makes the exchange itself: it gets the identity's own token in place of what the issuer grants.
//! Settings and a provider's name come in, settings in which that provider passes the token on go out.
//! Touches nothing. `protocol-spec/bridge-protocol.md` §11.

use credmint_settings::{Channel, Issuer, OidcToken, Settings, WhenAbsent};
use credmint_vocabulary::Phase;

/// Makes the settings of an assertion; `None` where the program gets what the issuer grants.
pub(super) fn settings(settings: &Settings, name: &str, channel: Channel, phase: Option<Phase>) -> Option<Settings> {
    let host = &settings.providers.get(name)?.host;
    let used = host.policy.plan_issuer.as_ref().filter(|_| phase != Some(Phase::Apply)).unwrap_or(&host.issuer);
    let issuer = settings.issuers.get(used)?;
    if !channel.takes_assertion(issuer) {
        return None;
    }
    let own = format!("{used}{SUFFIX}");
    let mut all = settings.clone();
    all.issuers.insert(own.clone(), Issuer::Oidc(OidcToken { audience: audience(issuer) }));
    let host = &mut all.providers.get_mut(name)?.host;
    (host.issuer, host.policy.plan_issuer) = (own, None);
    if let WhenAbsent::Fallback { issuer, .. } = &mut host.policy.when_absent {
        let own = format!("{issuer}{SUFFIX}");
        let audience = settings.issuers.get(issuer).and_then(audience);
        all.issuers.insert(own.clone(), Issuer::Oidc(OidcToken { audience }));
        *issuer = own;
    }
    Some(all)
}

/// Gives what the token's `aud` must contain before anybody gets it.
fn audience(issuer: &Issuer) -> Option<String> {
    match issuer {
        Issuer::Azure(azure) => azure.token_audience.clone(),
        Issuer::GoogleSts(google) => google.token_audience.clone(),
        _ => None,
    }
}

/// Follows the name of the issuer that the token is for.
pub(super) const SUFFIX: &str = " (the token that is sent to it)";
