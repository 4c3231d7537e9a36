//! Temporary keys that requests to AWS are signed with: the third kind of credential.
//! Parts of an answer come in, keys that are fit for a header and not over go out.
//! Keeps them in types that are wiped. STS API reference, `Credentials`.

use credmint_vocabulary::{Expiry, Secret};

/// Holds temporary security credentials of AWS.
#[derive(Debug)]
pub struct AccessKeys {
    /// Names the keys; it is in every signature and no secret.
    pub access_key_id: String,
    /// What signatures are made with.
    pub secret_access_key: Secret<String>,
    /// What goes with every request beside the signature.
    pub session_token: Secret<String>,
    /// The account that the role is in, if the answer says so.
    pub account_id: Option<String>,
    /// When they end.
    pub expires: Expiry,
}

impl AccessKeys {
    /// Tells whether each part can stand in a header; what cannot is no key.
    pub(crate) fn are_fit(&self) -> bool {
        let secrets = [&self.secret_access_key, &self.session_token];
        let visible = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        let id = &self.access_key_id;
        (16..=128).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && secrets.into_iter().all(|secret| visible(secret.expose()))
    }
}

/// Finds the account in an ARN: its fifth part.
pub(crate) fn account_of(arn: &str) -> Option<String> {
    let account = arn.split(':').nth(4)?;
    (account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit())).then(|| account.to_owned())
}
