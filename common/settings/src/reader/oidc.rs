//! `kind = "oidc"`: a person who signs in.
//! Fields of an identity's table come in, an [`Identity::Oidc`] goes out.
//! Reads none of the places that it names.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::error::SettingsError;
use crate::identity::{Identity, OidcIdentity, OidcTokenKind, RedirectHost, Remember};
use crate::reader::client::{authentication, peer};
use crate::reader::fields::{Fields, is_secret_word};
use crate::reader::item::Item;
use crate::reader::shape::{Key, may, must};

/// The OpenID Provider.
pub(crate) const PROVIDER: &[Key] = &[must("issuer")];

/// What is asked for, and how the person gets there and back.
pub(crate) const SIGN_IN: &[Key] = &[
    may("scopes"),
    may("resource"),
    may("authorization_parameters"),
    may("token"),
    may("remember"),
    may("redirect_ports"),
    may("redirect_host"),
    may("redirect_path"),
    may("browser"),
    may("sign_in_timeout"),
    may("lifetime"),
];

pub(crate) fn person(fields: &Fields<'_>) -> Result<Identity, SettingsError> {
    let scopes = fields.list("scopes", Item::scope)?;
    Ok(Identity::Oidc(Box::new(OidcIdentity {
        issuer: fields.required("issuer", Item::server)?,
        client: authentication(fields)?,
        scopes: fields.has("scopes").then_some(scopes),
        resources: fields.list("resource", Item::resource)?,
        authorization_parameters: fields.optional("authorization_parameters", Item::parameters)?.unwrap_or_default(),
        redirect_ports: redirect_ports(fields)?,
        redirect_path: fields.optional("redirect_path", Item::redirect_path)?.unwrap_or_else(|| "/callback".to_owned()),
        redirect_host: fields.word("redirect_host", HOSTS)?.unwrap_or_default(),
        token: fields.word("token", TOKENS)?.unwrap_or_default(),
        remember: fields.word("remember", PLACES)?.unwrap_or_default(),
        browser: fields.optional("browser", Item::argv)?,
        lifetime: fields.optional("lifetime", Item::duration)?,
        sign_in_timeout: fields.optional("sign_in_timeout", Item::duration)?.unwrap_or(SIGN_IN_TIMEOUT),
        peer: peer(fields)?,
    })))
}

/// Reads the ports; after "any", no other would ever be tried.
pub(crate) fn redirect_ports(fields: &Fields<'_>) -> Result<Vec<u16>, SettingsError> {
    let mut ports = fields.list("redirect_ports", |item| Ok((item.redirect_port()?, item.is_too_early())))?;
    let last = ports.len().saturating_sub(1);
    if let Some(at) = ports.iter().take(last).position(|(port, _)| *port == 0) {
        return Err(ports.swap_remove(at).1);
    }
    Ok(ports.into_iter().map(|(port, _)| port).collect())
}

pub(crate) const HOSTS: &[(&str, RedirectHost)] =
    &[("127.0.0.1", RedirectHost::Address), ("localhost", RedirectHost::Localhost)];

const TOKENS: &[(&str, OidcTokenKind)] = &[("id", OidcTokenKind::Id), ("access", OidcTokenKind::Access)];

const PLACES: &[(&str, Remember)] = &[("memory", Remember::Memory), ("keyring", Remember::Keyring)];

pub(crate) const SIGN_IN_TIMEOUT: Duration = Duration::from_secs(180);

/// Parameters of the authorization request that are ours to set: another value would undo a check, or the sign-in.
const OURS: [&str; 14] = [
    "client_id",
    "client_secret",
    "client_assertion",
    "client_assertion_type",
    "code_challenge",
    "code_challenge_method",
    "nonce",
    "redirect_uri",
    "request",
    "request_uri",
    "resource",
    "response_mode",
    "response_type",
    "state",
];

impl Item<'_> {
    /// Reads a table of strings, by their names.
    fn parameters(&self) -> Result<BTreeMap<String, String>, SettingsError> {
        let table = self.table("a table of strings", "{ login_hint = \"me@corp.example\" }")?;
        let pair = |entry| {
            let item = Item::of(entry);
            item.is_not_ours(&entry.name)?;
            Ok((entry.name.clone(), item.text()?))
        };
        table.entries.iter().map(pair).collect()
    }

    fn redirect_port(&self) -> Result<u16, SettingsError> {
        if self.is_zero() { Ok(0) } else { self.port() }
    }

    fn is_too_early(&self) -> SettingsError {
        self.is_wrong("has 0 before another port").with_hint("0 is any free port: it stands last")
    }

    /// Reads the path of a redirect URI: one that no browser and no issuer would write in another way.
    fn redirect_path(&self) -> Result<String, SettingsError> {
        let path = self.text()?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~/".contains(c);
        let dots = path.split('/').any(|segment| segment == "." || segment == "..");
        if !path.starts_with('/') || !path.chars().all(is_plain) || dots {
            let hint = "letters, digits and -._~ behind each slash: \"/callback\"";
            return Err(self.is_wrong("is not a plain path").with_hint(hint));
        }
        if path.starts_with("/begin/") {
            return Err(self.is_wrong("is where sign-ins begin").with_hint("take another path: \"/callback\""));
        }
        Ok(path)
    }

    fn is_not_ours(&self, name: &str) -> Result<(), SettingsError> {
        if name == "scope" {
            return Err(self.is_wrong("has a key of its own").with_hint("write `scopes` beside the parameters"));
        }
        if OURS.contains(&name) {
            return Err(self.is_wrong("is set by credmint itself").with_hint("leave it out"));
        }
        if is_secret_word(name) {
            return Err(self.is_wrong("looks like a secret").with_hint("leave it out: it would stand in a URL"));
        }
        Ok(())
    }
}
