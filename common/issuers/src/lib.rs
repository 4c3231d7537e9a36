//! Who grants: one file an issuer.
//! An issuer of the settings and a subject token come in, a credential with its expiry goes out.
//! Keeps nothing but the authorities of `local-ca`; dials out through `https` alone; shows no body of any answer.

mod access_keys;
mod anchor;
mod authority;
mod aws;
mod aws_sts;
mod azure;
mod cloud;
mod describe;
mod error;
mod est;
mod github_app;
mod google_sts;
mod grant;
mod kubernetes_token;
mod lease;
mod local_ca;
mod offline;
mod oidc;
mod pending;
mod prepared;
mod roles_anywhere;
mod spiffe;
mod step_ca;
mod template;
mod token_exchange;
mod vault;
mod vault_pki;
mod vault_secret;
mod vault_token;
mod wiped;

pub use access_keys::AccessKeys;
pub use anchor::anchor;
pub use describe::describe;
pub use error::GrantError;
pub use grant::{BearerToken, Before, Grant, Granted, World, grant, preflight};
pub use lease::{Lease, Lender, revoke};
pub use local_ca::Authorities;
pub use offline::{complete, request};
pub use pending::{PendingRequests, Waiting};
pub use template::TemplateError;
pub use vault::{VaultBegun, VaultCall, VaultDevice, VaultPage, VaultPoll, VaultRefusal, VaultRenewal, VaultSignIn};
pub use vault_pki::{Effect, Finding};
