//! `[identity.NAME]` of workloads: the platforms and their keys.
//! A table comes in, an [`Identity`] goes out.
//! Reads none of the variables that it names.

use crate::error::SettingsError;
use crate::identity::Identity;
use crate::reader::fields::Fields;
use crate::reader::item::Item;
use crate::reader::shape::{Key, may, must};
use crate::workload::{Platform, Workload};

/// Keys of a platform that has one token, whose audience is fixed.
pub(crate) const FIXED: &[Key] = &[may("audience")];
/// Keys of a platform that is told for whom a token is to be.
pub(crate) const ASKED: &[Key] = &[must("audience")];

pub(crate) fn coder(fields: &Fields<'_>) -> Result<Identity, SettingsError> {
    workload(fields, Platform::Coder)
}

pub(crate) fn gitlab(fields: &Fields<'_>) -> Result<Identity, SettingsError> {
    let variable = fields.optional("variable", Item::variable)?.unwrap_or_else(|| "GITLAB_OIDC_TOKEN".to_owned());
    workload(fields, Platform::Gitlab { variable })
}

pub(crate) fn hcp_terraform(fields: &Fields<'_>) -> Result<Identity, SettingsError> {
    let tag = fields.optional("tag", Item::variable)?;
    workload(fields, Platform::HcpTerraform { tag })
}

pub(crate) fn spacelift(fields: &Fields<'_>) -> Result<Identity, SettingsError> {
    workload(fields, Platform::Spacelift)
}

pub(crate) fn env0(fields: &Fields<'_>) -> Result<Identity, SettingsError> {
    workload(fields, Platform::Env0)
}

pub(crate) fn circleci(fields: &Fields<'_>) -> Result<Identity, SettingsError> {
    workload(fields, Platform::Circleci)
}

pub(crate) fn github_actions(fields: &Fields<'_>) -> Result<Identity, SettingsError> {
    workload(fields, Platform::GithubActions)
}

pub(crate) fn azure_devops(fields: &Fields<'_>) -> Result<Identity, SettingsError> {
    let service_connection = fields.required("service_connection", Item::text)?;
    workload(fields, Platform::AzureDevops { service_connection })
}

pub(crate) fn buildkite(fields: &Fields<'_>) -> Result<Identity, SettingsError> {
    workload(fields, Platform::Buildkite)
}

fn workload(fields: &Fields<'_>, platform: Platform) -> Result<Identity, SettingsError> {
    Ok(Identity::Workload(Workload { platform, audience: fields.optional("audience", Item::text)? }))
}
