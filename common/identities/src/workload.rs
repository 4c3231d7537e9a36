//! The platforms that vouch for what they run: which variable has the token, and what to say where there is none.
//! A workload of the settings and what the caller sent come in; its token, its absence or what is broken goes out.
//! Trusts no token; checks form, end and audience so that a useless one is sent nowhere.

use std::path::{Path, PathBuf};
use std::time::Duration;

use credmint_settings::{CallerReads, Platform, Workload};
use credmint_vocabulary::{FailureKind, Secret, Timestamp};

use crate::absence::Absence;
use crate::ask::IdentityError;
use crate::caller::Caller;
use crate::file;
use crate::subject_token::{SubjectToken, without_line_end};
use crate::token_request::{self, Line};
use crate::{coder, kubernetes};

/// Describes where a platform puts its token.
struct Place {
    /// Variables in order: the first that is not empty counts.
    variables: Vec<String>,
    /// A file that counts where no variable does.
    file: Option<&'static str>,
    /// A variable that is set in every job of the platform.
    marker: Option<&'static str>,
    /// What to configure there.
    remedy: String,
}

/// Says what is wrong with a platform's token, and what to configure there.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct WorkloadError {
    /// What is wrong.
    pub(crate) what: String,
    /// What to do, in the platform's own words.
    pub(crate) hint: String,
    /// Whose turn it is.
    pub(crate) kind: FailureKind,
    /// How long the platform wants to be left alone, if it said so.
    pub(crate) retry_after: Option<Duration>,
}

impl WorkloadError {
    pub(crate) fn new(what: String, hint: &str) -> Self {
        Self { what, hint: hint.to_owned(), kind: FailureKind::Refused, retry_after: None }
    }
}

/// Lists what a workload reads from the caller.
pub(crate) fn add_reads(reads: &mut CallerReads, workload: &Workload) {
    if let Some(desk) = token_request::desk(&workload.platform) {
        reads.environment.extend(desk.variables().map(str::to_owned));
        return;
    }
    let place = place(&workload.platform);
    reads.environment.extend(place.variables);
    reads.environment.extend(place.marker.map(str::to_owned));
    reads.files.extend(place.file.map(PathBuf::from));
    if workload.platform == Platform::Coder {
        reads.environment.extend([coder::CODER_BUILD, coder::CODER_TRANSITION].map(str::to_owned));
    }
}

/// Asks a workload; `None` elsewhere than on its platform, and at Coder for a job that has no user's token.
pub(crate) async fn ask(
    workload: &Workload,
    caller: &Caller,
    line: Line<'_>,
) -> Result<Option<SubjectToken>, IdentityError> {
    let (found, remedy) = match token_request::desk(&workload.platform) {
        Some(desk) => (desk.ask(workload, caller, line).await?, desk.remedy.to_owned()),
        None => given(&workload.platform, caller)?,
    };
    let Some((source, found)) = found else { return Ok(None) };
    let token = SubjectToken::new(found).map_err(|error| IdentityError::Token { place: source.clone(), error })?;
    judge(&token, &source, &remedy, line.now)?;
    kubernetes::check_audience(&token, workload.audience.as_deref())?;
    Ok(Some(token))
}

/// Says why a workload has no answer.
pub(crate) fn absence(workload: &Workload, caller: &Caller) -> Absence {
    if let Some(desk) = token_request::desk(&workload.platform) {
        let [variable, _] = desk.needs;
        return Absence::NotSet { variable: variable.to_owned() };
    }
    let place = place(&workload.platform);
    let variable = place.variables.into_iter().next().unwrap_or_default();
    match workload.platform {
        Platform::Coder => coder::absence(caller, variable),
        _ => Absence::NotSet { variable },
    }
}

/// What was found, and where.
type Found = Option<(String, Secret<String>)>;

/// Looks where a platform puts its token; with it, what to configure there.
fn given(platform: &Platform, caller: &Caller) -> Result<(Found, String), IdentityError> {
    let place = place(platform);
    let found = found(&place, caller)?;
    match place.marker.filter(|marker| found.is_none() && caller.variable(marker).is_some()) {
        Some(marker) => Err(WorkloadError::new(not_given(&place, marker), &place.remedy).into()),
        None => Ok((found, place.remedy)),
    }
}

