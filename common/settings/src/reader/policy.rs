//! What narrows a route: the issuer of a plan, who may ask, and what a job gets that has no user.
//! Fields of a host's or a provider's table come in, a [`Policy`] goes out.
//! Whether the issuers of a provider go together is checked here.

use std::path::Path;

use credmint_vocabulary::Phase;

use crate::error::SettingsError;
use crate::issuer::Issuer;
use crate::policy::{AfterRun, Allow, Policy, WhenAbsent};
use crate::reader::fields::Fields;
use crate::reader::host::{defined, fits};
use crate::reader::item::Item;
use crate::reader::shape::{Key, Keys, may};
use crate::route::Settings;

/// Keys of a provider's policy.
pub(crate) const POLICY: &[Key] = &[
    may("plan_issuer"),
    may("allow"),
    may("when_absent"),
    may("fallback_identity"),
    may("fallback_issuer"),
    may("after_run"),
];

/// Keys of `allow`.
pub(crate) const ALLOW: Keys = &[&[may("commands"), may("directories"), may("phases")]];

/// Reads the policy of a provider.
pub(crate) fn policy(
    fields: &Fields<'_>,
    identities: &[String],
    issuer: (&str, &Issuer),
    known: &Settings,
) -> Result<Policy, SettingsError> {
    let plan_issuer = plan_issuer(fields, identities, issuer, known)?;
    let when_absent = when_absent(fields, issuer, plan_issuer.as_deref(), known)?;
    let after_run = fields.word("after_run", &AfterRun::WORDS)?.unwrap_or_default();
    Ok(Policy { plan_issuer, allow: allow(fields)?, when_absent, after_run })
}

/// Finds who grants while nothing is to be changed.
fn plan_issuer(
    fields: &Fields<'_>,
    identities: &[String],
    first: (&str, &Issuer),
    known: &Settings,
) -> Result<Option<String>, SettingsError> {
    let Some((name, found)) = alternative(fields, "plan_issuer", first, known)? else { return Ok(None) };
    fits(fields, identities, (&name, found), known)?;
    Ok(Some(name))
}

/// Finds an issuer that may take the place of the first: the same kind of thing, for the same client reads it.
fn alternative<'k>(
    fields: &Fields<'_>,
    key: &str,
    (first, issuer): (&str, &Issuer),
    known: &'k Settings,
) -> Result<Option<(String, &'k Issuer)>, SettingsError> {
    let Some(entry) = fields.entry(key) else { return Ok(None) };
    let item = Item::of(entry);
    let (name, found) = defined(&item, "issuer", &known.issuers)?;
    if granted(found) != granted(issuer) {
        let what = format!("issuer `{name}` grants {}, and issuer `{first}` {}", granted(found), granted(issuer));
        let hint = "one program reads both: they have to grant the same kind of credential";
        return Err(item.error(what).with_hint(hint));
    }
    if fields.has("token_issuer") {
        let what = format!("{} and {} do not go together", fields.quoted(key), fields.quoted("token_issuer"));
        return Err(item.error(what).with_hint("make two providers of it"));
    }
    Ok(Some((name, found)))
}

const fn granted(issuer: &Issuer) -> &'static str {
    match issuer {
        _ if issuer.grants_keys() => "keys of AWS",
        _ if issuer.grants_certificate() => "a certificate",
        _ => "a token",
    }
}

/// The words of `when_absent`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Refuse,
    Fallback,
    Placeholder,
}

const WORDS: [(&str, Word); 3] =
    [("refuse", Word::Refuse), ("fallback", Word::Fallback), ("placeholder", Word::Placeholder)];

/// Reads what a job gets that has no user.
fn when_absent(
    fields: &Fields<'_>,
    first: (&str, &Issuer),
    plan_issuer: Option<&str>,
    known: &Settings,
) -> Result<WhenAbsent, SettingsError> {
    let word = fields.word("when_absent", &WORDS)?.unwrap_or(Word::Refuse);
    let of_fallback = ["fallback_identity", "fallback_issuer"].into_iter().find(|key| fields.has(key));
    match (word, of_fallback) {
        (Word::Fallback, _) => fallback(fields, first, plan_issuer, known),
        (_, Some(key)) => {
            let what = format!("{} has no meaning without `when_absent = \"fallback\"`", fields.quoted(key));
            Err(fields.error_at(key, what).with_hint("add when_absent = \"fallback\", or leave it out"))
        }
        (Word::Placeholder, None) if !first.1.grants_keys() => Err(fields
            .error_at("when_absent", format!("no client takes a placeholder for {}", granted(first.1)))
            .with_hint("\"placeholder\" is for keys of AWS alone; write \"fallback\" or \"refuse\"")),
        (Word::Placeholder, None) => Ok(WhenAbsent::Placeholder),
        (Word::Refuse, None) => Ok(WhenAbsent::Refuse),
    }
}

fn fallback(
    fields: &Fields<'_>,
    first: (&str, &Issuer),
    plan_issuer: Option<&str>,
    known: &Settings,
) -> Result<WhenAbsent, SettingsError> {
    let usual = plan_issuer.unwrap_or(first.0).to_owned();
    let (name, found) = match alternative(fields, "fallback_issuer", first, known)? {
        Some(own) => own,
        None => {
            let found = known.issuers.get(&usual).unwrap_or(first.1);
            (usual, found)
        }
    };
    if fields.has("token_issuer") {
        let what = "a fallback and `token_issuer` do not go together";
        return Err(fields.error_at("when_absent", what).with_hint("make two providers of it"));
    }
    let identities = fallback_identities(fields, known)?;
    if identities.is_empty() && found.asks_who() {
        let hint = format!("issuer `{name}` has to know who is asking: add fallback_identity = \"NAME\"");
        return Err(fields.error_at("when_absent", "a fallback without an identity").with_hint(hint));
    }
    fits(fields, &identities, (&name, found), known)?;
    Ok(WhenAbsent::Fallback { identities, issuer: name })
}

/// Reads who takes the place of a user: nobody who would have to sign in.
fn fallback_identities(fields: &Fields<'_>, known: &Settings) -> Result<Vec<String>, SettingsError> {
    let Some(entry) = fields.entry("fallback_identity") else { return Ok(Vec::new()) };
    let read = |item: &Item<'_>| {
        let (name, found) = defined(item, "identity", &known.identities)?;
        if found.person().is_none() {
            return Ok(name);
        }
        let what = format!("identity `{name}` is a person, and a job without a user has none");
        Err(item.error(what).with_hint("name an identity of the machine"))
    };
    Item::of(entry).items().iter().map(read).collect()
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
    let counts =
        [("commands", allow.commands.len()), ("directories", allow.directories.len()), ("phases", allow.phases.len())];
    if allow == Allow::default() || counts.iter().any(|(key, count)| inner.has(key) && *count == 0) {
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
