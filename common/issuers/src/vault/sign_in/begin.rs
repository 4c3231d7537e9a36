//! The beginning of a sign-in: Vault is asked where the person has to go.
//! A redirect URI comes in; a page to open, or a device authorization to wait for, goes out: which of the two is the role's choice.
//! Opens nothing. A server that gives no page says no reason, so that ours names the redirect URI that has to be allowed.

use std::fmt;
use std::time::Duration;

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use credmint_identities::{Callback, endpoint};
use credmint_vocabulary::{Secret, printable};
use serde::{Deserialize, Serialize};
use url::Url;

use super::poll::VaultDevice;
use super::{Call, VaultSignIn};
use crate::error::GrantError;
use crate::vault::answer::{Envelope, Reply};
use crate::vault::login::at_login;
use crate::vault::transport;
use crate::wiped::{secret, to_json};

/// Says how a sign-in that was begun goes on.
#[derive(Debug)]
pub enum VaultBegun {
    /// A browser brings the person back to the redirect URI.
    Page(VaultPage),
    /// Nothing comes back: Vault knows by itself, and is asked (OpenBao's callback modes `device` and `direct`).
    Device(VaultDevice),
}

/// Holds a sign-in that waits for its callback; good for one.
pub struct VaultPage {
    /// Where the browser goes. Has state and nonce in it: not for logs.
    pub url: Url,
    pub(super) state: Secret<String>,
    /// Proves to Vault that who brings the code is who asked for the page.
    pub(super) nonce: Secret<String>,
}

impl VaultPage {
    /// Tells whether a callback belongs to this sign-in.
    #[must_use]
    pub fn matches(&self, callback: &Callback) -> bool {
        self.state.same_as(callback.state().expose().as_bytes())
    }
}

impl fmt::Debug for VaultPage {
    /// Shows the host alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VaultPage").field("host", &self.url.host_str()).finish_non_exhaustive()
    }
}

#[derive(Serialize)]
struct Asked<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'a str>,
    redirect_uri: &'a str,
    client_nonce: &'a str,
}

#[derive(Deserialize)]
struct Answered {
    #[serde(default)]
    auth_url: String,
    #[serde(default)]
    user_code: Option<String>,
    #[serde(default, deserialize_with = "optional")]
    state: Option<Secret<String>>,
    #[serde(default)]
    poll_interval: Option<String>,
}

fn optional<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Secret<String>>, D::Error> {
    secret(deserializer).map(Some)
}

impl VaultSignIn {
    /// Begins a sign-in that comes back to `redirect`.
    ///
    /// # Errors
    /// [`GrantError::RedirectUri`] when Vault gives no page for it, and all that can go wrong with a Vault.
    pub async fn begin(&self, redirect: &Url, call: Call<'_>) -> Result<VaultBegun, GrantError> {
        let (answered, nonce) = self.asked(redirect.as_str(), call).await?;
        if answered.auth_url.is_empty() {
            let (who, role) = (self.server.who.clone(), self.role_name());
            return Err(GrantError::RedirectUri { who, role, uri: redirect.to_string() });
        }
        let url = self.page(&answered.auth_url)?;
        let parameter =
            |name: &str| url.query_pairs().find(|(own, _)| own == name).map(|(_, value)| value.into_owned());
        match (answered.state.is_some(), parameter("redirect_uri")) {
            (true, None) => self.device(answered, url, nonce).map(VaultBegun::Device),
            (true, Some(_)) => {
                Err(self.wrong_way("it sends the browser to the server itself (callback_mode direct)", true))
            }
            (false, _) if parameter("response_mode").is_some_and(|mode| mode == "form_post") => {
                Err(self.wrong_way("the auth method answers by form_post (oidc_response_mode)", false))
            }
            (false, _) => {
                let state = parameter("state").filter(|state| !state.is_empty()).map(Secret::new);
                let state = state.ok_or_else(|| self.malformed("its page has no state"))?;
                Ok(VaultBegun::Page(VaultPage { url, state, nonce }))
            }
        }
    }

    /// Begins a sign-in that is approved on any device.
    ///
    /// # Errors
    /// [`GrantError::OtherWay`] when the role has no such mode.
    pub async fn begin_device(&self, call: Call<'_>) -> Result<VaultDevice, GrantError> {
        let own = format!("{}/{}", self.server.base, self.path("callback"));
        let (answered, nonce) = self.asked(&own, call).await?;
        if answered.auth_url.is_empty() || answered.state.is_none() {
            return Err(self.wrong_way("it does not sign in by another device (callback_mode device)", false));
        }
        let url = self.page(&answered.auth_url)?;
        self.device(answered, url, nonce)
    }

    async fn asked(&self, redirect: &str, call: Call<'_>) -> Result<(Answered, Secret<String>), GrantError> {
        let nonce = nonce()?;
        let asked = Asked { role: self.role.as_deref(), redirect_uri: redirect, client_nonce: nonce.expose() };
        let (line, path) = (self.line(call), self.path("auth_url"));
        let answer = line.send(transport::Call::post(path.clone(), to_json(&asked)), None).await?;
        let reply = Reply::judge(self.who(), &path, answer, line.now()).map_err(at_login)?;
        let envelope: Envelope<Answered> = reply.read()?;
        let answered = envelope.data.ok_or_else(|| reply.malformed("an answer without `data`"))?;
        Ok((answered, nonce))
    }

    fn device(&self, answered: Answered, url: Url, nonce: Secret<String>) -> Result<VaultDevice, GrantError> {
        let state = answered.state.ok_or_else(|| self.malformed("a sign-in without a state"))?;
        let seconds = answered.poll_interval.and_then(|seconds| seconds.parse().ok()).unwrap_or(5);
        let in_url = url.query_pairs().find(|(name, _)| name == "user_code").map(|(_, code)| code.into_owned());
        let complete = in_url.is_some();
        // The server leaves the code out where the address has it; whoever compares it wants to see it (RFC 8628 §3.3.1).
        let code = answered.user_code.or(in_url).map(|code| printable(&code, 64));
        Ok(VaultDevice {
            user_code: code.unwrap_or_default(),
            url,
            has_code: complete,
            interval: Duration::from_secs(seconds).max(Duration::from_secs(1)),
            state,
            nonce,
        })
    }

    fn page(&self, text: &str) -> Result<Url, GrantError> {
        Ok(endpoint(Url::parse(text).ok().as_ref(), self.who(), "sign-in page that a browser may open")?)
    }

    fn wrong_way(&self, why: &'static str, device: bool) -> GrantError {
        GrantError::OtherWay { who: self.server.who.clone(), role: self.role_name(), why, device }
    }

    pub(super) fn malformed(&self, what: &str) -> GrantError {
        GrantError::Malformed { who: self.server.who.clone(), what: what.to_owned() }
    }
}

/// Makes 256 random bits as text.
fn nonce() -> Result<Secret<String>, GrantError> {
    let mut bytes = zeroize::Zeroizing::new([0; 32]);
    SystemRandom::new().fill(&mut *bytes).map_err(|_| GrantError::Interrupted)?;
    Ok(Secret::new(URL_SAFE_NO_PAD.encode(*bytes)))
}
