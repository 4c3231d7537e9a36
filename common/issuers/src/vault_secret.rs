//! `kind = "vault-secret"`: a field of what a path of Vault answers to a read.
//! Path and field come in, the field's text as a bearer token goes out.
//! Copies no other field. <https://openbao.org/api-docs/secret/kv/>: version 2 keeps the data one level deeper.

use std::borrow::Cow;
use std::collections::BTreeMap;

use credmint_identities::{Claims, SubjectToken};
use credmint_settings::VaultSecret;
use credmint_vocabulary::{Expiry, Secret, printable};
use serde_json::value::RawValue;

use crate::error::GrantError;
use crate::grant::{BearerToken, Grant, Granted, World, stands_in_a_header};
use crate::vault::{Call, Envelope, Line, Reply, check_path, give_back, life, log_in, told};

/// Borrows the fields of an object from the body that holds them.
type Fields<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

/// Holds what was read.
struct Found {
    token: Secret<String>,
    lease_id: String,
    expires: Option<Expiry>,
    notes: Vec<String>,
}

/// Logs in and reads.
pub(crate) async fn grant(
    settings: &VaultSecret,
    subject: Option<&SubjectToken>,
    world: &World<'_>,
) -> Result<Grant, GrantError> {
    check_path("path", &settings.path)?;
    let (server, session) = log_in(&settings.login, subject, world).await?;
    let line = Line::new(&server, world.https, world.now, world.deadline);
    match read(settings, &line, &session.token).await {
        Ok(found) => {
            let lease = session.lease(&server, &found.lease_id);
            let token = BearerToken { token: found.token, expires: found.expires };
            let notes = session.notes.into_iter().chain(found.notes).collect();
            Ok(Grant { credential: Granted::Token(token), notes, lease })
        }
        Err(error) => Err(give_back(error, &server, &session, world).await),
    }
}

async fn read(settings: &VaultSecret, line: &Line<'_>, token: &Secret<String>) -> Result<Found, GrantError> {
    let answer = line.send(Call::get(settings.path.clone()), Some(token)).await?;
    let reply = Reply::judge(&line.server.who, &settings.path, answer, line.now())?;
    let envelope: Envelope<&RawValue> = reply.borrow()?;
    let data = envelope.data.ok_or_else(|| reply.malformed("an answer without `data`"))?;
    let token = field(data, settings, &reply)?;
    let expires = life(envelope.lease_duration, line).into_iter().chain(Claims::of(&token).and_then(|c| c.exp())).min();
    let notes = told(&line.server.who, envelope.warnings.as_deref());
    Ok(Found { token, lease_id: envelope.lease_id.clone(), expires, notes })
}

/// Finds the field; data with `data` and `metadata` in it is of KV version 2.
fn field(data: &RawValue, settings: &VaultSecret, reply: &Reply) -> Result<Secret<String>, GrantError> {
    let mut fields = fields(data, reply)?;
    if let (Some(inner), true) = (fields.get("data").copied(), fields.contains_key("metadata")) {
        fields = self::fields(inner, reply)?;
    }
    let name = settings.field.as_str();
    let Some(value) = fields.get(name) else {
        let there = fields.keys().take(40).map(|name| printable(name, 40)).collect();
        return Err(GrantError::Field { path: settings.path.clone(), field: name.to_owned(), there });
    };
    let text: String = serde_json::from_str(value.get()).map_err(|_| reply.malformed("the field is no text"))?;
    let token = Secret::new(text);
    if stands_in_a_header(&token) { Ok(token) } else { Err(GrantError::UnfitToken) }
}

fn fields<'a>(data: &'a RawValue, reply: &Reply) -> Result<Fields<'a>, GrantError> {
    if data.get() == "null" {
        return Err(reply.malformed("the secret is deleted, or this version of it"));
    }
    serde_json::from_str(data.get()).map_err(|_| reply.malformed("`data` is no object"))
}
