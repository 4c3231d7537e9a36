//! A person's sign-in at an OpenID Provider, on the crates `openidconnect` and `oauth2`.
//! Settings of kind `oidc` come in, tokens whose ID token has been checked go out.
//! Opens no browser and no listener; dials out through `https` alone. OpenID Connect Core, RFC 7636, 8252, 8628, 9207, 7009.

mod authorization;
mod callback;
mod client;
mod device;
mod error;
mod id_token;
mod metadata;
mod provider;
mod redeem;
mod refresh;
mod revoke;
mod tokens;

pub use authorization::Authorization;
pub use callback::Callback;
pub use device::{Device, Poll};
pub use error::{RefreshError, SignInError};
pub use metadata::endpoint;
pub use provider::Provider;
pub use tokens::{Tokens, VaultTraits};
