//! A profile of the AWS SDKs whose keys come from `credmint-aws`.
//! The provider comes in, the change of the SDKs' configuration goes out.
//! Reads only. <https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html>

use credmint_local_machine::environment;
use credmint_vocabulary::Failure;

use super::ini::{Section, has_section};
use super::{Plan, Wanted, edit, program};
use crate::setup::configuration_file::read;

/// Finds out what is to be done.
pub(super) fn plan(wanted: &Wanted<'_>) -> Result<Plan, Failure> {
    let name = program::word(wanted.name)?;
    let line = format!("credential_process = {} {name}", program::plain_path("credmint-aws")?);
    let default = name == "default";
    let section = Section {
        comment: edit::comment(wanted),
        words: if default { [name, ""] } else { ["profile", name] },
        header: if default { "[default]".to_owned() } else { format!("[profile {name}]") },
        key: "credential_process",
        lines: vec![line],
        may_repeat: false,
    };
    let path = edit::place("AWS_CONFIG_FILE", ".aws/config")?;
    let change =
        edit::file(path, "", wanted, |text| if wanted.remove { Ok(section.remove(text)) } else { section.add(text) })?;
    Ok(Plan {
        notes: if wanted.remove { Vec::new() } else { notes(name)? },
        changes: change.into_iter().collect(),
        by_hand: section.text(),
        next: vec![
            format!("\nIn Terraform: provider \"aws\" {{ profile = \"{name}\" }}"),
            format!("Next: aws sts get-caller-identity --profile {name}"),
        ],
    })
}

/// Says what the SDKs take before the profile's line.
fn notes(name: &str) -> Result<Vec<String>, Failure> {
    let set = ["AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE"]
        .into_iter()
        .filter(|name| environment::read(name).is_some());
    let set =
        set.map(|variable| format!("{variable} is set: as long as it is, the SDKs use that and do not ask credmint"));
    let path = edit::place("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials")?;
    let keys = read(&path)?
        .filter(|text| has_section(text, name))
        .map(|_| format!("{} has keys for [{name}]: the SDKs use those and do not ask credmint", path.display()));
    Ok(set.chain(keys).collect())
}
