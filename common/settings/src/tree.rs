//! What was written, before it is understood: keys and values, each with its place.
//! TOML and arguments both become this tree; the readers of `reader/` give it its meaning.
//! Has no `Debug`: a value may be a secret that somebody wrote where a source belongs.

use std::rc::Rc;

use crate::arguments::Part;
use crate::error::SettingsError;

/// Says where something stands.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) file: Rc<str>,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

#[derive(Clone)]
pub(crate) enum Value {
    Text(String),
    Integer(String),
    Float,
    Flag(bool),
    Datetime,
    List(Vec<Node>),
    Table(Table),
}

#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) value: Value,
}

#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// How the user wrote the name: the key itself, or an argument.
    pub(crate) shown: String,
    pub(crate) place: Place,
    pub(crate) node: Node,
}

#[derive(Clone)]
pub(crate) struct Table {
    pub(crate) place: Place,
    /// How a sentence names the table: `[issuer.x]`.
    pub(crate) title: String,
    pub(crate) spelling: Spelling,
    pub(crate) entries: Vec<Entry>,
}

/// Says whether keys or arguments were written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spelling {
    Keys,
    Arguments(Part),
}

impl Value {
    /// Names the type, as in "found an integer".
    pub(crate) const fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) => "a string",
            Self::Integer(_) => "an integer",
            Self::Float => "a float",
            Self::Flag(_) => "a boolean",
            Self::Datetime => "a date or time",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }

    fn same_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) | (Self::Integer(a), Self::Integer(b)) => a == b,
            (Self::Flag(a), Self::Flag(b)) => a == b,
            (Self::List(a), Self::List(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.value.same_as(&b.value))
            }
            (Self::Table(a), Self::Table(b)) => {
                let known =
                    |entry: &Entry| b.find(&entry.name).is_some_and(|b| entry.node.value.same_as(&b.node.value));
                a.entries.len() == b.entries.len() && a.entries.iter().all(known)
            }
            _ => false,
        }
    }
}

impl Table {
    pub(crate) fn find(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// Adds another file's table: tables are merged down to `levels`, below that a key may not have two values.
    pub(crate) fn merge(&mut self, other: Self, levels: u8) -> Result<(), SettingsError> {
        for theirs in other.entries {
            match self.entries.iter_mut().find(|own| own.name == theirs.name) {
                Some(own) => own.merge(theirs, levels)?,
                None => self.entries.push(theirs),
            }
        }
        Ok(())
    }
}

impl Entry {
    fn merge(&mut self, other: Self, levels: u8) -> Result<(), SettingsError> {
        if let (Value::Table(own), true) = (&mut self.node.value, levels > 0) {
            return match other.node.value {
                Value::Table(theirs) => own.merge(theirs, levels - 1),
                _ => Err(two_values(&self.place, &other.place, &self.name)),
            };
        }
        if self.node.value.same_as(&other.node.value) {
            return Ok(());
        }
        Err(two_values(&self.place, &other.place, &self.name))
    }
}

impl Spelling {
    /// Spells a key as the user has to write it.
    pub(crate) fn spell(self, key: &str) -> String {
        match self {
            Self::Keys => key.to_owned(),
            Self::Arguments(part) => part.spell(key),
        }
    }

    /// Says what is written: keys or arguments.
    pub(crate) const fn noun(self) -> &'static str {
        match self {
            Self::Keys => "key",
            Self::Arguments(_) => "argument",
        }
    }
}

fn two_values(first: &Place, second: &Place, name: &str) -> SettingsError {
    SettingsError::at(second, format!("`{name}` has another value in {}:{}", first.file, first.line))
        .with_hint("keep one of the two")
}
