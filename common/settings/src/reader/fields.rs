//! A table whose keys are known: nothing unknown in it, nothing missing.
//! A table and its shape come in, typed values by key go out.
//! Mistakes are told at the key or value itself, with the nearest valid word.

use crate::error::SettingsError;
use crate::reader::item::Item;
use crate::reader::shape::{Key, Keys, Kind};
use crate::text::nearest;
use crate::tree::{Entry, Spelling, Table, Value};

/// Lends the values of one table.
pub(crate) struct Fields<'t> {
    pub(crate) table: &'t Table,
    keys: Keys,
    /// What the keys belong to, for hints: `kind "env"`.
    of: String,
}

impl<'t> Fields<'t> {
    /// Opens a table that has one shape only.
    pub(crate) fn open(table: &'t Table, keys: Keys) -> Result<Self, SettingsError> {
        let of = if table.title.is_empty() { "this source".to_owned() } else { table.title.clone() };
        Self { table, keys, of }.checked(&[])
    }

    /// Opens a table whose shape follows from the word under `choice`, and reads it.
    pub(crate) fn read_kind<T>(table: &'t Table, choice: &'static str, kinds: &[Kind<T>]) -> Result<T, SettingsError> {
        let words = || kinds.iter().map(|kind| kind.word);
        let Some(entry) = table.find(choice) else {
            return Err(
                missing(table, choice).with_hint(format!("{choice}s: {}", words().collect::<Vec<_>>().join(", ")))
            );
        };
        let item = Item::of(entry);
        let word = item.text()?;
        let Some(kind) = kinds.iter().find(|kind| kind.word == word) else {
            return Err(item.error(format!("unknown {choice} `{word}`")).with_hint(nearest::hint(
                &word,
                words(),
                &format!("{choice}s"),
            )));
        };
        let of = format!("{choice} \"{word}\"");
        (kind.read)(&Self { table, keys: kind.keys, of }.checked(&[choice])?)
    }

