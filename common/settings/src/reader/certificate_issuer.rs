//! `certificate_issuer`: an issuer that wants to see the certificate of another one.
//! The tables of all issuers come in, a mistake goes out when a name leads nowhere, or to no certificate.
//! Talks to none of them.

use std::collections::BTreeMap;

use crate::error::SettingsError;
use crate::issuer::Issuer;
use crate::reader::host::defined;
use crate::reader::item::Item;
use crate::tree::{Entry, Table, Value};

/// Checks the key wherever it stands.
pub(crate) fn check(section: Option<&Table>, known: &BTreeMap<String, Issuer>) -> Result<(), SettingsError> {
    let tables = section.into_iter().flat_map(|section| &section.entries).filter_map(|entry| match &entry.node.value {
        Value::Table(table) => table.find("certificate_issuer"),
        _ => None,
    });
    tables.into_iter().try_for_each(|entry| check_one(entry, known))
}

fn check_one(entry: &Entry, known: &BTreeMap<String, Issuer>) -> Result<(), SettingsError> {
    let item = Item::of(entry);
    let (name, issuer) = defined(&item, "issuer", known)?;
    if !issuer.grants_certificate() {
        let what = format!("issuer `{name}` grants no certificate");
        return Err(item.error(what).with_hint(format!("issuers of certificates are of kind {KINDS}")));
    }
    if matches!(issuer, Issuer::Offline(_)) {
        let what = format!("the certificates of issuer `{name}` are carried by people, who ask for a host");
        return Err(item.error(what).with_hint(format!("issuers that can be asked are of kind {KINDS}")));
    }
    Ok(())
}

const KINDS: &str = "\"vault-pki\", \"est\", \"step-ca\" or \"local-ca\"";
