//! `kind = "vault-oidc"`: a person who signs in at a Vault; and where that sign-in's token may go.
//! Fields of an identity's table come in, an [`Identity::VaultOidc`] goes out; for a host, a mistake if the two do not fit.
//! Reads none of the places that it names.

use url::Url;

use crate::error::SettingsError;
use crate::identity::{Identity, RedirectHost, VaultOidcIdentity};
use crate::issuer::{Issuer, VaultAuth, VaultLogin};
use crate::reader::client::peer;
use crate::reader::fields::Fields;
use crate::reader::item::Item;
use crate::reader::oidc::{HOSTS, SIGN_IN_TIMEOUT, redirect_ports};
use crate::reader::shape::{Key, may, must};
use crate::reader::vault::mount;

/// The Vault, and how the person gets there and back.
pub(crate) const KEYS: &[Key] = &[
    must("address"),
    may("namespace"),
    may("mount"),
    may("role"),
    may("redirect_ports"),
    may("redirect_host"),
    may("browser"),
    may("lifetime"),
    may("sign_in_timeout"),
];

pub(crate) fn person(fields: &Fields<'_>) -> Result<Identity, SettingsError> {
    let ports = redirect_ports(fields)?;
    Ok(Identity::VaultOidc(Box::new(VaultOidcIdentity {
        address: fields.required("address", Item::server)?.trim_end_matches('/').to_owned(),
        namespace: fields.optional("namespace", Item::namespace)?,
        mount: mount(fields, "oidc")?,
        role: fields.optional("role", Item::vault_name)?,
        redirect_ports: if fields.has("redirect_ports") { ports } else { vec![VAULTS_OWN_PORT] },
        redirect_host: fields.word("redirect_host", HOSTS)?.unwrap_or(RedirectHost::Localhost),
        browser: fields.optional("browser", Item::argv)?,
        lifetime: fields.optional("lifetime", Item::duration)?,
        sign_in_timeout: fields.optional("sign_in_timeout", Item::duration)?.unwrap_or(SIGN_IN_TIMEOUT),
        peer: peer(fields)?,
    })))
}

/// Sees to it that a Vault token goes to the Vault that gave it and to nobody else, and that an issuer that needs one gets one.
pub(crate) fn stays_at_home(
    fields: &Fields<'_>,
    (name, identity): (&str, &Identity),
    (issuer_name, issuer): (&str, &Issuer),
) -> Result<(), SettingsError> {
    let wants_one = issuer.vault_login().filter(|login| login.auth == VaultAuth::Identity);
    let (what, hint) = match (identity, wants_one) {
        (Identity::VaultOidc(person), Some(login)) if is_at_home(person, login) => return Ok(()),
        (Identity::VaultOidc(person), Some(login)) => {
            let theirs = place(&login.address, login.namespace.as_deref());
            let what =
                format!("issuer `{issuer_name}` is at {theirs}, and identity `{name}` signs in at {}", home(person));
            (what + NO_STRANGERS, "write the same address and namespace in both tables")
        }
        (Identity::VaultOidc(person), None) if issuer.sends_identity() => {
            let what = format!(
                "issuer `{issuer_name}` is no Vault that takes the token of identity `{name}` from {}",
                home(person)
            );
            (what + NO_STRANGERS, NO_STRANGERS_HINT)
        }
        (_, None) => return Ok(()),
        (_, Some(_)) => {
            let what = format!("issuer `{issuer_name}` wants a Vault token, and identity `{name}` has none");
            (what, "name an identity of kind \"vault-oidc\", or another auth method in the issuer's table")
        }
    };
    Err(fields.error_at("identity", what).with_hint(hint))
}

fn is_at_home(person: &VaultOidcIdentity, login: &VaultLogin) -> bool {
    is_same(&person.address, &login.address) && person.namespace == login.namespace
}

fn home(person: &VaultOidcIdentity) -> String {
    place(&person.address, person.namespace.as_deref())
}

/// Tells whether two addresses are one, however they are spelt.
fn is_same(one: &str, other: &str) -> bool {
    let parsed = |text: &str| Url::parse(text.trim_end_matches('/')).ok();
    parsed(one).is_some_and(|one| Some(one) == parsed(other))
}

fn place(address: &str, namespace: Option<&str>) -> String {
    namespace.map_or_else(|| address.to_owned(), |namespace| format!("{address} (namespace {namespace})"))
}

const NO_STRANGERS: &str = ": a Vault token is sent to its own server and namespace alone";

const NO_STRANGERS_HINT: &str =
    "have an issuer of kind vault-pki, vault-secret or vault-token there, with auth = { method = \"identity\" }";

/// Where `vault login -method=oidc` listens: roles allow it.
const VAULTS_OWN_PORT: u16 = 8250;
