//! TOML text to the tree, with the line and column of every key and value.
//! The text and the name to show come in, a table or the first mistake goes out.
//! Knows no key: what a key means is the business of `reader/`.

use std::ops::Range;
use std::rc::Rc;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::error::SettingsError;
use crate::tree::{Entry, Node, Place, Spelling, Table, Value};

/// Reads one file.
pub(crate) fn parse(file: &str, text: &str) -> Result<Table, SettingsError> {
    let lines = Lines::of(file, text);
    if text.starts_with('\u{feff}') {
        return Err(SettingsError::at(&lines.place(0), "the file begins with a byte order mark (BOM)")
            .with_hint("save it as UTF-8 without BOM"));
    }
    match DeTable::parse(text) {
        Ok(root) => Ok(table(&lines, lines.place(0), String::new(), root.get_ref())),
        Err(error) => Err(syntax_error(&lines, text, &error)),
    }
}

struct Lines<'t> {
    file: Rc<str>,
    text: &'t str,
    /// Byte position at which each line begins.
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn of(file: &str, text: &'t str) -> Self {
        let after_breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { file: file.into(), text, starts: std::iter::once(0).chain(after_breaks).collect() }
    }

    fn place(&self, at: usize) -> Place {
        let line = self.starts.partition_point(|start| *start <= at);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let column = self.text.get(start..at).map_or(0, |before| before.chars().count()) + 1;
        Place { file: Rc::clone(&self.file), line, column }
    }
}

fn table(lines: &Lines<'_>, place: Place, path: String, written: &DeTable<'_>) -> Table {
    let mut keys: Vec<_> = written.iter().collect();
    keys.sort_by_key(|(key, _)| key.span().start);
    let entries = keys.into_iter().map(|(key, value)| entry(lines, &path, key, value)).collect();
    Table { place, title: format!("[{path}]"), spelling: Spelling::Keys, entries }
}

fn entry(lines: &Lines<'_>, parent: &str, key: &Spanned<DeString<'_>>, value: &Spanned<DeValue<'_>>) -> Entry {
    let name = key.get_ref().to_string();
    let path = if parent.is_empty() { bare_or_quoted(&name) } else { format!("{parent}.{}", bare_or_quoted(&name)) };
    Entry { shown: name.clone(), place: lines.place(key.span().start), node: node(lines, path, value), name }
}

fn node(lines: &Lines<'_>, path: String, written: &Spanned<DeValue<'_>>) -> Node {
    let place = lines.place(written.span().start);
    let value = match written.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => Value::Integer(number.to_string()),
        DeValue::Float(_) => Value::Float,
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Datetime(_) => Value::Datetime,
        DeValue::Array(items) => Value::List(items.iter().map(|item| node(lines, path.clone(), item)).collect()),
        DeValue::Table(inner) => Value::Table(table(lines, place.clone(), path, inner)),
    };
    Node { place, value }
}

fn bare_or_quoted(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { format!("{name:?}") }
}

fn syntax_error(lines: &Lines<'_>, text: &str, error: &toml::de::Error) -> SettingsError {
    let span = error.span().unwrap_or(Range { start: text.len(), end: text.len() });
    let place = lines.place(span.start.min(text.len()));
    if error.message() == "duplicate key" {
        let key = text.get(span).unwrap_or_default();
        return SettingsError::at(&place, format!("duplicate key `{key}`")).with_hint("keep one of the two");
    }
    SettingsError::at(&place, format!("not TOML: {}", error.message()))
}
