//! `[issuer.NAME]` of Google, Azure, Kubernetes and GitHub.
//! A table comes in, an [`Issuer`] goes out.
//! Talks to none of them. Names that become parts of a path have no character that would change it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::cloud::{Azure, GithubApp, GoogleSts, KubernetesToken};
use crate::error::SettingsError;
use crate::issuer::Issuer;
use crate::reader::client::peer;
use crate::reader::fields::Fields;
use crate::reader::item::Item;
use crate::reader::shape::{Key, may, must};
use crate::tree::Entry;

pub(crate) const GOOGLE: &[Key] = &[
    must("audience"),
    may("certificate_issuer"),
    may("subject_token_type"),
    may("scopes"),
    may("user_project"),
    may("service_account"),
    may("lifetime"),
    may("token_audience"),
    may("endpoint"),
    may("iam_endpoint"),
];

pub(crate) const AZURE: &[Key] =
    &[must("tenant"), must("client_id"), may("scope"), may("token_audience"), may("endpoint")];

pub(crate) const KUBERNETES: &[Key] =
    &[must("address"), must("namespace"), must("service_account"), may("audience"), may("ttl"), may("token_audience")];

pub(crate) const GITHUB: &[Key] = &[
    must("app_id"),
    must("installation_id"),
    must("app_key"),
    may("permissions"),
    may("repositories"),
    may("endpoint"),
];

pub(crate) fn google(fields: &Fields<'_>) -> Result<Issuer, SettingsError> {
    fields.needs("lifetime", "service_account")?;
    fields.needs("iam_endpoint", "service_account")?;
    let audience = fields.required("audience", Item::google_audience)?;
    if fields.has("user_project") && !audience.contains("/workforcePools/") {
        let what = format!("{} has no meaning with a workload pool", fields.quoted("user_project"));
        return Err(fields.error_at("user_project", what).with_hint("leave it out: it is for workforce pools"));
    }
    let (token_type, address) = if fields.has("certificate_issuer") { OF_CERTIFICATES } else { OF_TOKENS };
    if fields.has("certificate_issuer") && fields.has("token_audience") {
        let what = format!("{} has no meaning with a certificate", fields.quoted("token_audience"));
        return Err(fields
            .error_at("token_audience", what)
            .with_hint("leave it out: no token of the identity is sent"));
    }
    let scopes = fields.list("scopes", Item::scope)?;
    let lifetime = fields.optional("lifetime", Item::duration)?;
    if lifetime.is_some_and(|life| life > TWELVE_HOURS) {
        let what = format!("{} is longer than 12h", fields.quoted("lifetime"));
        return Err(fields.error_at("lifetime", what).with_hint("more than 1h needs a policy of the organisation"));
    }
    Ok(Issuer::GoogleSts(Box::new(GoogleSts {
        audience,
        certificate_issuer: fields.optional("certificate_issuer", Item::text)?,
        subject_token_type: fields
            .optional("subject_token_type", Item::token_type)?
            .unwrap_or_else(|| token_type.to_owned()),
        scopes: if scopes.is_empty() { vec![PLATFORM.to_owned()] } else { scopes },
        user_project: fields.optional("user_project", Item::text)?,
        service_account: fields.optional("service_account", Item::service_account)?,
        lifetime,
        token_audience: fields.optional("token_audience", Item::text)?,
        endpoint: endpoint(fields, "endpoint", address)?,
        iam_endpoint: endpoint(fields, "iam_endpoint", "https://iamcredentials.googleapis.com")?,
        peer: peer(fields)?,
    })))
}

pub(crate) fn azure(fields: &Fields<'_>) -> Result<Issuer, SettingsError> {
    Ok(Issuer::Azure(Box::new(Azure {
        tenant: fields.required("tenant", Item::segment)?,
        client_id: fields.required("client_id", Item::text)?,
        scope: fields.optional("scope", Item::azure_scope)?.unwrap_or_else(|| RESOURCE_MANAGER.to_owned()),
        token_audience: fields.optional("token_audience", Item::text)?,
        endpoint: endpoint(fields, "endpoint", "https://login.microsoftonline.com")?,
        peer: peer(fields)?,
    })))
}

