//! A credential of the agent in the form of a foreign client.
//! A credential as it travelled and a form come in, bytes or a reason in words go out.
//! Shared by the programs of the providers and by `credmint print`. Writes nothing itself.

use credmint_agent_protocol::{Credential, WireSecret};
use credmint_local_machine::clock;
use credmint_protocols::{AccessKeys, AnswerError};
use credmint_vocabulary::Timestamp;
use zeroize::Zeroizing;

/// Writes a credential in the client's form.
pub(crate) type Form<'f> =
    &'f dyn Fn(&credmint_protocols::Credential<'_>, Timestamp) -> Result<Zeroizing<Vec<u8>>, AnswerError>;

/// Puts a credential into the client's form.
pub(crate) fn written(credential: &Credential, form: Form<'_>) -> Result<Zeroizing<Vec<u8>>, String> {
    let keys = match (&credential.access_key_id, &credential.secret_access_key, &credential.session_token) {
        (Some(id), Some(secret), Some(token)) => Some(AccessKeys {
            access_key_id: id,
            secret_access_key: secret.secret(),
            session_token: token.secret(),
            account_id: credential.account_id.as_deref(),
        }),
        _ => None,
    };
    let expires = credential.expires_at.as_deref().map(Timestamp::from_rfc3339).transpose();
    let seen = credmint_protocols::Credential {
        token: credential.token.as_ref().map(WireSecret::secret),
        certificate_pem: credential.client_certificate_pem.as_deref(),
        private_key_pem: credential.client_private_key_pem.as_ref().map(WireSecret::secret),
        username: credential.username.as_deref(),
        keys,
        expires: expires.map_err(|_| "its end is no time".to_owned())?,
    };
    form(&seen, clock::now()).map_err(|error| error.to_string())
}
