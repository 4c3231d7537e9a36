//! The token helper of `vault`, `bao` and Terraform's vault provider.
//! The provider comes in, the changes of their configuration and perhaps a link to the program go out.
//! Reads only. The file takes one key and no arguments: without hosts, the program's name says which provider is meant.

use std::path::PathBuf;

use credmint_local_machine::environment;
use credmint_vocabulary::{Failure, FailureKind};

use super::edit::InTheWay;
use super::{Plan, Wanted, edit, program};
use crate::hcl::{Item, items};
use crate::programs;
use crate::setup::block::{append, cut, ours};
use crate::setup::change::Change;

const PROGRAM: &str = "credmint-vault";
const KEY: &str = "token_helper";

/// Finds out what is to be done.
pub(super) fn plan(wanted: &Wanted<'_>) -> Result<Plan, Failure> {
    let (helper, link) = helper(wanted)?;
    let line = format!("{KEY} = \"{}\"", program::plain(&helper)?);
    let edited = |path| {
        edit::file(path, "", wanted, |text| match wanted.remove {
            true => Ok(remove(text, wanted)),
            false => add(text, wanted, &line),
        })
    };
    let files = places(wanted.remove)?.into_iter().map(edited).collect::<Result<Vec<_>, _>>()?;
    let files = files.into_iter().flatten();
    let changes = if wanted.remove { files.chain(link).collect() } else { link.into_iter().chain(files).collect() };
    let set =
        ["VAULT_TOKEN", "BAO_TOKEN"].into_iter().filter(|name| !wanted.remove && environment::read(name).is_some());
    Ok(Plan {
        notes: set.map(|name| format!("{name} is set: as long as it is, no token helper is asked")).collect(),
        changes,
        by_hand: line,
        next: vec!["\nNext: vault token lookup (or bao token lookup)".to_owned()],
    })
}

/// Chooses the program: for hosts by its own name, for VAULT_ADDR says which; else by a link that has the provider's name.
fn helper(wanted: &Wanted<'_>) -> Result<(PathBuf, Option<Change>), Failure> {
    let program = program::path(PROGRAM)?;
    let at = link(program::word(wanted.name)?)?;
    let there = at.as_ref().is_some_and(|at| at.symlink_metadata().is_ok());
    if wanted.remove {
        return Ok((program, at.filter(|_| there).map(|at| Change::Uninstall { at })));
    }
    if !wanted.hosts.is_empty() {
        return Ok((program, None));
    }
    let Some(at) = at else {
        let what = format!("provider/{} has no hosts, and its name cannot be that of a file", wanted.name);
        return Err(
            Failure::new(FailureKind::Settings, what).hint("add hosts = [\"vault.corp.example:8200\"] to its table")
        );
    };
    let same = at.canonicalize().is_ok_and(|at| program.canonicalize().is_ok_and(|program| at == program));
    Ok((at.clone(), (!same).then_some(Change::Install { at, program })))
}

fn link(name: &str) -> Result<Option<PathBuf>, Failure> {
    let data = environment::absolute_path("XDG_DATA_HOME");
    let data = data.map_or_else(|| edit::home().map(|home| home.join(".local/share")), Ok)?;
    let fits = !name.contains(['/', '\\', ':']);
    Ok(fits.then(|| data.join("credmint").join(programs::file_name(&format!("{PROGRAM}-{name}")))))
}

/// Lists the files: Terraform's provider reads vault's, also where only bao is installed.
fn places(remove: bool) -> Result<Vec<PathBuf>, Failure> {
    let (vault, bao) = (edit::place("VAULT_CONFIG_PATH", ".vault")?, edit::place("BAO_CONFIG_PATH", ".bao")?);
    let has_bao =
        remove || bao.exists() || environment::read("BAO_CONFIG_PATH").is_some() || programs::in_path("bao").is_some();
    Ok(if has_bao && bao != vault { vec![vault, bao] } else { vec![vault] })
}

fn add(text: &str, wanted: &Wanted<'_>, line: &str) -> Result<String, InTheWay> {
    let Some(item) = found(text)? else {
        return Ok(append(text, &format!("{}\n{line}\n", edit::comment(wanted))));
    };
    let said = text.get(item.value.clone());
    if said.is_some_and(|said| line.ends_with(&format!(" {said}"))) {
        return Ok(text.to_owned());
    }
    if is_of(text, &item, wanted) {
        let mut text = text.to_owned();
        text.replace_range(item.span, line);
        return Ok(text);
    }
    let number = text.get(..item.span.start).unwrap_or_default().matches('\n').count() + 1;
    let hint = format!("write there {line}, if credmint is to answer in its place");
    Err(InTheWay { line: number, what: format!("names another {KEY}, and there can be one only"), hint })
}

fn remove(text: &str, wanted: &Wanted<'_>) -> String {
    let item = found(text).ok().flatten().filter(|item| is_of(text, item, wanted));
    let range = item.and_then(|item| ours(text, &item.span));
    range.map_or_else(|| text.to_owned(), |range| cut(text, range))
}

fn found(text: &str) -> Result<Option<Item>, InTheWay> {
    let items = items(text).map_err(|error| InTheWay {
        line: error.line(text),
        what: error.why("is not HCL").to_owned(),
        hint: "mend the file, which vault and bao read too, and run this again".to_owned(),
    })?;
    Ok(items.into_iter().find(|item| item.is_attribute && item.words.first().is_some_and(|word| word == KEY)))
}

/// Tells whether the comment above it is the one that we wrote for this provider.
fn is_of(text: &str, item: &Item, wanted: &Wanted<'_>) -> bool {
    let above = text.get(..item.span.start).unwrap_or_default().trim_end();
    ours(text, &item.span).is_some() && above.ends_with(&edit::comment(wanted))
}
