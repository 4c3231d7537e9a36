//! `[issuer.NAME]` of certification authorities beside Vault: EST, step-ca, people.
//! A table comes in, an [`Issuer`] goes out.
//! Talks to none of them. The path of EST is made whole here (RFC 7030 §3.2.2).

use crate::enrolment::{Est, EstAuth, NameTemplates, Offline, StepCa, Wanted};
use crate::error::SettingsError;
use crate::issuer::Issuer;
use crate::reader::client::peer;
use crate::reader::fields::Fields;
use crate::reader::item::Item;
use crate::reader::shape::{Key, Kind, may, must};

/// Keys of the certificate that is asked for.
pub(crate) const WANTED: &[Key] =
    &[may("key"), may("common_name"), may("dns_names"), may("email_addresses"), may("ip_addresses"), may("uris")];

pub(crate) const EST: &[Key] = &[must("address"), may("label"), must("auth")];
pub(crate) const STEP_CA: &[Key] = &[must("address"), may("ttl")];

pub(crate) const EST_METHODS: &[Kind<EstAuth>] = &[
    Kind { word: "bearer", keys: &[], read: bearer },
    Kind { word: "basic", keys: &[&[must("username"), must("password")]], read: basic },
    Kind { word: "cert", keys: &[&[must("certificate"), must("key")]], read: cert },
];

pub(crate) fn est(fields: &Fields<'_>) -> Result<Issuer, SettingsError> {
    let address = fields.required("address", Item::server)?;
    let label = fields.optional("label", Item::est_label)?;
    if label.is_some() && has_label(&address) {
        let what = format!("{} has a label in it, and {} is another", fields.quoted("address"), fields.quoted("label"));
        return Err(fields.error_at("label", what).with_hint("keep one of the two"));
    }
    Ok(Issuer::Est(Box::new(Est {
        address: whole(&address, label.as_deref()),
        auth: fields.required("auth", Item::est_auth)?,
        wanted: wanted(fields)?,
        peer: peer(fields)?,
    })))
}

pub(crate) fn step_ca(fields: &Fields<'_>) -> Result<Issuer, SettingsError> {
    Ok(Issuer::StepCa(Box::new(StepCa {
        address: fields.required("address", Item::server)?.trim_end_matches('/').to_owned(),
        wanted: wanted(fields)?,
        ttl: fields.optional("ttl", Item::duration)?,
        peer: peer(fields)?,
    })))
}

pub(crate) fn offline(fields: &Fields<'_>) -> Result<Issuer, SettingsError> {
    Ok(Issuer::Offline(Box::new(Offline { wanted: wanted(fields)? })))
}

fn wanted(fields: &Fields<'_>) -> Result<Wanted, SettingsError> {
    Ok(Wanted { key: fields.optional("key", Item::key_algorithm)?.unwrap_or_default(), names: names(fields)? })
}

/// Reads the names of a certificate.
pub(crate) fn names(fields: &Fields<'_>) -> Result<NameTemplates, SettingsError> {
    Ok(NameTemplates {
        common_name: fields.optional("common_name", Item::template)?,
        dns_names: fields.list("dns_names", Item::dns_name)?,
        email_addresses: fields.list("email_addresses", Item::email_address)?,
        ip_addresses: fields.list("ip_addresses", Item::ip_address)?,
        uris: fields.list("uris", Item::uri)?,
    })
}

/// The path that every EST server has (RFC 7030 §3.2.2).
const WELL_KNOWN: &str = "/.well-known/est";

fn has_label(address: &str) -> bool {
    address.split_once(WELL_KNOWN).is_some_and(|(_, rest)| !rest.trim_matches('/').is_empty())
}

/// Adds to an address what it leaves out: the well-known path, and the label behind it.
fn whole(address: &str, label: Option<&str>) -> String {
    let bare = address.trim_end_matches('/');
    let path = if bare.contains(WELL_KNOWN) { "" } else { WELL_KNOWN };
    let label = label.map(|label| format!("/{label}")).unwrap_or_default();
    format!("{bare}{path}{label}")
}

fn bearer(_: &Fields<'_>) -> Result<EstAuth, SettingsError> {
    Ok(EstAuth::Bearer)
}

fn basic(fields: &Fields<'_>) -> Result<EstAuth, SettingsError> {
    Ok(EstAuth::Basic {
        username: fields.required("username", Item::username)?,
        password: fields.required("password", Item::source)?,
    })
}

fn cert(fields: &Fields<'_>) -> Result<EstAuth, SettingsError> {
    Ok(EstAuth::Cert {
        certificate: fields.required("certificate", Item::source)?,
        key: fields.required("key", Item::source)?,
    })
}

impl Item<'_> {
    /// Reads one segment of a path, of characters that need no escape.
    fn est_label(&self) -> Result<String, SettingsError> {
        let label = self.text()?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.~".contains(c);
        if label.chars().all(plain) && !label.chars().all(|c| c == '.') {
            return Ok(label);
        }
        Err(self.is_wrong("is not a label").with_hint("a label is one word, for example clients"))
    }

    /// Reads a user name as HTTP Basic can carry it (RFC 7617 §2).
    fn username(&self) -> Result<String, SettingsError> {
        let name = self.text()?;
        if name.contains(':') {
            return Err(self
                .is_wrong("has a colon in it, which no user name of HTTP Basic has")
                .with_hint("give the name alone; the password has a key of its own"));
        }
        Ok(name)
    }

    fn est_auth(&self) -> Result<EstAuth, SettingsError> {
        Fields::read_kind(self.table("a table", "{ method = \"bearer\" }")?, "method", EST_METHODS)
    }
}
