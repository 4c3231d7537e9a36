//! `[identity.NAME]`: the kinds and their keys.
//! A table comes in, an [`Identity`] goes out.
//! Reads none of the places that it names.

use std::path::PathBuf;

use crate::error::SettingsError;
use crate::identity::{ClientCredentials, Identity};
use crate::reader::client::{CLIENT, PEER, SERVER, authentication, authorization_server, peer};
use crate::reader::fields::Fields;
use crate::reader::item::Item;
use crate::reader::oidc;
use crate::reader::shape::{Kind, may, must};
use crate::reader::{aws_caller, source, spiffe, vault_oidc, workload};
use crate::tree::Table;

pub(crate) const KINDS: &[Kind<Identity>] = &[
    Kind { word: "env", keys: &[&[must("variable")]], read: env },
    Kind { word: "file", keys: &[&[must("path")]], read: file },
    Kind { word: "kubernetes", keys: &[&[may("path"), may("audience")]], read: kubernetes },
    Kind { word: "spiffe", keys: &[spiffe::AUDIENCE, spiffe::WORKLOAD], read: spiffe::identity },
    Kind { word: "command", keys: &[&[must("command"), may("timeout")]], read: command },
    Kind {
        word: "client-credentials",
        keys: &[SERVER, CLIENT, &[may("scopes"), may("audience"), may("resource")], PEER],
        read: client_credentials,
    },
    Kind { word: "oidc", keys: &[oidc::PROVIDER, CLIENT, oidc::SIGN_IN, PEER], read: oidc::person },
    Kind { word: "aws-caller", keys: &[aws_caller::KEYS, PEER], read: aws_caller::read },
    Kind { word: "vault-oidc", keys: &[vault_oidc::KEYS, PEER], read: vault_oidc::person },
    Kind { word: "coder", keys: &[workload::FIXED], read: workload::coder },
    Kind { word: "gitlab", keys: &[&[may("variable")], workload::FIXED], read: workload::gitlab },
    Kind { word: "hcp-terraform", keys: &[&[may("tag")], workload::FIXED], read: workload::hcp_terraform },
    Kind { word: "spacelift", keys: &[workload::FIXED], read: workload::spacelift },
    Kind { word: "env0", keys: &[workload::FIXED], read: workload::env0 },
    Kind { word: "circleci", keys: &[workload::FIXED], read: workload::circleci },
    Kind { word: "github-actions", keys: &[workload::ASKED], read: workload::github_actions },
    Kind {
        word: "azure-devops",
        keys: &[&[must("service_connection")], workload::FIXED],
        read: workload::azure_devops,
    },
    Kind { word: "buildkite", keys: &[workload::ASKED], read: workload::buildkite },
];

pub(crate) fn identity(table: &Table) -> Result<Identity, SettingsError> {
    Fields::read_kind(table, "kind", KINDS)
}

fn env(fields: &Fields<'_>) -> Result<Identity, SettingsError> {
    Ok(Identity::Env { variable: fields.required("variable", Item::variable)? })
}

fn file(fields: &Fields<'_>) -> Result<Identity, SettingsError> {
    Ok(Identity::File { path: fields.required("path", Item::path)? })
}

fn kubernetes(fields: &Fields<'_>) -> Result<Identity, SettingsError> {
    Ok(Identity::Kubernetes {
        path: fields.optional("path", Item::path)?.unwrap_or_else(|| PathBuf::from(PROJECTED_TOKEN)),
        audience: fields.optional("audience", Item::text)?,
    })
}

fn command(fields: &Fields<'_>) -> Result<Identity, SettingsError> {
    Ok(Identity::Command(source::command(fields)?))
}

fn client_credentials(fields: &Fields<'_>) -> Result<Identity, SettingsError> {
    let (issuer, token_endpoint) = authorization_server(fields)?;
    Ok(Identity::ClientCredentials(Box::new(ClientCredentials {
        issuer,
        token_endpoint,
        client: authentication(fields)?,
        scopes: fields.list("scopes", Item::scope)?,
        audience: fields.optional("audience", Item::text)?,
        resources: fields.list("resource", Item::resource)?,
        peer: peer(fields)?,
    })))
}

const PROJECTED_TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";
