//! A source of a secret, and the command that can be one.
//! An inline table comes in, a [`Source`] goes out.
//! A secret in its place is refused and not repeated.

use std::time::Duration;

use crate::error::SettingsError;
use crate::identity::CommandSource;
use crate::reader::fields::Fields;
use crate::reader::item::Item;
use crate::reader::shape::{Keys, may};
use crate::source::Source;

/// Keys of a source: exactly one of the first three.
pub(crate) const KEYS: Keys = &[&[may("env"), may("file"), may("command"), may("timeout")]];

impl Item<'_> {
    /// Reads `{ env = … }`, `{ file = … }` or `{ command = … }`.
    pub(crate) fn source(&self) -> Result<Source, SettingsError> {
        if self.is_text() {
            return Err(self.literal_secret());
        }
        let fields = Fields::open(self.table("a source", ONE_OF)?, KEYS)?;
        for (one, other) in [("env", "file"), ("env", "command"), ("file", "command")] {
            fields.at_most_one(one, other)?;
        }
        fields.needs("timeout", "command")?;
        if let Some(variable) = fields.optional("env", Item::variable)? {
            return Ok(Source::Env(variable));
        }
        if let Some(path) = fields.optional("file", Item::path)? {
            return Ok(Source::File(path));
        }
        if fields.has("command") {
            return Ok(Source::Command(command(&fields)?));
        }
        Err(self.is_wrong("names no source").with_hint(ONE_OF))
    }
}

/// Reads `command` and `timeout`.
pub(crate) fn command(fields: &Fields<'_>) -> Result<CommandSource, SettingsError> {
    Ok(CommandSource {
        argv: fields.required("command", Item::argv)?,
        timeout: fields.optional("timeout", Item::duration)?.unwrap_or(COMMAND_TIMEOUT),
    })
}

const COMMAND_TIMEOUT: Duration = Duration::from_secs(5);

const ONE_OF: &str = "one of { env = \"NAME\" }, { file = \"/path\" }, { command = [\"prog\", \"arg\"] }";
