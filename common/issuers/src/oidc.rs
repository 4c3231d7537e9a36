//! `kind = "oidc"`: the identity's token itself, passed on as the bearer token.
//! The subject token comes in, the same goes out if it is for the wanted audience and not expired.
//! Verifies no signature: the host that receives the token does that.

use credmint_identities::SubjectToken;
use credmint_settings::OidcToken;

use crate::error::GrantError;
use crate::grant::{BearerToken, Grant, Granted, World, needed};

/// Passes the token on.
pub(crate) fn grant(
    settings: &OidcToken,
    subject: Option<&SubjectToken>,
    world: &World<'_>,
) -> Result<Grant, GrantError> {
    let subject = needed(subject)?;
    let expires = subject.expires;
    if let Some(ended) = expires.filter(|ended| *ended <= world.now) {
        return Err(GrantError::Expired { ended, seconds: world.now.remaining(ended).as_secs() });
    }
    check_audience(subject, settings.audience.as_deref())?;
    let token = subject.token.copied();
    Ok(Grant { credential: Granted::Token(BearerToken { token, expires }), notes: Vec::new(), lease: None })
}

/// Refuses a token that is for somebody else than is wanted, if that is said, before it goes anywhere.
pub(crate) fn check_audience(subject: &SubjectToken, wanted: Option<&str>) -> Result<(), GrantError> {
    let Some(wanted) = wanted else { return Ok(()) };
    let Some(claims) = &subject.claims else {
        return Err(GrantError::Opaque { wanted: wanted.to_owned() });
    };
    let found = claims.aud();
    if found.iter().any(|audience| audience == wanted) {
        return Ok(());
    }
    Err(GrantError::WrongAudience { wanted: wanted.to_owned(), found })
}
