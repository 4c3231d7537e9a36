//! `[issuer.NAME]`: the kinds and their keys.
//! A table comes in, an [`Issuer`] goes out.
//! Talks to none of them.

use std::time::Duration;

use crate::error::SettingsError;
use crate::issuer::{Issuer, LocalCa, OidcToken, TokenExchange, VaultPki, VaultSecret, VaultToken};
use crate::reader::client::{CLIENT, PEER, SERVER, authentication, authorization_server, peer};
use crate::reader::cloud;
use crate::reader::enrolment::{EST, STEP_CA, WANTED, est, names, offline, step_ca};
use crate::reader::fields::Fields;
use crate::reader::item::Item;
use crate::reader::shape::{Key, Kind, may, must};
use crate::reader::spiffe;
use crate::reader::vault::{LOGIN, login};
use crate::reader::{anywhere, aws};
use crate::tree::Table;

pub(crate) const KINDS: &[Kind<Issuer>] = &[
    Kind { word: "vault-pki", keys: &[LOGIN, PKI, PEER], read: vault_pki },
    Kind { word: "oidc", keys: &[&[may("audience")]], read: oidc },
    Kind { word: "token-exchange", keys: &[SERVER, CLIENT, EXCHANGE, PEER], read: token_exchange },
    Kind { word: "vault-token", keys: &[LOGIN, PEER], read: vault_token },
    Kind { word: "vault-secret", keys: &[LOGIN, &[must("path"), may("field")], PEER], read: vault_secret },
    Kind { word: "local-ca", keys: &[&[may("key"), may("common_name"), may("uris"), may("ttl")]], read: local_ca },
    Kind { word: "est", keys: &[EST, WANTED, PEER], read: est },
    Kind { word: "step-ca", keys: &[STEP_CA, WANTED, PEER], read: step_ca },
    Kind { word: "offline", keys: &[WANTED], read: offline },
    Kind { word: "spiffe", keys: &[spiffe::WORKLOAD], read: spiffe::issuer },
    Kind { word: "aws-sts", keys: &[aws::STS, PEER], read: aws::sts },
    Kind { word: "aws-roles-anywhere", keys: &[anywhere::KEYS, PEER], read: anywhere::read },
    Kind { word: "google-sts", keys: &[cloud::GOOGLE, PEER], read: cloud::google },
    Kind { word: "azure", keys: &[cloud::AZURE, PEER], read: cloud::azure },
    Kind { word: "kubernetes-token", keys: &[cloud::KUBERNETES, PEER], read: cloud::kubernetes },
    Kind { word: "github-app", keys: &[cloud::GITHUB, PEER], read: cloud::github },
];

const PKI: &[Key] = &[
    may("mount"),
    must("role"),
    may("key"),
    may("common_name"),
    may("dns_names"),
    may("email_addresses"),
    may("ip_addresses"),
    may("uris"),
    may("ttl"),
];

const EXCHANGE: &[Key] = &[
    may("audience"),
    may("resource"),
    may("scopes"),
    may("subject_token_type"),
    may("requested_token_type"),
    may("actor_token"),
    may("actor_token_type"),
];

pub(crate) fn issuer(table: &Table) -> Result<Issuer, SettingsError> {
    Fields::read_kind(table, "kind", KINDS)
}

fn vault_pki(fields: &Fields<'_>) -> Result<Issuer, SettingsError> {
    Ok(Issuer::VaultPki(Box::new(VaultPki {
        login: login(fields)?,
        mount: fields.optional("mount", Item::vault_path)?.unwrap_or_else(|| "pki".to_owned()),
        role: fields.required("role", Item::vault_name)?,
        key: fields.optional("key", Item::key_algorithm_or_auto)?.flatten(),
        names: names(fields)?,
        ttl: fields.optional("ttl", Item::duration)?,
    })))
}

fn oidc(fields: &Fields<'_>) -> Result<Issuer, SettingsError> {
    Ok(Issuer::Oidc(OidcToken { audience: fields.optional("audience", Item::text)? }))
}

fn token_exchange(fields: &Fields<'_>) -> Result<Issuer, SettingsError> {
    let (issuer, token_endpoint) = authorization_server(fields)?;
    fields.needs("actor_token_type", "actor_token")?;
    let token_type = |key| Ok(fields.optional(key, Item::token_type)?.unwrap_or_else(|| JWT.to_owned()));
    Ok(Issuer::TokenExchange(Box::new(TokenExchange {
        issuer,
        token_endpoint,
        client: authentication(fields)?,
        audience: fields.list("audience", Item::text)?,
        resources: fields.list("resource", Item::resource)?,
        scopes: fields.list("scopes", Item::scope)?,
        subject_token_type: token_type("subject_token_type")?,
        requested_token_type: fields.optional("requested_token_type", Item::token_type)?,
        actor_token: fields.optional("actor_token", Item::source)?,
        actor_token_type: token_type("actor_token_type")?,
        peer: peer(fields)?,
    })))
}

fn vault_token(fields: &Fields<'_>) -> Result<Issuer, SettingsError> {
    Ok(Issuer::VaultToken(Box::new(VaultToken { login: login(fields)? })))
}

fn vault_secret(fields: &Fields<'_>) -> Result<Issuer, SettingsError> {
    Ok(Issuer::VaultSecret(Box::new(VaultSecret {
        login: login(fields)?,
        path: fields.required("path", Item::vault_path)?,
        field: fields.optional("field", Item::text)?.unwrap_or_else(|| "token".to_owned()),
    })))
}

fn local_ca(fields: &Fields<'_>) -> Result<Issuer, SettingsError> {
    Ok(Issuer::LocalCa(LocalCa {
        key: fields.optional("key", Item::key_algorithm)?.unwrap_or_default(),
        common_name: fields.optional("common_name", Item::template)?.unwrap_or_else(|| "{sub}".to_owned()),
        uris: fields.list("uris", Item::uri)?,
        ttl: fields.optional("ttl", Item::duration)?.unwrap_or(HOUR),
    }))
}

const HOUR: Duration = Duration::from_secs(3_600);
const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";
