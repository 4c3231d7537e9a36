//! Vault and OpenBao: logging in, asking, and giving back what was lent.
//! Addresses, paths and tokens come in checked, answers without their envelope go out.
//! Follows no redirect, reads no environment, shows no body. <https://openbao.org/api-docs/>
//!
//! # What `vaultrs` and `rustify` are used for here
//!
//! - **vaultrs**: the request and the answer of PKI `sign` (`SignCertificateRequest`, `SignCertificateResponse`).
//! - **rustify**: the shape of every request (`Endpoint`), the header middleware, and the client trait, which
//!   `transport` implements over `credmint-https`.
//!
//! # What is ours, and why
//!
//! - **The client.** vaultrs' own follows a 307 to another host with the token and the body, takes
//!   `VAULT_SKIP_VERIFY=""` for "do not verify", reads five more variables, panics on a token with a line end, doubles
//!   the slash of an address with a path, drops `Retry-After`, and prints the token in `Debug`.
//! - **The middleware.** vaultrs' own builds header values with `unwrap` and prints the token in `Debug`; the version
//!   prefix `v1` is part of our base address, so that `https://h/vault/` works.
//! - **Logins.** vaultrs' login requests begin with a slash (`//auth/…`), keep the token in a plain `String` that
//!   `Debug` prints, and its answer drops `mfa_requirement`, so that a login which is only half done looks like success.
//! - **`revoke-self`.** vaultrs' path for it begins with a tab.
//! - **Reads of any path.** vaultrs has none, and its key-value types would copy every field, secret or not.
//! - **Errors.** vaultrs' and rustify's hold the whole body of an answer in `Debug`, and serde's even a value in `Display`.

mod answer;
mod lease;
mod login;
mod metadata;
mod refusal;
mod server;
mod sign_in;
mod transport;

pub(crate) use answer::{Envelope, Reply, told};
pub(crate) use lease::Lent;
pub(crate) use lease::give_back;
pub(crate) use login::{client_identity, life, log_in, read as read_needed};
pub use refusal::VaultRefusal;
pub(crate) use server::{check_path, check_role};
pub use sign_in::{Call as VaultCall, VaultBegun, VaultDevice, VaultPage, VaultPoll, VaultRenewal, VaultSignIn};
pub(crate) use transport::{Call, Line};
