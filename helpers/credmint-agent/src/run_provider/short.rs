//! A shorter life for one run: the issuers of a provider are asked for at most what the run wants.
//! Settings, a provider's name and a length of time come in, settings that ask for no more go out.
//! Pure. Other issuers are other entries: no entry of such a run is anybody else's who wants more.

use std::time::Duration;

use credmint_settings::{Settings, TooShort, WhenAbsent};
use credmint_vocabulary::{Failure, FailureKind};

/// Makes the settings of a run that wants a shorter life, and tells whether any issuer lets it choose.
pub(super) fn settings(settings: &Settings, name: &str, life: Duration) -> Result<(Settings, bool), Failure> {
    let mut own = settings.clone();
    let Some(provider) = settings.providers.get(name) else { return Ok((own, false)) };
    let policy = &provider.host.policy;
    let fallback = match &policy.when_absent {
        WhenAbsent::Fallback { issuer, .. } => Some(issuer),
        _ => None,
    };
    let others = provider.host.token_issuer.iter().chain(&policy.plan_issuer).chain(fallback);
    let mut chooses = false;
    for issuer in std::iter::once(&provider.host.issuer).chain(others) {
        let Some(found) = own.issuers.get_mut(issuer) else { continue };
        if let Some(short) = found.for_at_most(life).map_err(|error| too_short(name, issuer, error))? {
            (*found, chooses) = (short, true);
        }
    }
    Ok((own, chooses))
}

fn too_short(name: &str, issuer: &str, TooShort(least): TooShort) -> Failure {
    let minutes = least.as_secs() / 60;
    let what = format!("issuer `{issuer}` of provider/{name} grants nothing that lives for less than {minutes}m");
    Failure::new(FailureKind::Usage, what).hint(format!("credmint exec --ttl {minutes}m --provider {name} -- CMD"))
}

/// What a person is told where no issuer lets anybody choose.
pub(super) fn remark(name: &str) -> String {
    format!("the issuer of provider/{name} alone decides how long a credential lives: --ttl makes it no shorter")
}
