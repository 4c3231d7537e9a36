//! What identities and issuers share at an authorization server: address, client authentication, trust.
//! Fields of a table come in, parts of its struct go out.
//! Knows neither kind.

use crate::error::SettingsError;
use crate::identity::ClientAuthentication;
use crate::issuer::Peer;
use crate::reader::fields::Fields;
use crate::reader::item::Item;
use crate::reader::shape::{Key, may, must};

/// How a server is reached.
pub(crate) const PEER: &[Key] = &[may("ca"), may("ca_only"), may("pins"), may("proxy")];

/// The authorization server.
pub(crate) const SERVER: &[Key] = &[may("issuer"), may("token_endpoint")];

/// Who we are to it.
pub(crate) const CLIENT: &[Key] =
    &[must("client_id"), may("client_auth"), may("client_secret"), may("client_key"), may("client_key_id")];

pub(crate) fn peer(fields: &Fields<'_>) -> Result<Peer, SettingsError> {
    let ca_only = fields.flag("ca_only")?;
    if ca_only {
        fields.needs("ca_only", "ca")?;
    }
    Ok(Peer {
        ca: fields.optional("ca", Item::path)?,
        ca_only,
        pins: fields.list("pins", Item::pin)?,
        proxy: fields.optional("proxy", Item::proxy)?,
    })
}

/// Reads `issuer` or `token_endpoint`: one of the two.
pub(crate) fn authorization_server(fields: &Fields<'_>) -> Result<(Option<String>, Option<String>), SettingsError> {
    fields.at_most_one("issuer", "token_endpoint")?;
    if !fields.has("issuer") && !fields.has("token_endpoint") {
        return Err(fields.missing("issuer").with_hint(format!(
            "{} for discovery, or {} directly",
            fields.quoted("issuer"),
            fields.quoted("token_endpoint")
        )));
    }
    Ok((fields.optional("issuer", Item::server)?, fields.optional("token_endpoint", Item::endpoint)?))
}

pub(crate) fn authentication(fields: &Fields<'_>) -> Result<ClientAuthentication, SettingsError> {
    fields.at_most_one("client_secret", "client_key")?;
    fields.needs("client_key_id", "client_key")?;
    let client_id = fields.required("client_id", Item::text)?;
    let method = method(fields)?;
    match method {
        Method::Basic | Method::Post => refuse(fields, "client_key")?,
        Method::PrivateKeyJwt => refuse(fields, "client_secret")?,
        Method::None => ["client_secret", "client_key"].iter().try_for_each(|key| refuse(fields, key))?,
    }
    let source = |key| fields.optional(key, Item::source)?.ok_or_else(|| fields.missing(key).with_hint(WHICH));
    let secret = || source("client_secret");
    Ok(match method {
        Method::None => ClientAuthentication::None { client_id },
        Method::Basic => ClientAuthentication::Basic { client_id, secret: secret()? },
        Method::Post => ClientAuthentication::Post { client_id, secret: secret()? },
        Method::PrivateKeyJwt => ClientAuthentication::PrivateKeyJwt {
            client_id,
            key: source("client_key")?,
            key_id: fields.optional("client_key_id", Item::text)?,
        },
    })
}

#[derive(Clone, Copy)]
enum Method {
    None,
    Basic,
    Post,
    PrivateKeyJwt,
}

/// Takes the method that is named, else the one that what is there allows.
fn method(fields: &Fields<'_>) -> Result<Method, SettingsError> {
    let named = fields.word(
        "client_auth",
        &[
            ("none", Method::None),
            ("basic", Method::Basic),
            ("post", Method::Post),
            ("private_key_jwt", Method::PrivateKeyJwt),
        ],
    )?;
    Ok(named.unwrap_or(match (fields.has("client_secret"), fields.has("client_key")) {
        (true, _) => Method::Basic,
        (false, true) => Method::PrivateKeyJwt,
        (false, false) => Method::None,
    }))
}

fn refuse(fields: &Fields<'_>, key: &str) -> Result<(), SettingsError> {
    if !fields.has(key) {
        return Ok(());
    }
    let what = format!("{} has no meaning with this {}", fields.quoted(key), fields.quoted("client_auth"));
    Err(fields.error_at(key, what).with_hint(WHICH))
}

const WHICH: &str = "basic and post take a secret, private_key_jwt a key, none takes neither";
