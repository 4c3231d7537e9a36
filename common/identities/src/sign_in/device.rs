//! Device authorization (RFC 8628): a code is shown here and approved elsewhere.
//! A provider comes in; a user code, and later tokens, go out.
//! Asks once for each call: the caller waits between them.

use std::fmt;
use std::time::{Duration, Instant};

use credmint_https::{Https, HttpsError};
use credmint_vocabulary::{Deadline, Secret, Timestamp, printable};
use openidconnect::core::{CoreDeviceAuthorizationResponse, CoreTokenResponse};
use openidconnect::{DeviceAuthorizationUrl, HttpRequest, Scope};
use url::Url;

use crate::oauth_refusal::OauthRefusal;
use crate::sign_in::client::NO_TOKENS;
use crate::sign_in::error::SignInError;
use crate::sign_in::metadata::endpoint;
use crate::sign_in::provider::Provider;
use crate::sign_in::tokens::Tokens;
use crate::token_endpoint::TokenEndpointError;
use crate::way::{assertion, told};

/// Holds a device authorization that waits for a person.
pub struct Device {
    /// What the person types in.
    pub user_code: String,
    /// Where.
    pub verification_uri: String,
    /// The same with the code in it, for a QR code.
    pub verification_uri_complete: Option<String>,
    /// How long the code lives.
    pub expires_in: Duration,
    /// How long to wait between two questions; 5 s more after each [`Poll::SlowDown`].
    pub interval: Duration,
    pub(super) code: Secret<String>,
}

/// Says how far a device authorization is.
#[derive(Debug)]
pub enum Poll {
    /// Nobody has approved it yet.
    Pending,
    /// Not yet, and the question came too soon: add 5 s to the interval (RFC 8628 §3.5).
    SlowDown,
    /// Approved.
    Tokens(Tokens),
}

impl fmt::Debug for Device {
    /// Shows neither code.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device").field("verification_uri", &self.verification_uri).finish_non_exhaustive()
    }
}

impl Provider {
    /// Asks for a device authorization.
    ///
    /// # Errors
    /// [`SignInError`] when there is none to be had.
    pub async fn device(&self, https: &Https, now: Timestamp, deadline: Deadline) -> Result<Device, SignInError> {
        let way = self.way(https, now, deadline);
        let address = self.metadata.additional_metadata().device_authorization_endpoint.as_ref();
        let address = endpoint(address, &self.who(), "device authorization endpoint")?;
        let proof = self.proof(&way).await?;
        let client = self.client(&proof).set_device_authorization_url(DeviceAuthorizationUrl::from_url(address));
        let mut request = client.exchange_device_code().add_scopes(self.scopes().into_iter().map(Scope::new));
        for (name, value) in assertion(&proof) {
            request = request.add_extra_param(name, value);
        }
        for (name, value) in self.asked() {
            request = request.add_extra_param(name, value);
        }
        let who = self.who();
        let send = |request: HttpRequest| way.send(&who, request);
        let answer = request.request_async(&send).await.map_err(|error| told(error, who.clone(), NO_CODE));
        let answer = answer.map_err(|error| self.with_scopes(error.into()))?;
        self.shown(&answer)
    }

    /// Asks once whether it has been approved. An issuer in trouble is asked again later, and less often (RFC 8628 §3.5).
    ///
    /// # Errors
    /// [`SignInError`] when it never will be.
    pub async fn poll(
        &self,
        device: &Device,
        https: &Https,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<Poll, SignInError> {
        let way = self.way(https, now, deadline.at_most(Instant::now(), STEP));
        let form = [("grant_type", GRANT), ("device_code", device.code.expose().as_str())];
        let form: Vec<_> = form.into_iter().chain(self.resources()).collect();
        let address = self.metadata.token_endpoint().map(|address| address.url());
        let body = match self.post(address, "token endpoint", &form, &way).await {
            Ok(body) => body,
            Err(error) => return self.not_yet(error),
        };
        let broken = |_| TokenEndpointError::Malformed { who: self.who(), what: NO_TOKENS };
        let answer: CoreTokenResponse = serde_json::from_slice(&body).map_err(broken)?;
        let proof = self.proof(&way).await?;
        Ok(Poll::Tokens(self.checked(&answer, None, &proof, &way).await?))
    }

    /// Tells "not yet" from "never".
    fn not_yet(&self, error: SignInError) -> Result<Poll, SignInError> {
        match error {
            SignInError::Endpoint(TokenEndpointError::Refused { class, reason, .. }) if decides(class) => match class {
                OauthRefusal::Pending => Ok(Poll::Pending),
                OauthRefusal::SlowDown => Ok(Poll::SlowDown),
                OauthRefusal::Expired => Err(SignInError::Expired { who: self.who() }),
                class => Err(SignInError::Refused { who: self.who(), class, reason }),
            },
            SignInError::Endpoint(
                TokenEndpointError::Throttled { .. }
                | TokenEndpointError::Failing { .. }
                | TokenEndpointError::Unreachable(HttpsError::Timeout { .. }),
            ) => Ok(Poll::SlowDown),
            error => Err(error),
        }
    }

    /// Takes over what is to be shown: addresses that a browser may open, and no control characters.
    fn shown(&self, answer: &CoreDeviceAuthorizationResponse) -> Result<Device, SignInError> {
        let who = self.who();
        let page = |text: &str| endpoint(Url::parse(text).ok().as_ref(), &who, "usable verification address");
        let complete = answer.verification_uri_complete().and_then(|uri| page(uri.secret()).ok());
        Ok(Device {
            user_code: printable(answer.user_code().secret(), 64),
            verification_uri: page(answer.verification_uri().as_str())?.to_string(),
            verification_uri_complete: complete.map(|uri| uri.to_string()),
            expires_in: answer.expires_in(),
            interval: answer.interval().max(Duration::from_secs(1)),
            code: Secret::from(answer.device_code().secret().as_str()),
        })
    }
}

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
const NO_CODE: &str = "its device authorization cannot be read";
/// How long one question may take.
const STEP: Duration = Duration::from_secs(10);

/// Tells the words that are about the authorization, and not about the request.
const fn decides(class: OauthRefusal) -> bool {
    use OauthRefusal::{Denied, Expired, Pending, SlowDown};
    matches!(class, Pending | SlowDown | Expired | Denied)
}