fn found(place: &Place, caller: &Caller) -> Result<Found, IdentityError> {
    for variable in &place.variables {
        let value = caller.variable(variable).map(Secret::copied).map(without_line_end);
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            return Ok(Some((format!("the variable {variable}"), value)));
        }
    }
    let Some(path) = place.file else { return Ok(None) };
    Ok(file::read(Path::new(path), caller)?.map(|value| (format!("the file {path}"), value)))
}

/// Refuses what no relying party would take.
fn judge(token: &SubjectToken, source: &str, remedy: &str, now: Timestamp) -> Result<(), WorkloadError> {
    if token.claims.is_none() {
        let what = format!("{source} holds an opaque token and no JWT: nobody else can verify it");
        return Err(WorkloadError::new(what, remedy));
    }
    match token.expires {
        Some(end) if end <= now => Err(WorkloadError::new(format!("the token in {source} expired at {end}"), remedy)),
        _ => Ok(()),
    }
}

fn not_given(place: &Place, marker: &str) -> String {
    format!("{marker} is set, and {} is not: this job was given no token", place.variables.join(" or "))
}

fn place(platform: &Platform) -> Place {
    match platform {
        Platform::Coder => of(&["CODER_WORKSPACE_OWNER_OIDC_ACCESS_TOKEN"], None, coder::REMEDY),
        Platform::Gitlab { variable } => gitlab(variable),
        Platform::HcpTerraform { tag } => hcp_terraform(tag.as_deref()),
        Platform::Spacelift => {
            let file = Some("/mnt/workspace/spacelift.oidc");
            Place {
                file,
                ..of(&["SPACELIFT_OIDC_TOKEN"], None, "look at the run's token in Spacelift, and start a new run")
            }
        }
        Platform::Env0 => {
            of(&["ENV0_OIDC_TOKEN"], None, "enable OIDC in env0's organization settings, and deploy again")
        }
        Platform::Circleci => of(
            &["CIRCLE_OIDC_TOKEN_V2", "CIRCLE_OIDC_TOKEN"],
            Some("CIRCLECI"),
            "give the job a context (`context:` in the workflow): only jobs with one get a token; after its end, run the job again",
        ),
        _ => of(&[], None, "update credmint"),
    }
}

fn of(variables: &[&str], marker: Option<&'static str>, remedy: &str) -> Place {
    let variables = variables.iter().map(|name| (*name).to_owned()).collect();
    Place { variables, file: None, marker, remedy: remedy.to_owned() }
}

fn gitlab(variable: &str) -> Place {
    let remedy = format!("write `id_tokens: {{ {variable}: {{ aud: AUDIENCE }} }}` into the job in .gitlab-ci.yml");
    of(&[variable], Some("GITLAB_CI"), &remedy)
}

