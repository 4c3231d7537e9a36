//! A credential helper of git for the hosts of a provider.
//! The provider comes in, the change of git's configuration goes out.
//! Reads only. git/git `Documentation/config.adoc`, `gitcredentials.adoc`.

use std::path::PathBuf;

use credmint_local_machine::environment;
use credmint_vocabulary::Failure;

use super::edit::InTheWay;
use super::ini::Section;
use super::{Plan, Wanted, edit, program};

/// Finds out what is to be done.
pub(super) fn plan(wanted: &Wanted<'_>) -> Result<Plan, Failure> {
    program::needs_hosts(wanted, "git")?;
    let helper = program::plain_path("git-credential-credmint")?;
    let urls: Vec<String> = wanted.hosts.iter().map(|host| format!("https://{host}")).collect();
    let sections: Vec<Section<'_>> = urls.iter().map(|url| section(wanted, url, &helper)).collect();
    let change = edit::file(place()?, "", wanted, |text| {
        sections.iter().try_fold(text.to_owned(), |text, section| -> Result<String, InTheWay> {
            if wanted.remove { Ok(section.remove(&text)) } else { section.add(&text) }
        })
    })?;
    Ok(Plan {
        notes: Vec::new(),
        changes: change.into_iter().collect(),
        by_hand: sections.iter().map(Section::text).collect(),
        next: urls.first().map(|url| format!("\nNext: git ls-remote {url}/GROUP/PROJECT.git")).into_iter().collect(),
    })
}

/// The empty `helper` makes git ask none of its other helpers for this host, and give none of them the token to keep.
fn section<'a>(wanted: &Wanted<'_>, url: &'a str, helper: &str) -> Section<'a> {
    Section {
        comment: edit::comment(wanted),
        words: ["credential", url],
        header: format!("[credential \"{url}\"]"),
        key: "helper",
        lines: vec!["\thelper =".to_owned(), format!("\thelper = {helper}")],
        may_repeat: true,
    }
}

/// Chooses the file as `git config --global` does.
fn place() -> Result<PathBuf, Failure> {
    let usual = edit::place("GIT_CONFIG_GLOBAL", ".gitconfig")?;
    let xdg = environment::absolute_path(environment::XDG_CONFIG_HOME);
    let xdg = xdg.map_or_else(|| edit::home().map(|home| home.join(".config")), Ok)?.join("git/config");
    Ok(if !usual.exists() && xdg.exists() { xdg } else { usual })
}