    /// Gives a value, if the key is there.
    pub(crate) fn optional<T>(
        &self,
        key: &str,
        read: fn(&Item<'t>) -> Result<T, SettingsError>,
    ) -> Result<Option<T>, SettingsError> {
        self.entry(key).map(|entry| read(&Item::of(entry))).transpose()
    }

    /// Gives a value that has to be there.
    pub(crate) fn required<T>(
        &self,
        key: &str,
        read: fn(&Item<'t>) -> Result<T, SettingsError>,
    ) -> Result<T, SettingsError> {
        self.optional(key, read)?.ok_or_else(|| self.missing(key))
    }

    /// Gives the values of a list, or the one value that stands for it; nothing when the key is not there.
    pub(crate) fn list<T>(
        &self,
        key: &str,
        read: fn(&Item<'t>) -> Result<T, SettingsError>,
    ) -> Result<Vec<T>, SettingsError> {
        let Some(entry) = self.entry(key) else { return Ok(Vec::new()) };
        Item::of(entry).items().iter().map(read).collect()
    }

    /// Gives a flag; `false` when the key is not there.
    pub(crate) fn flag(&self, key: &str) -> Result<bool, SettingsError> {
        Ok(self.optional(key, Item::flag)?.unwrap_or(false))
    }

    /// Gives what a word stands for.
    pub(crate) fn word<T: Copy>(&self, key: &str, words: &[(&'static str, T)]) -> Result<Option<T>, SettingsError> {
        self.entry(key).map(|entry| Item::of(entry).word(words)).transpose()
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.entry(key).is_some()
    }

    /// Gives what was written under a key of the shape.
    pub(crate) fn entry(&self, key: &str) -> Option<&'t Entry> {
        debug_assert!(self.keys().any(|known| known.name == key), "`{key}` is read but is not in the shape");
        self.table.find(key)
    }

    /// Tells a mistake at a key that is there, or else at the table.
    pub(crate) fn error_at(&self, key: &str, what: impl AsRef<str>) -> SettingsError {
        SettingsError::at(self.table.find(key).map_or(&self.table.place, |entry| &entry.place), what)
    }

    pub(crate) fn missing(&self, key: &str) -> SettingsError {
        // The table that `credmint setup` begins: what to name there is seldom known yet.
        let host = self.of.strip_prefix("[host.\"").and_then(|of| of.strip_suffix("\"]"));
        let hint = match host.filter(|_| key == "issuer") {
            Some(host) => {
                format!("add issuer = \"NAME\", of an [issuer.NAME] table; credmint setup {host} shows an example")
            }
            None => format!("{} needs {}", self.of, self.quoted(key)),
        };
        missing(self.table, key).with_hint(hint)
    }

    /// Refuses two keys that say the same in different ways.
    pub(crate) fn at_most_one(&self, one: &str, other: &str) -> Result<(), SettingsError> {
        if !self.has(one) || !self.has(other) {
            return Ok(());
        }
        let what = format!("{} and {} contradict each other", self.quoted(one), self.quoted(other));
        Err(self.error_at(other, what).with_hint("keep one of the two"))
    }

    /// Refuses a key that has no meaning without another.
    pub(crate) fn needs(&self, key: &str, other: &str) -> Result<(), SettingsError> {
        if !self.has(key) || self.has(other) {
            return Ok(());
        }
        let what = format!("{} has no meaning without {}", self.quoted(key), self.quoted(other));
        Err(self.error_at(key, what).with_hint(format!("add {}", self.quoted(other))))
    }

    /// Spells a key the way the user writes it.
    pub(crate) fn quoted(&self, key: &str) -> String {
        let shown = self.table.find(key).map(|entry| entry.shown.clone());
        format!("`{}`", shown.unwrap_or_else(|| self.table.spelling.spell(key)))
    }

    /// Spells a key with its value the way the user writes it.
    pub(crate) fn assignment(&self, key: &str, value: &str) -> String {
        match self.table.spelling {
            Spelling::Keys => format!("{key} = \"{value}\""),
            Spelling::Arguments(_) => format!("{}={value}", self.table.spelling.spell(key)),
        }
    }

    fn keys(&self) -> impl Iterator<Item = &'static Key> + use<> {
        self.keys.iter().flat_map(|group| group.iter())
    }

    fn checked(self, choice: &[&'static str]) -> Result<Self, SettingsError> {
        let known = |entry: &&Entry| self.keys().any(|k| k.name == entry.name) || choice.contains(&entry.name.as_str());
        if let Some(entry) = self.table.entries.iter().find(|entry| !known(entry)) {
            return Err(self.unknown(entry));
        }
        match self.keys().find(|key| key.required && !self.has(key.name)) {
            Some(key) => Err(self.missing(key.name)),
            None => Ok(self),
        }
    }

    fn unknown(&self, entry: &Entry) -> SettingsError {
        if matches!(entry.node.value, Value::Text(_)) && is_secret_word(&entry.name) {
            return Item::of(entry).literal_secret();
        }
        let spelling = self.table.spelling;
        let names: Vec<String> = self.keys().map(|key| spelling.spell(key.name)).collect();
        let all = format!("{}s of {}", spelling.noun(), self.of);
        let hint = match spelling {
            Spelling::Keys => nearest::hint(&entry.shown, names.iter().map(String::as_str), &all),
            Spelling::Arguments(_) => format!("{all}: {}", names.join(", ")),
        };
        let what = match spelling {
            Spelling::Keys => format!("unknown key `{}`", entry.shown),
            Spelling::Arguments(_) => format!("`{}` has no meaning with {}", entry.shown, self.of),
        };
        SettingsError::at(&entry.place, what).with_hint(hint)
    }
}

fn missing(table: &Table, key: &str) -> SettingsError {
    let spelling = table.spelling;
    let inside = if table.title.is_empty() { String::new() } else { format!(" in {}", table.title) };
    SettingsError::at(&table.place, format!("missing {} `{}`{inside}", spelling.noun(), spelling.spell(key)))
}

/// Tells the names under which people try to write a secret down.
pub(crate) fn is_secret_word(name: &str) -> bool {
    let name = name.replace('-', "_");
    SECRET_WORDS.iter().any(|word| name == *word || name.strip_suffix(word).is_some_and(|rest| rest.ends_with('_')))
}

const SECRET_WORDS: [&str; 12] = [
    "token",
    "secret",
    "secret_id",
    "password",
    "passphrase",
    "jwt",
    "private_key",
    "client_key",
    "api_key",
    "assertion",
    "credential",
    "credentials",
];
