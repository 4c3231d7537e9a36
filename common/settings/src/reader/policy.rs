//! What narrows a route: the issuer of a plan, and who may ask.
//! Fields of a host's or a provider's table come in, a [`Policy`] goes out.
//! Whether the two issuers of a provider go together is checked here.

use std::path::Path;

use credmint_vocabulary::Phase;

use crate::error::SettingsError;
use crate::issuer::Issuer;
use crate::policy::{Allow, Policy};
use crate::reader::fields::Fields;
use crate::reader::host::{defined, fits};
use crate::reader::item::Item;
use crate::reader::shape::{Key, Keys, may};
use crate::route::Settings;

/// Keys of a provider's policy.
pub(crate) const POLICY: &[Key] = &[may("plan_issuer"), may("allow")];

/// Keys of `allow`.
pub(crate) const ALLOW: Keys = &[&[may("commands"), may("directories"), may("phases")]];

/// Reads the policy of a provider.
pub(crate) fn policy(
    fields: &Fields<'_>,
    identities: &[String],
    issuer: (&str, &Issuer),
    known: &Settings,
) -> Result<Policy, SettingsError> {
    Ok(Policy { plan_issuer: plan_issuer(fields, identities, issuer, known)?, allow: allow(fields)? })
}

/// Finds who grants while nothing is to be changed: the same kind of thing, for the same client reads it.
fn plan_issuer(
    fields: &Fields<'_>,
    identities: &[String],
    (first, issuer): (&str, &Issuer),
    known: &Settings,
) -> Result<Option<String>, SettingsError> {
    let Some(entry) = fields.entry("plan_issuer") else { return Ok(None) };
    let item = Item::of(entry);
    let (name, found) = defined(&item, "issuer", &known.issuers)?;
    if granted(found) != granted(issuer) {
        let what = format!("issuer `{name}` grants {}, and issuer `{first}` {}", granted(found), granted(issuer));
        return Err(item
            .error(what)
            .with_hint("one program reads both: they have to grant the same kind of credential"));
    }
    if fields.has("token_issuer") {
        let what = "`plan_issuer` and `token_issuer` do not go together";
        return Err(item.error(what).with_hint("make two providers of it"));
    }
    fits(fields, identities, (&name, found), known)?;
    Ok(Some(name))
}

const fn granted(issuer: &Issuer) -> &'static str {
    match issuer {
        _ if issuer.grants_keys() => "keys of AWS",
        _ if issuer.grants_certificate() => "a certificate",
        _ => "a token",
    }
}

/// Reads `allow`; one that says nothing is a mistake.
pub(crate) fn allow(fields: &Fields<'_>) -> Result<Option<Allow>, SettingsError> {
    let Some(entry) = fields.entry("allow") else { return Ok(None) };
    let item = Item::of(entry);
    let inner = Fields::open(item.table("a table", EXAMPLE)?, ALLOW)?;
    let allow = Allow {
        commands: inner.list("commands", Item::command)?,
        directories: inner.list("directories", Item::path)?,
        phases: inner.list("phases", |item| item.word(&Phase::WORDS))?,
    };
    let (commands, directories) = (inner.has("commands"), inner.has("directories"));
    let is_empty = |is_there: bool, is_empty: bool| is_there && is_empty;
    if allow == Allow::default()
        || is_empty(commands, allow.commands.is_empty())
        || is_empty(directories, allow.directories.is_empty())
        || is_empty(inner.has("phases"), allow.phases.is_empty())
    {
        return Err(item.is_wrong("allows nothing").with_hint(format!("write allow = {EXAMPLE}")));
    }
    Ok(Some(allow))
}

impl Item<'_> {
    /// Reads the name of a program, or its absolute path.
    fn command(&self) -> Result<String, SettingsError> {
        let text = self.text()?;
        let is_name = !text.contains(['/', '\\']);
        if is_name || Path::new(&text).is_absolute() {
            return Ok(text);
        }
        Err(self
            .is_wrong("is neither the name of a program nor an absolute path")
            .with_hint("\"terraform\", or \"/usr/bin/terraform\""))
    }
}

const EXAMPLE: &str = "{ commands = [\"terraform\", \"tofu\"], directories = [\"/srv/infra\"], phases = [\"plan\"] }";