fn hcp_terraform(tag: Option<&str>) -> Place {
    let tag = tag.map_or_else(String::new, |tag| format!("_{tag}"));
    let remedy = format!("set the environment variable TFC_WORKLOAD_IDENTITY_AUDIENCE{tag} of the workspace");
    of(&[&format!("TFC_WORKLOAD_IDENTITY_TOKEN{tag}")], Some("TFC_RUN_ID"), &remedy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::tests::token;
    use credmint_https::Https;
    use credmint_vocabulary::Deadline;
    use std::time::Instant;

    const NOW: Timestamp = Timestamp::from_unix(1_000);
    const GOOD: &str = r#"{"aud":"vault","exp":2000}"#;

    fn every() -> Vec<(Platform, &'static str, Option<&'static str>)> {
        vec![
            (Platform::Coder, "CODER_WORKSPACE_OWNER_OIDC_ACCESS_TOKEN", None),
            (Platform::Gitlab { variable: "MY_TOKEN".into() }, "MY_TOKEN", Some("GITLAB_CI")),
            (Platform::HcpTerraform { tag: None }, "TFC_WORKLOAD_IDENTITY_TOKEN", Some("TFC_RUN_ID")),
            (Platform::HcpTerraform { tag: Some("AWS".into()) }, "TFC_WORKLOAD_IDENTITY_TOKEN_AWS", Some("TFC_RUN_ID")),
            (Platform::Spacelift, "SPACELIFT_OIDC_TOKEN", None),
            (Platform::Env0, "ENV0_OIDC_TOKEN", None),
            (Platform::Circleci, "CIRCLE_OIDC_TOKEN_V2", Some("CIRCLECI")),
            (Platform::Circleci, "CIRCLE_OIDC_TOKEN", Some("CIRCLECI")),
        ]
    }

    fn set(values: &[(&str, Secret<String>)]) -> Caller {
        let mut caller = Caller::default();
        for (name, value) in values {
            caller.environment.insert((*name).to_owned(), value.copied());
        }
        caller
    }

    fn asked(platform: Platform, caller: &Caller) -> Result<Option<SubjectToken>, IdentityError> {
        let https = Https::new("test");
        let deadline = Deadline::after(Instant::now(), Duration::from_secs(10));
        let line = Line { https: &https, now: NOW, deadline };
        let workload = Workload { platform, audience: Some("vault".into()) };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(ask(&workload, caller, line))
    }

    #[test]
    fn each_platform_has_its_variable_and_asks_the_caller_for_it() {
        for (platform, variable, marker) in every() {
            let mut reads = CallerReads::default();
            add_reads(&mut reads, &Workload { platform: platform.clone(), audience: None });
            assert!(reads.environment.contains(variable), "{variable}");
            assert!(marker.is_none_or(|marker| reads.environment.contains(marker)), "{variable}");
            let good = Secret::new(format!("{}\n", token(GOOD).expose()));
            assert!(asked(platform, &set(&[(variable, good)])).unwrap().is_some(), "{variable}");
        }
    }

    #[test]
    fn elsewhere_it_is_absent_and_empty_is_absent() {
        for (platform, variable, _) in every() {
            for nothing in ["", "\n"] {
                let caller = set(&[(variable, Secret::from(nothing))]);
                assert!(asked(platform.clone(), &caller).unwrap().is_none(), "{variable}");
            }
        }
    }

    #[test]
    fn on_its_platform_without_a_token_it_is_broken_and_says_what_to_configure() {
        for (platform, variable, marker) in every() {
            let Some(marker) = marker else { continue };
            let error = asked(platform, &set(&[(marker, Secret::from("true"))])).unwrap_err();
            assert!(error.to_string().starts_with(&format!("{marker} is set, and ")), "{variable}: {error}");
            let hint = error.hint().unwrap();
            assert!(
                ["id_tokens", "TFC_WORKLOAD_IDENTITY_AUDIENCE", "context"].iter().any(|w| hint.contains(w)),
                "{hint}"
            );
        }
    }

    #[test]
    fn opaque_expired_and_misdirected_tokens_are_found_before_they_are_sent_coder_20991() {
        for (platform, variable, _) in every() {
            let told =
                |value: Secret<String>| asked(platform.clone(), &set(&[(variable, value)])).unwrap_err().to_string();
            assert!(told(Secret::from("opaque-canary")).contains("holds an opaque token and no JWT"), "{variable}");
            assert!(!told(Secret::from("opaque-canary")).contains("canary"));
            assert!(told(token(r#"{"aud":"vault","exp":1000}"#)).contains("expired at"), "{variable}");
            let other = told(token(r#"{"aud":"https://graph.microsoft.com","exp":2000}"#));
            assert_eq!(other, "the token is for \"https://graph.microsoft.com\" and not for \"vault\"");
        }
    }

    #[test]
    fn the_file_of_spacelift_counts_where_the_variable_does_not() {
        let mut caller = Caller::default();
        caller.files.insert("/mnt/workspace/spacelift.oidc".into(), token(GOOD));
        assert!(asked(Platform::Spacelift, &caller).unwrap().is_some());
        caller.environment.insert("SPACELIFT_OIDC_TOKEN".into(), Secret::from("opaque"));
        assert!(asked(Platform::Spacelift, &caller).is_err(), "the variable goes before the file");
    }
}
