//! The credential helper of docker for the hosts of a provider.
//! The provider comes in, the change of docker's configuration goes out.
//! Reads only. docker/cli `cli/config/configfile/file.go`: `credHelpers`.

use std::path::{Path, PathBuf};

use credmint_protocols::docker::server;
use credmint_vocabulary::{Failure, FailureKind};

use super::edit::InTheWay;
use super::json_text::Object;
use super::{Plan, Wanted, edit, program};
use crate::programs;
use crate::setup::change::Change;
use crate::setup::configuration_file::read;

const KEY: &str = "credHelpers";
/// `docker-credential-credmint`, as docker says it.
const HELPER: &str = "\"credmint\"";
const PROGRAM: &str = "docker-credential-credmint";
/// What is left of a file that we made.
const BARE: &str = "{\n}\n";
/// How such a file begins.
const MADE: &str = "{\n\t\"credHelpers\": {\n\t\t";

/// Finds out what is to be done.
pub(super) fn plan(wanted: &Wanted<'_>) -> Result<Plan, Failure> {
    program::needs_hosts(wanted, "docker")?;
    let servers: Vec<String> = wanted.hosts.iter().map(|host| server(host.as_str())).collect();
    let path = edit::place("DOCKER_CONFIG", ".docker")?.join("config.json");
    let members: Vec<String> = servers.iter().map(|server| format!("    \"{server}\": {HELPER}")).collect();
    let missing = programs::in_path(PROGRAM).is_none() && !wanted.remove;
    Ok(Plan {
        notes: missing.then(not_in_path).into_iter().collect(),
        changes: if wanted.print { Vec::new() } else { change(path, &servers, wanted)?.into_iter().collect() },
        by_hand: format!("{{\n  \"{KEY}\": {{\n{}\n  }}\n}}", members.join(",\n")),
        next: servers.first().map(|server| format!("\nNext: docker pull {server}/NAME")).into_iter().collect(),
    })
}

fn not_in_path() -> String {
    format!("docker looks for {PROGRAM} in PATH, and it is not there: add the directory of credmint to PATH")
}

fn change(path: PathBuf, servers: &[String], wanted: &Wanted<'_>) -> Result<Option<Change>, Failure> {
    let old = read(&path)?;
    let Some(text) = old.clone().or_else(|| (!wanted.remove).then(|| BARE.to_owned())) else { return Ok(None) };
    check(&path, &text)?;
    let edited = servers.iter().try_fold(text.clone(), |text, server| match wanted.remove {
        true => Ok(remove(&text, server)),
        false => add(&text, server, old.is_none()),
    });
    let new = edited.map_err(|error: InTheWay| error.failure(&path))?;
    Ok(match old {
        Some(old) if old == new => None,
        Some(old) if old.starts_with(MADE) && new == BARE => Some(Change::Delete { path, old }),
        old => Some(Change::Write { path, old, new }),
    })
}

fn check(path: &Path, text: &str) -> Result<(), Failure> {
    let value = serde_json::from_str::<serde_json::Value>(text.trim_start_matches('\u{feff}'));
    let why = match value {
        Ok(value) if value.is_object() && value.get(KEY).is_none_or(serde_json::Value::is_object) => return Ok(()),
        Ok(_) => format!("is no object, or has a {KEY} that is none"),
        Err(error) => format!("is no JSON: line {}, column {}", error.line(), error.column()),
    };
    let what = format!("{} {why}; nothing was changed", path.display());
    Err(Failure::new(FailureKind::Settings, what).hint("mend the file, which docker reads too, and run this again"))
}

fn add(text: &str, server: &str, is_new: bool) -> Result<String, InTheWay> {
    let Some(object) = Object::at(text, 0) else { return Ok(text.to_owned()) };
    let Some(helpers) = object.member(KEY) else {
        if is_new {
            return Ok(format!("{MADE}{}: {HELPER}\n\t}}\n}}\n", serde_json::Value::from(server)));
        }
        return Ok(object.with(text, KEY, &members(object.gap(text), server)));
    };
    let Some(helpers) = Object::at(text, helpers.value.start) else { return Ok(text.to_owned()) };
    match helpers.member(server).and_then(|member| Some((member, text.get(member.value.clone())?))) {
        None => Ok(helpers.with(text, server, HELPER)),
        Some((_, HELPER)) => Ok(text.to_owned()),
        Some((member, other)) => Err(InTheWay {
            line: text.get(..member.value.start).unwrap_or_default().matches('\n').count() + 1,
            what: format!("has another helper for {server}, {other}"),
            hint: format!("write there {HELPER}, if credmint is to answer in its place"),
        }),
    }
}

/// Writes the object of helpers as the members beside it are written.
fn members(gap: &str, server: &str) -> String {
    let member = format!("{}: {HELPER}", serde_json::Value::from(server));
    match gap.rsplit_once('\n') {
        Some((_, indent)) => {
            let newline = if gap.contains("\r\n") { "\r\n" } else { "\n" };
            format!("{{{newline}{indent}{indent}{member}{newline}{indent}}}")
        }
        None => format!("{{ {member} }}"),
    }
}

/// Takes the host out, and the object of helpers if that came with it: then blanks stand before the host.
fn remove(text: &str, server: &str) -> String {
    let Some(object) = Object::at(text, 0) else { return text.to_owned() };
    let helpers = object.member(KEY).and_then(|helpers| Object::at(text, helpers.value.start));
    let ours =
        |helpers: &Object| helpers.member(server).is_some_and(|member| text.get(member.value.clone()) == Some(HELPER));
    match helpers.filter(ours) {
        None => text.to_owned(),
        Some(helpers) if helpers.has_one_apart() => object.without(text, KEY),
        Some(helpers) => helpers.without(text, server),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_file_is_as_before_when_the_hosts_are_taken_out() {
        for before in [
            "{}",
            "{\n}\n",
            "{ }",
            r#"{"auths":{"a":{}}}"#,
            "{\n\t\"auths\": {},\n\t\"credsStore\": \"desktop\"\n}",
            "{\r\n  \"auths\": {}\r\n}\r\n",
            "{\n\t\"credHelpers\": {\n\t\t\"gcr.io\": \"gcloud\"\n\t}\n}\n",
            r#"{"credHelpers":{}}"#,
            r#"{"credHelpers":{"x":"y"},"a":[1]}"#,
        ] {
            let with = ["a.example", "b.example:5000"]
                .iter()
                .try_fold(before.to_owned(), |text, host| add(&text, host, false));
            let with = with.expect("added");
            let value: serde_json::Value = serde_json::from_str(&with).expect(&with);
            assert!(value[KEY]["a.example"] == "credmint" && value[KEY]["b.example:5000"] == "credmint", "{with}");
            assert_eq!(add(&with, "a.example", false), Ok(with.clone()));
            assert_eq!(remove(&remove(&with, "a.example"), "b.example:5000"), before, "{with}");
            assert_eq!(remove(&remove(&with, "b.example:5000"), "a.example"), before, "{with}");
        }
    }

    #[test]
    fn a_helper_of_somebody_else_is_left_alone() {
        let text = "{\n \"credHelpers\": {\n  \"a.example\": \"pass\"}}";
        assert_eq!(add(text, "a.example", false).map_err(|error| error.line), Err(3));
        assert_eq!(remove(text, "a.example"), text);
        assert_eq!(server("docker.io"), "https://index.docker.io/v1/");
    }
}
