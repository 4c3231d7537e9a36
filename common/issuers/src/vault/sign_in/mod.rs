//! A person's sign-in by Vault's own OIDC method: Vault is the client of the OpenID Provider, and we are Vault's.
//! Settings of kind `vault-oidc` come in, a client token whose owner is known goes out; it is renewed and revoked here, too.
//! Opens no browser and no listener. <https://openbao.org/api-docs/auth/jwt/#oidc-authorization-url-request>

mod begin;
mod poll;
mod redeem;
mod token;

use std::fmt;

use credmint_https::Https;
use credmint_settings::VaultOidcIdentity;
use credmint_vocabulary::{Deadline, Timestamp};

pub use begin::{VaultBegun, VaultPage};
pub use poll::{VaultDevice, VaultPoll};
pub use token::VaultRenewal;

use crate::error::GrantError;
use crate::vault::server::{Server, check_path, check_role};
use crate::vault::transport::Line;

/// Holds a Vault at which people sign in.
pub struct VaultSignIn {
    server: Server,
    mount: String,
    role: Option<String>,
    issuer: String,
}

/// Holds what every call to it takes along.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// The way out.
    pub https: &'a Https,
    /// The wall clock's time.
    pub now: Timestamp,
    /// When an answer is of no use any more.
    pub deadline: Deadline,
}

impl VaultSignIn {
    /// Checks the settings; nobody is asked yet.
    ///
    /// # Errors
    /// [`GrantError::Settings`] when an address or a name could lead elsewhere.
    pub fn of(settings: &VaultOidcIdentity) -> Result<Self, GrantError> {
        check_path("auth mount", &settings.mount)?;
        settings.role.as_deref().map(check_role).transpose()?;
        let server = Server::at(&settings.address, settings.namespace.as_deref(), &settings.peer)?;
        let namespace = settings.namespace.as_ref().map(|name| format!(" (namespace {name})")).unwrap_or_default();
        let issuer = format!("{}{namespace}", settings.address);
        Ok(Self { server, mount: settings.mount.clone(), role: settings.role.clone(), issuer })
    }

    /// Gives host and port, for messages.
    #[must_use]
    pub fn who(&self) -> &str {
        &self.server.who
    }

    /// Gives address and namespace, for people.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    fn line<'a>(&'a self, call: Call<'a>) -> Line<'a> {
        Line::new(&self.server, call.https, call.now, call.deadline)
    }

    fn path(&self, verb: &str) -> String {
        format!("auth/{}/oidc/{verb}", self.mount)
    }

    /// Names the role, for messages.
    fn role_name(&self) -> String {
        self.role.clone().unwrap_or_else(|| format!("default_role of auth/{}", self.mount))
    }
}

impl fmt::Debug for VaultSignIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VaultSignIn").field("issuer", &self.issuer).field("mount", &self.mount).finish_non_exhaustive()
    }
}
