//! A sign-in that is approved elsewhere: OpenBao's callback modes `device` (RFC 8628) and `direct`.
//! A sign-in that was begun comes in; whether it was approved, and then tokens, go out.
//! Asks once for each call: the caller waits between them.

use std::fmt;
use std::time::Duration;

use credmint_identities::{OauthRefusal, SignInError, Tokens};
use credmint_vocabulary::Secret;
use serde::Serialize;
use url::Url;

use super::{Call, VaultSignIn};
use crate::error::GrantError;
use crate::vault::answer::Reply;
use crate::vault::login::{at_login, authenticated};
use crate::vault::transport;
use crate::wiped::to_json;

/// Holds a sign-in that waits for a person somewhere.
pub struct VaultDevice {
    /// What the person compares or types in; empty in the mode `direct`, which has none.
    pub user_code: String,
    /// Where.
    pub url: Url,
    /// Whether the code stands in the address.
    pub has_code: bool,
    /// How long to wait between two questions; 5 s more after each [`VaultPoll::SlowDown`].
    pub interval: Duration,
    pub(super) state: Secret<String>,
    pub(super) nonce: Secret<String>,
}

/// Says how far such a sign-in is.
#[derive(Debug)]
pub enum VaultPoll {
    /// Nobody has approved it yet.
    Pending,
    /// Not yet, and the question came too soon.
    SlowDown,
    /// Approved.
    Tokens(Tokens),
}

impl fmt::Debug for VaultDevice {
    /// Shows neither code nor state.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VaultDevice").field("interval", &self.interval).finish_non_exhaustive()
    }
}

#[derive(Serialize)]
struct Asked<'a> {
    state: &'a str,
    client_nonce: &'a str,
}

impl VaultSignIn {
    /// Asks once whether it has been approved.
    ///
    /// # Errors
    /// [`GrantError`] when it never will be, or the server is in trouble.
    pub async fn poll(&self, device: &VaultDevice, call: Call<'_>) -> Result<VaultPoll, GrantError> {
        let asked = to_json(&Asked { state: device.state.expose(), client_nonce: device.nonce.expose() });
        let (line, path) = (self.line(call), self.path("poll"));
        let answer = line.send(transport::Call::post(path.clone(), asked), None).await?;
        let reply = match Reply::judge(self.who(), &path, answer, line.now()) {
            Ok(reply) => reply,
            Err(error) => return not_yet(at_login(error)),
        };
        let (auth, _) = authenticated(&reply, self.who())?;
        Ok(VaultPoll::Tokens(self.tokens(auth, &line).await))
    }
}

/// Tells "not yet" from "never": the server passes the provider's word on in its own refusal.
fn not_yet(error: GrantError) -> Result<VaultPoll, GrantError> {
    let GrantError::Refused { who, reason, .. } = &error else { return Err(error) };
    let word = reason.strip_prefix("authorization failed: ").unwrap_or(reason);
    match OauthRefusal::of(word) {
        OauthRefusal::Pending => Ok(VaultPoll::Pending),
        OauthRefusal::SlowDown => Ok(VaultPoll::SlowDown),
        OauthRefusal::Expired => Err(SignInError::Expired { who: who.clone() }.into()),
        OauthRefusal::Other => Err(error),
        class => Err(SignInError::Refused { who: who.clone(), class, reason: String::new() }.into()),
    }
}
