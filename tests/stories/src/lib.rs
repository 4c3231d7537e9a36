//! What the stories have in common: a company with an OpenID Provider, an OpenBao, a registry behind mutual TLS, and a
//! user with an empty home directory.
//! Peers are real; the kit starts and ends them. Nothing here decides whether a story succeeds.

mod company;
mod person;
mod user;

use std::path::Path;

use credmint_test_kit::Terraform;

pub use company::Company;
pub use person::{AS_IT_IS, address, issuers_address, person};
pub use user::User;

/// The host of all stories.
pub const HOST: &str = "registry.corp.example";

/// Finds the real terraform; with none the story says so and ends (CI makes that an error).
#[must_use]
pub fn terraform() -> Option<Terraform> {
    Terraform::find()
}

/// Gives the text of an identity that reads a file.
#[must_use]
pub fn file_identity(path: &Path) -> String {
    format!("[identity.job]\nkind = \"file\"\npath = \"{}\"\n\n", path.display())
}

/// Gives the text of an identity that reads a variable of the caller.
#[must_use]
pub fn env_identity(variable: &str) -> String {
    format!("[identity.job]\nkind = \"env\"\nvariable = \"{variable}\"\n\n")
}

/// Gives the text of a host whose issuer hands out a token.
#[must_use]
pub fn token_host(identity: &str, issuer: &str) -> String {
    format!("[host.\"{HOST}\"]\nidentity = {identity}\nissuer = \"{issuer}\"\ndeliver = \"token\"\n\n")
}

/// Asks again and again until it is so; at most ten seconds.
///
/// # Panics
/// When it is not so by then.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let is_so = (0..500).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        is_so()
    });
    assert!(is_so, "waited ten seconds in vain: {what}");
}