pub(crate) fn kubernetes(fields: &Fields<'_>) -> Result<Issuer, SettingsError> {
    let ttl = fields.optional("ttl", Item::duration)?;
    if ttl.is_some_and(|ttl| ttl < TEN_MINUTES) {
        let what = format!("{} is shorter than 10m", fields.quoted("ttl"));
        return Err(fields.error_at("ttl", what).with_hint("no API server grants less"));
    }
    Ok(Issuer::KubernetesToken(Box::new(KubernetesToken {
        address: fields.required("address", Item::server)?.trim_end_matches('/').to_owned(),
        namespace: fields.required("namespace", Item::segment)?,
        service_account: fields.required("service_account", Item::segment)?,
        audiences: fields.list("audience", Item::text)?,
        ttl,
        token_audience: fields.optional("token_audience", Item::text)?,
        peer: peer(fields)?,
    })))
}

pub(crate) fn github(fields: &Fields<'_>) -> Result<Issuer, SettingsError> {
    Ok(Issuer::GithubApp(Box::new(GithubApp {
        app_id: fields.required("app_id", Item::segment)?,
        installation_id: fields.required("installation_id", Item::segment)?,
        app_key: fields.required("app_key", Item::source)?,
        permissions: fields.optional("permissions", Item::permissions)?.unwrap_or_default(),
        repositories: fields.list("repositories", Item::segment)?,
        endpoint: endpoint(fields, "endpoint", "https://api.github.com")?,
        peer: peer(fields)?,
    })))
}

fn endpoint(fields: &Fields<'_>, key: &str, default: &str) -> Result<String, SettingsError> {
    let given = fields.optional(key, Item::server)?;
    Ok(given.map_or_else(|| default.to_owned(), |given| given.trim_end_matches('/').to_owned()))
}

impl Item<'_> {
    /// Reads a name that is one part of a path.
    fn segment(&self) -> Result<String, SettingsError> {
        let text = self.text()?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if text.chars().all(plain) && !text.starts_with('.') {
            return Ok(text);
        }
        Err(self.is_wrong("has a character that it cannot have").with_hint("letters, digits, `-`, `_` and `.`"))
    }

    fn google_audience(&self) -> Result<String, SettingsError> {
        let text = self.text()?;
        let pool = ["/workloadIdentityPools/", "/workforcePools/"].iter().any(|pool| text.contains(pool));
        if text.starts_with("//iam.googleapis.com/") && pool && text.contains("/providers/") {
            return Ok(text);
        }
        Err(self.is_wrong("is not the name of a provider").with_hint(
            "it looks like //iam.googleapis.com/projects/NUMBER/locations/global/workloadIdentityPools/POOL/providers/NAME",
        ))
    }

    fn service_account(&self) -> Result<String, SettingsError> {
        let text = self.text()?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@:".contains(c);
        let parts = text.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.'));
        if parts && text.chars().all(plain) {
            return Ok(text);
        }
        Err(self
            .is_wrong("is not the email address of a service account")
            .with_hint("NAME@PROJECT.iam.gserviceaccount.com"))
    }

    fn azure_scope(&self) -> Result<String, SettingsError> {
        let scope = self.scope()?;
        if scope.ends_with("/.default") {
            return Ok(scope);
        }
        let whole = format!("{}/.default", scope.trim_end_matches('/'));
        Err(self
            .is_wrong("does not end in /.default")
            .with_hint(format!("a client has all that it was granted: {whole}")))
    }

    /// Reads a table of words, by the names of permissions.
    fn permissions(&self) -> Result<BTreeMap<String, String>, SettingsError> {
        let table = self.table("a table of permissions", "{ contents = \"read\", issues = \"write\" }")?;
        let words = [("read", "read"), ("write", "write"), ("admin", "admin")];
        let pair = |entry: &Entry| Ok((entry.name.clone(), Item::of(entry).word(&words)?.to_owned()));
        table.entries.iter().map(pair).collect()
    }
}

/// What is exchanged, and where: Google asks for a certificate at an address of its own.
const OF_TOKENS: (&str, &str) = ("urn:ietf:params:oauth:token-type:jwt", "https://sts.googleapis.com");
const OF_CERTIFICATES: (&str, &str) = ("urn:ietf:params:oauth:token-type:mtls", "https://sts.mtls.googleapis.com");
const PLATFORM: &str = "https://www.googleapis.com/auth/cloud-platform";
const RESOURCE_MANAGER: &str = "https://management.azure.com/.default";
const TEN_MINUTES: Duration = Duration::from_secs(600);
const TWELVE_HOURS: Duration = Duration::from_secs(43_200);
