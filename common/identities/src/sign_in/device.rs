//! Device authorization (RFC 8628): a code is shown here and approved elsewhere.
//! A provider comes in; a user code, and later tokens, go out.
//! Asks once for each call: the caller waits between them.

use std::fmt;
use std::time::Duration;

use credmint_https::Https;
use credmint_vocabulary::{Deadline, Secret, Timestamp};

use crate::sign_in::error::SignInError;
use crate::sign_in::provider::Provider;
use crate::sign_in::tokens::Tokens;

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
        let _ = (https, now, deadline);
        Err(SignInError::Missing { who: self.who(), what: "device authorization endpoint" })
    }

    /// Asks once whether it has been approved.
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
        let _ = (device, https, now, deadline);
        Err(SignInError::Expired { who: self.who() })
    }
}
