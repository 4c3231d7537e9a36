//! What Terraform's github provider is told: `GH_PATH`.
//! The provider comes in, what to set goes out.
//! Changes nothing: an environment is the person's.

use credmint_vocabulary::Failure;

use super::{Plan, Wanted, program};

/// Finds out what is to be done.
pub(super) fn plan(wanted: &Wanted<'_>) -> Result<Plan, Failure> {
    let line = format!("export GH_PATH={}", program::plain_path("credmint-github")?);
    let missing = wanted.hosts.is_empty().then(|| {
        format!(
            "provider/{0} has no hosts, and the github provider asks by host: add hosts = [\"github.com\"] to [provider.{0}]",
            wanted.name
        )
    });
    let next = vec![
        "Terraform's github provider asks for its token by a variable; nothing is written:".to_owned(),
        format!("  {line}"),
        "It goes before neither GITHUB_TOKEN nor a `token` argument, and is asked once a run.".to_owned(),
    ];
    Ok(Plan { notes: missing.into_iter().collect(), changes: Vec::new(), by_hand: line, next })
}
