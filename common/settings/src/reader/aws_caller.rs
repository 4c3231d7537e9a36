//! `kind = "aws-caller"`: the caller's own keys of AWS; and which issuer may see what they sign.
//! Fields of an identity's table come in, an [`Identity::AwsCaller`] goes out; for a route, a mistake if the two do not fit.
//! Reads none of the places that it names.

use std::path::PathBuf;

use crate::aws::AwsCaller;
use crate::error::SettingsError;
use crate::identity::Identity;
use crate::issuer::{Issuer, VaultAuth};
use crate::reader::client::peer;
use crate::reader::fields::Fields;
use crate::reader::item::Item;
use crate::reader::shape::{Key, may};

pub(crate) const KEYS: &[Key] = &[
    may("region"),
    may("endpoint"),
    may("server_id"),
    may("web_identity_token_file"),
    may("authorization_token_file"),
];

pub(crate) fn read(fields: &Fields<'_>) -> Result<Identity, SettingsError> {
    let file = |key, default: &str| Ok(fields.optional(key, Item::path)?.unwrap_or_else(|| PathBuf::from(default)));
    Ok(Identity::AwsCaller(Box::new(AwsCaller {
        region: fields.optional("region", Item::region)?,
        endpoint: fields.optional("endpoint", Item::server)?,
        server_id: fields.optional("server_id", Item::server_id)?,
        web_identity_token_file: file("web_identity_token_file", WEB_IDENTITY)?,
        authorization_token_file: file("authorization_token_file", POD_IDENTITY)?,
        peer: peer(fields)?,
    })))
}

/// Sees to it that a signed request goes to the auth method that takes one and to nobody else, and that the method gets one.
pub(crate) fn goes_to_its_method(
    fields: &Fields<'_>,
    (name, identity): (&str, &Identity),
    (issuer_name, issuer): (&str, &Issuer),
) -> Result<(), SettingsError> {
    let wants_one = issuer.vault_login().is_some_and(|login| matches!(login.auth, VaultAuth::Aws { .. }));
    let (what, hint) = match (matches!(identity, Identity::AwsCaller(_)), wants_one) {
        (true, false) if issuer.sends_identity() => (
            format!("issuer `{issuer_name}` takes no signed request of AWS, which is all that identity `{name}` has"),
            "have an issuer of kind vault-pki, vault-secret or vault-token, with auth = { method = \"aws\" }",
        ),
        (false, true) => (
            format!("issuer `{issuer_name}` wants a signed request of AWS, and identity `{name}` has none"),
            "name an identity of kind \"aws-caller\", or another auth method in the issuer's table",
        ),
        _ => return Ok(()),
    };
    Err(fields.error_at("identity", what).with_hint(hint))
}

impl Item<'_> {
    /// Reads the value of a header.
    fn server_id(&self) -> Result<String, SettingsError> {
        let text = self.text()?;
        if text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Ok(text);
        }
        Err(self
            .is_wrong("has a character that no header has")
            .with_hint("it is mostly the Vault's name: vault.corp.example"))
    }
}

/// Where EKS puts the token of a service account with a role.
const WEB_IDENTITY: &str = "/var/run/secrets/eks.amazonaws.com/serviceaccount/token";
/// Where EKS puts the token for its Pod Identity agent.
const POD_IDENTITY: &str = "/var/run/secrets/pods.eks.amazonaws.com/serviceaccount/eks-pod-identity-token";
