//! `kind = "vault-token"`: the client token of a login.
//! The login's settings and the subject token come in, a Vault token goes out.
//! The token is revoked when the entry is dropped, if it is ours.

use credmint_identities::SubjectToken;
use credmint_settings::VaultToken;

use crate::error::GrantError;
use crate::grant::{BearerToken, Grant, Granted, World};
use crate::vault::log_in;

/// Logs in.
pub(crate) async fn grant(
    settings: &VaultToken,
    subject: Option<&SubjectToken>,
    world: &World<'_>,
) -> Result<Grant, GrantError> {
    let (server, session) = log_in(&settings.login, subject, world).await?;
    let lease = session.lease(&server, "");
    let credential = Granted::Token(BearerToken { token: session.token, expires: session.expires });
    Ok(Grant { credential, notes: session.notes, lease })
}
