//! The settings of a helper that is configured by `args` alone: `--key=value`, no file.
//! A program's name and its arguments come in, the same [`Settings`] as from a file go out: one identity, one issuer.
//! Has no rule of its own about values: arguments become the tree that a file would be, and `reader/` judges it.

use crate::error::SettingsError;
use crate::reader;
use crate::route::Settings;
use crate::text::nearest;
use crate::tree::{Entry, Node, Place, Spelling, Table, Value};

pub(crate) mod words;

use words::{Form, Program, Word};

/// The part of the settings that an argument belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The host itself: `--host=`.
    Name,
    /// A key of each host.
    Host,
    /// A key of the identity.
    Identity,
    /// A key of the issuer of kind `vault-pki`.
    Vault,
    /// A key of its `auth`.
    Auth,
    /// A key of the issuer of kind `token-exchange`.
    Exchange,
    /// A key of the issuer of kind `oidc`, which passes the identity's token on.
    PassedOn,
}

impl Part {
    /// Names the part, for the reference.
    #[cfg(test)]
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Name | Self::Host => "host",
            Self::Identity => "identity",
            Self::Vault | Self::PassedOn => "issuer",
            Self::Auth => "auth",
            Self::Exchange => "exchange",
        }
    }

    /// Spells a key as the argument that sets it.
    pub(crate) fn spell(self, key: &str) -> String {
        let words = Program::ALL.iter().flat_map(|program| program.words());
        let word = words.into_iter().find(|word| word.part == self && word.key == key);
        word.map_or_else(|| format!("--{}", key.replace('_', "-")), |word| word.name.to_owned())
    }
}

/// Reads the settings from the arguments of `terraform-credentials-vault-pki` or `terraform-credentials-oidc`:
/// a host for each `--host=`, one identity and one issuer, both named `args`.
///
/// # Errors
/// The first mistake, with the program's name and `argument N` (from 1) in place of the file.
pub fn from_args(program: &str, args: &[String]) -> Result<Settings, SettingsError> {
    let whole = Place { file: program.into(), line: 0, column: 0 };
    let Some(kind) = Program::ALL.into_iter().find(|known| known.name() == program) else {
        return Err(SettingsError::at(&whole, "this program takes no settings from arguments"));
    };
    let mut written = Written::new(kind, whole);
    for (at, argument) in args.iter().enumerate() {
        let place = Place { file: format!("{program} argument {}", at + 1).into(), line: 0, column: 0 };
        written.take(&place, argument)?;
    }
    reader::settings(&written.into_root()?)
}

/// Collects what the arguments say, part by part.
struct Written {
    program: Program,
    whole: Place,
    names: Vec<Entry>,
    host: Table,
    identity: Table,
    issuer: Table,
    passed_on: Table,
    auth: Table,
}

impl Written {
    fn new(program: Program, whole: Place) -> Self {
        let part = |part| table(&whole, Spelling::Arguments(part));
        Self {
            program,
            names: Vec::new(),
            host: part(Part::Host),
            identity: part(Part::Identity),
            issuer: part(program.issuer_part()),
            passed_on: part(Part::PassedOn),
            auth: part(Part::Auth),
            whole,
        }
    }

    fn take(&mut self, place: &Place, argument: &str) -> Result<(), SettingsError> {
        let (name, value) = match argument.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (argument, None),
        };
        if !name.starts_with("--") {
            return Err(SettingsError::at(place, "not an argument of the form --key=value")
                .with_hint("write the value behind an equals sign: --key=value"));
        }
        let Some(word) = self.program.words().find(|word| word.name == name) else {
            return Err(self.unknown(place, name));
        };
        match (word.form, value) {
            (Form::Flag, Some(_)) => {
                Err(SettingsError::at(place, format!("`{name}` takes no value"))
                    .with_hint(format!("write {name} alone")))
            }
            (Form::Flag | Form::Kubernetes, None) => self.put(place, word, None),
            (_, Some(value)) => self.put(place, word, Some(value)),
            (_, None) => Err(SettingsError::at(place, format!("`{name}` has no value"))
                .with_hint(format!("write {name}=VALUE, with an equals sign"))),
        }
    }

    fn unknown(&self, place: &Place, name: &str) -> SettingsError {
        let has_source = self.program.words().any(|word| word.name.strip_suffix("-file") == Some(name));
        if has_source || reader::is_secret_word(name.trim_start_matches("--")) {
            let sources = if has_source { name } else { "--identity" };
            let what = format!("`{name}` would put a secret into the arguments, which others can read");
            return SettingsError::at(place, what)
                .with_hint(format!("name its source: {sources}-env=NAME or {sources}-file=/path"));
        }
        let hint = nearest::hint(name, self.program.words().map(|word| word.name), "arguments");
        SettingsError::at(place, format!("unknown argument `{name}`")).with_hint(hint)
    }

    fn put(&mut self, place: &Place, word: &Word, value: Option<&str>) -> Result<(), SettingsError> {
        let target = match word.part {
            Part::Name => return self.put_name(place, value.unwrap_or_default()),
            Part::Host => &mut self.host,
            Part::Identity => &mut self.identity,
            Part::Vault | Part::Exchange => &mut self.issuer,
            Part::PassedOn => &mut self.passed_on,
            Part::Auth => &mut self.auth,
        };
        put_value(target, place, word, value)
    }

    fn put_name(&mut self, place: &Place, name: &str) -> Result<(), SettingsError> {
        if self.names.iter().any(|known| known.name == name) {
            return Err(SettingsError::at(place, "`--host` names this host twice").with_hint("keep one of the two"));
        }
        self.names.push(entry(place, name, "--host", Value::Flag(true)));
        Ok(())
    }

    /// Puts the parts together as a file would have them.
    fn into_root(self) -> Result<Table, SettingsError> {
        let whole = self.whole.clone();
        if self.names.is_empty() {
            return Err(SettingsError::at(&whole, "missing argument `--host`")
                .with_hint("--host=NAME says which host this is for; it may stand there more than once"));
        }
        let mut host = self.host;
        put_text(&mut host, "issuer", ARGS);
        let mut sections = Vec::new();
        if !self.identity.entries.is_empty() {
            put_text(&mut host, "identity", ARGS);
            sections.push(section(&whole, "identity", vec![named(&whole, ARGS, self.identity)]));
        }
        let issuer = whole_issuer(self.program, self.issuer, self.passed_on, self.auth)?;
        sections.push(section(&whole, "issuer", vec![named(&whole, ARGS, issuer)]));
        let hosts = self.names.into_iter().map(|name| named(&name.place, &name.name, host.clone()));
        sections.push(section(&whole, "host", hosts.collect()));
        Ok(Table { entries: sections, ..table(&whole, Spelling::Keys) })
    }
}

