//! A user of a kubeconfig whose credential comes from `credmint-kubernetes`, and the same for Terraform's providers.
//! The provider comes in, the change of the kubeconfig goes out.
//! Reads only. kubernetes/client-go `tools/clientcmd`: which file counts.

use std::path::PathBuf;

use credmint_local_machine::environment;
use credmint_vocabulary::Failure;

use super::kubeconfig::User;
use super::{Plan, Wanted, edit, program};

/// Finds out what is to be done.
pub(super) fn plan(wanted: &Wanted<'_>) -> Result<Plan, Failure> {
    let command = program::path("credmint-kubernetes")?.to_string_lossy().into_owned();
    let user = User { name: wanted.name, command: &command, comment: edit::comment(wanted) };
    let change = edit::file(place()?, "apiVersion: v1\nkind: Config\n", wanted, |text| {
        if wanted.remove { Ok(user.remove(text)) } else { user.add(text) }
    })?;
    let terraform = terraform(&command, wanted.name);
    Ok(Plan {
        notes: Vec::new(),
        changes: change.into_iter().collect(),
        by_hand: format!("users:\n{}\n# In Terraform's kubernetes and helm providers:\n{terraform}", user.item()),
        next: vec![
            format!("\nIn Terraform's kubernetes and helm providers:\n{terraform}"),
            format!("Next: kubectl config set-context --current --user={}", wanted.name),
        ],
    })
}

fn terraform(command: &str, name: &str) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string().replace("${", "$${").replace("%{", "%%{");
    format!(
        "exec {{\n  api_version = \"client.authentication.k8s.io/v1\"\n  command     = {}\n  args        = [{}]\n}}",
        quoted(command),
        quoted(name)
    )
}

/// Chooses the file as kubectl does where nothing is there yet for the name: the first that exists, else the last.
fn place() -> Result<PathBuf, Failure> {
    let named = environment::read("KUBECONFIG").filter(|paths| !paths.is_empty());
    let all: Vec<PathBuf> =
        named.iter().flat_map(std::env::split_paths).filter(|path| !path.as_os_str().is_empty()).collect();
    let chosen = all.iter().find(|path| path.exists()).or(all.last()).and_then(|path| std::path::absolute(path).ok());
    chosen.map_or_else(|| Ok(edit::home()?.join(".kube/config")), Ok)
}
