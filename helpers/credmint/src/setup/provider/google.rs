//! The configuration of an external account whose subject token comes from `credmint-google`.
//! The provider and an audience come in, a file without any secret goes out, and the variables that lead to it.
//! Reads only. <https://google.aip.dev/auth/4117>

use std::path::PathBuf;

use credmint_local_machine::SettingsFiles;
use credmint_protocols::google;
use credmint_protocols::google_account::{self, Account};
use credmint_settings::{GoogleSts, Issuer};
use credmint_vocabulary::{Failure, FailureKind};
use serde_json::Value;

use super::{Plan, Wanted, program};
use crate::setup::change::Change;
use crate::setup::configuration_file::read;

/// Finds out what is to be done.
pub(super) fn plan(wanted: &Wanted<'_>) -> Result<Plan, Failure> {
    let command = format!("{} {}", program::plain_path("credmint-google")?, program::word(wanted.name)?);
    let path = place(wanted.name)?;
    if wanted.remove {
        let ours = read(&path)?.filter(|text| is_ours(text, wanted.name));
        let changes = ours.map(|old| Change::Delete { path, old }).into_iter().collect();
        return Ok(Plan { changes, ..Plan::default() });
    }
    let new = account(wanted, &command)?;
    let change = if wanted.print { None } else { change(path.clone(), new.clone(), wanted.name)? };
    let lines = [
        "Set for Terraform's google provider, and for what else uses Google's libraries:".to_owned(),
        "  export GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1".to_owned(),
        format!("  export GOOGLE_CREDENTIALS={0} GOOGLE_APPLICATION_CREDENTIALS={0}", path.display()),
    ];
    Ok(Plan { notes: Vec::new(), changes: change.into_iter().collect(), by_hand: new, next: lines.into() })
}

/// The file lies beside the settings, which name nothing secret either.
fn place(name: &str) -> Result<PathBuf, Failure> {
    let files = SettingsFiles::find();
    let directory = files.as_ref().and_then(|files| files.main.parent());
    let name = name.replace(['/', '\\', ':'], "_");
    directory
        .map(|directory| directory.join(format!("google-{name}.json")))
        .ok_or_else(|| Failure::new(FailureKind::Settings, "there is no home directory to set up").hint("set HOME"))
}

fn change(path: PathBuf, new: String, name: &str) -> Result<Option<Change>, Failure> {
    let old = read(&path)?;
    match &old {
        Some(text) if *text == new => Ok(None),
        Some(text) if !is_ours(text, name) => {
            let what =
                format!("{} is there already, and credmint did not write it; nothing was changed", path.display());
            Err(Failure::new(FailureKind::Settings, what).hint(format!("mv {0} {0}.old", path.display())))
        }
        _ => Ok(Some(Change::Write { path, old, new })),
    }
}

/// Tells whether a file has our program in it, for this provider.
fn is_ours(text: &str, name: &str) -> bool {
    let value: Option<Value> = serde_json::from_str(text).ok();
    let command = value.as_ref().and_then(|value| value.pointer("/credential_source/executable/command")?.as_str());
    command.is_some_and(|command| {
        command.ends_with(&format!("credmint-google {name}"))
            || command.ends_with(&format!("credmint-google.exe {name}"))
    })
}

/// Writes what the libraries read.
fn account(wanted: &Wanted<'_>, command: &str) -> Result<String, Failure> {
    if wanted.issuer.is_some_and(|issuer| matches!(issuer, Issuer::GoogleSts(_))) {
        return Err(exchanged(wanted.name));
    }
    let known = known(wanted);
    let audience = wanted.audience.or_else(|| known.map(|sts| sts.audience.as_str()));
    let audience = audience.ok_or_else(|| no_audience(wanted.name))?;
    let known = known.filter(|sts| sts.audience == audience);
    let address =
        |known: Option<&String>, usual: &str| known.map_or(usual, String::as_str).trim_end_matches('/').to_owned();
    let sts = address(known.map(|sts| &sts.endpoint), "https://sts.googleapis.com");
    let iam = address(known.map(|sts| &sts.iam_endpoint), "https://iamcredentials.googleapis.com");
    let email = wanted.service_account.or_else(|| known?.service_account.as_deref());
    let impersonation = email.map(|email| format!("{iam}/v1/projects/-/serviceAccounts/{email}:generateAccessToken"));
    let account = Account {
        audience,
        subject_token_type: known.map_or(google::JWT, |sts| sts.subject_token_type.as_str()),
        token_url: &format!("{sts}/v1/token"),
        service_account_impersonation_url: impersonation.as_deref(),
        service_account_impersonation: None,
        workforce_pool_user_project: known.and_then(|sts| sts.user_project.as_deref()),
    };
    google_account::of_program(&account, command)
        .map_err(|error| Failure::new(FailureKind::Internal, error.to_string()))
}

/// Finds the only issuer that knows an audience.
fn known<'a>(wanted: &Wanted<'a>) -> Option<&'a GoogleSts> {
    let mut all = wanted.settings.issuers.values().filter_map(|issuer| match issuer {
        Issuer::GoogleSts(sts) => Some(&**sts),
        _ => None,
    });
    all.next().filter(|_| all.next().is_none())
}

fn exchanged(name: &str) -> Failure {
    let what = format!(
        "the issuer of provider/{name} exchanges at Google itself and grants an access token; Google's libraries ask for the subject token, and exchange"
    );
    Failure::new(FailureKind::Settings, what).hint(format!(
        "set up another provider, with an issuer of kind \"oidc\"; or for a short run: eval \"$(credmint print {name} --format env)\""
    ))
}

fn no_audience(name: &str) -> Failure {
    let what = "the settings do not tell the audience: the full name of the provider in Google's pool";
    Failure::new(FailureKind::Usage, what).hint(format!(
        "credmint setup provider {name} --for google --audience //iam.googleapis.com/projects/NUMBER/locations/global/workloadIdentityPools/POOL/providers/NAME"
    ))
}