/// Decides which kind of issuer the arguments describe.
fn whole_issuer(program: Program, mut issuer: Table, passed_on: Table, auth: Table) -> Result<Table, SettingsError> {
    match (program, passed_on.entries.first()) {
        (Program::VaultPki, _) => {
            put_text(&mut issuer, "kind", "vault-pki");
            if !auth.entries.is_empty() {
                issuer.entries.push(entry(&issuer.place, "auth", "--auth", Value::Table(auth)));
            }
            Ok(issuer)
        }
        (Program::Oidc, _) if issuer.entries.is_empty() => {
            let mut issuer = passed_on;
            put_text(&mut issuer, "kind", "oidc");
            Ok(issuer)
        }
        (Program::Oidc, Some(check)) => {
            Err(SettingsError::at(&check.place, format!("`{}` has no meaning in a token exchange", check.shown))
                .with_hint("--exchange-audience=NAME is what the exchange asks for"))
        }
        (Program::Oidc, None) => {
            put_text(&mut issuer, "kind", "token-exchange");
            Ok(issuer)
        }
    }
}

fn put_value(target: &mut Table, place: &Place, word: &Word, value: Option<&str>) -> Result<(), SettingsError> {
    let text = || Value::Text(value.unwrap_or_default().to_owned());
    let node = |value| Node { place: place.clone(), value };
    if let Some(kind) = word.form.identity_kind() {
        if let Some(first) = target.find("kind") {
            let what = format!("`{}` and `{}` are two identities", first.shown, word.name);
            return Err(SettingsError::at(place, what).with_hint("keep one of the two"));
        }
        target.entries.push(entry(place, "kind", word.name, Value::Text(kind.to_owned())));
    }
    let value = match word.form {
        Form::Kubernetes if value.is_none() => return Ok(()),
        Form::Flag => Value::Flag(true),
        Form::Command => {
            let argv = value.unwrap_or_default().split_whitespace();
            Value::List(argv.map(|part| node(Value::Text(part.to_owned()))).collect())
        }
        Form::List => return put_item(target, place, word, node(text())),
        Form::SourceEnv => return put_source(target, place, word, ("env", text())),
        Form::SourceFile => return put_source(target, place, word, ("file", text())),
        Form::Text | Form::Env | Form::File | Form::Kubernetes => text(),
    };
    put_once(target, entry(place, word.key, word.name, value))
}

fn put_once(target: &mut Table, new: Entry) -> Result<(), SettingsError> {
    if target.find(&new.name).is_some() {
        return Err(SettingsError::at(&new.place, format!("`{}` stands there twice", new.shown))
            .with_hint("keep one of the two"));
    }
    target.entries.push(new);
    Ok(())
}

fn put_item(target: &mut Table, place: &Place, word: &Word, item: Node) -> Result<(), SettingsError> {
    match target.entries.iter_mut().find(|known| known.name == word.key) {
        Some(Entry { node: Node { value: Value::List(items), .. }, .. }) => {
            items.push(item);
            Ok(())
        }
        _ => put_once(target, entry(place, word.key, word.name, Value::List(vec![item]))),
    }
}

fn put_source(
    target: &mut Table,
    place: &Place,
    word: &Word,
    (key, value): (&str, Value),
) -> Result<(), SettingsError> {
    let named = entry(place, key, word.name, value);
    match target.entries.iter_mut().find(|known| known.name == word.key) {
        Some(Entry { node: Node { value: Value::Table(source), .. }, .. }) => put_once(source, named),
        _ => {
            let source = Table { entries: vec![named], ..table(place, target.spelling) };
            put_once(target, entry(place, word.key, word.name, Value::Table(source)))
        }
    }
}

fn put_text(target: &mut Table, key: &str, value: &str) {
    target.entries.push(entry(&target.place, key, &target.spelling.spell(key), Value::Text(value.to_owned())));
}

fn named(place: &Place, name: &str, inner: Table) -> Entry {
    entry(place, name, name, Value::Table(inner))
}

fn section(place: &Place, name: &str, entries: Vec<Entry>) -> Entry {
    named(place, name, Table { entries, ..table(place, Spelling::Keys) })
}

fn entry(place: &Place, name: &str, shown: &str, value: Value) -> Entry {
    let node = Node { place: place.clone(), value };
    Entry { name: name.to_owned(), shown: shown.to_owned(), place: place.clone(), node }
}

fn table(place: &Place, spelling: Spelling) -> Table {
    Table { place: place.clone(), title: String::new(), spelling, entries: Vec::new() }
}

/// The name of the one identity and the one issuer.
const ARGS: &str = "args";
