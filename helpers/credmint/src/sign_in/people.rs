//! The people of the settings: identities of the kinds `oidc` and `vault-oidc`, by name.
//! A name, or none where there is only one, comes in; its table goes out, or a failure with the names there are.
//! Reads the settings as the agent would; it asks nobody.

use std::collections::BTreeMap;

use credmint_local_machine::SettingsFiles;
use credmint_settings::{Identity, Person, Remember, read};
use credmint_vocabulary::{Failure, FailureKind};

use crate::setup::settings_failure;

/// Holds those who can sign in.
pub(crate) struct People {
    list: BTreeMap<String, Identity>,
    place: String,
}

impl People {
    /// Reads the settings; a mistake in them is told, and so is that they name nobody.
    pub(crate) fn read() -> Result<Self, Failure> {
        let files = SettingsFiles::find();
        let texts = files.as_ref().map(SettingsFiles::read).transpose();
        let texts = texts.map_err(|error| Failure::new(FailureKind::Settings, error.to_string()))?.unwrap_or_default();
        let place = files.map_or_else(|| "the settings".to_owned(), |files| files.main.display().to_string());
        Self::of(&texts, place)
    }

    fn of(texts: &[(String, String)], place: String) -> Result<Self, Failure> {
        let settings = read(texts).map_err(|error| settings_failure(&error))?;
        let is_person = |(_, identity): &(String, Identity)| identity.person().is_some();
        let people = Self { list: settings.identities.into_iter().filter(is_person).collect(), place };
        if people.list.is_empty() {
            let what = "the settings name nobody who could sign in: no identity has the kind `oidc` or `vault-oidc`";
            let example = r#"[identity.me] with kind = "oidc", issuer = "https://…" and client_id = "…""#;
            return Err(Failure::new(FailureKind::Settings, what).hint(format!("add {example} to {}", people.place)));
        }
        Ok(people)
    }

    /// Finds one by name, or the only one. `verb` is for the hint.
    pub(crate) fn find(&self, name: Option<&str>, verb: &str) -> Result<(&str, Person<'_>), Failure> {
        let mut all = self.list.iter();
        let found = match name {
            Some(name) => self.list.get_key_value(name),
            None => all.next().filter(|_| all.next().is_none()),
        };
        let names = self.names();
        let hint = || format!("credmint {verb} {}", names.first().copied().unwrap_or_default());
        let what = || match name {
            Some(name) => {
                format!("`{name}` is no identity of a person (kind `oidc` or `vault-oidc`) in {}", self.place)
            }
            None => format!("which of them is meant: {}?", names.join(", ")),
        };
        let person = found.and_then(|(name, identity)| Some((name.as_str(), identity.person()?)));
        person.ok_or_else(|| Failure::new(FailureKind::Usage, what()).hint(hint()))
    }

    /// Tells whether the settings want the sign-in of one of them, or of anybody, to outlive the agent.
    pub(crate) fn is_remembered(&self, name: Option<&str>) -> bool {
        let meant = |own: &str| name.is_none_or(|name| name == own);
        let wants = |identity: &Identity| matches!(identity.person(), Some(Person::Oidc(person)) if person.remember == Remember::Keyring);
        self.list.iter().any(|(own, identity)| meant(own) && wants(identity))
    }

    /// Lists the names.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.list.keys().map(String::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn people(names: &[&str]) -> Result<People, Failure> {
        let table = |name| {
            format!("[identity.{name}]\nkind = \"oidc\"\nissuer = \"https://id.example\"\nclient_id = \"terraform\"\n")
        };
        let job = "[identity.job]\nkind = \"env\"\nvariable = \"TOKEN\"\n".to_owned();
        let text = names.iter().map(table).fold(job, |text, table| text + &table);
        People::of(&[("config.toml".to_owned(), text)], "config.toml".to_owned())
    }

    fn failure<T>(outcome: Result<T, Failure>) -> String {
        outcome.err().map(|failure| failure.to_string()).unwrap_or_default()
    }

    #[test]
    fn one_person_needs_no_name_and_two_do() {
        let one = people(&["me"]).expect("settings");
        assert_eq!(one.find(None, "login").expect("found").0, "me");
        let two = people(&["boss", "me"]).expect("settings");
        assert_eq!(two.find(Some("me"), "login").expect("found").0, "me");
        assert_eq!(failure(two.find(None, "logout")), "which of them is meant: boss, me?\nhint: credmint logout boss");
        assert!(failure(two.find(Some("job"), "login")).starts_with("`job` is no identity of a person"));
    }

    #[test]
    fn settings_without_people_say_what_to_add() {
        let text = failure(people(&[]));
        assert!(text.contains("nobody who could sign in") && text.contains("[identity.me]"), "{text}");
    }
}
