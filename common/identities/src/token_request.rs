//! The platforms that are asked for a token each time: GitHub Actions, Azure DevOps and Buildkite.
//! A workload of the settings and what the caller sent come in; a new token, its absence or what is broken goes out.
//! Dials out through `https` alone, to an address with TLS or to this machine; follows no redirect and shows no body and no query.

use credmint_https::{Answer, Https, Trust, host_and_port};
use credmint_settings::{Platform, Workload};
use credmint_vocabulary::{Deadline, FailureKind, Secret, Timestamp};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderValue, Request};
use serde::Deserialize;
use url::Url;

use crate::caller::Caller;
use crate::workload::WorkloadError;

/// Holds what a request needs.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) https: &'a Https,
    pub(crate) now: Timestamp,
    pub(crate) deadline: Deadline,
}

/// Describes how a platform is asked.
pub(crate) struct Desk {
    /// A variable that is set in every job of the platform.
    pub(crate) marker: &'static str,
    /// What else a job has that may ask.
    pub(crate) needs: [&'static str; 2],
    /// Where a job says whom to ask, if not where everybody is asked.
    pub(crate) endpoint: Option<&'static str>,
    /// What to configure there.
    pub(crate) remedy: &'static str,
}

/// Finds how a workload's platform is asked; `None`: it gives its token without being asked.
pub(crate) const fn desk(platform: &Platform) -> Option<Desk> {
    Some(match platform {
        Platform::GithubActions => Desk {
            marker: "GITHUB_ACTIONS",
            needs: ["ACTIONS_ID_TOKEN_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_TOKEN"],
            endpoint: None,
            remedy: "write `permissions: { id-token: write }` into the job of the workflow",
        },
        Platform::AzureDevops { .. } => Desk {
            marker: "TF_BUILD",
            needs: ["SYSTEM_OIDCREQUESTURI", "SYSTEM_ACCESSTOKEN"],
            endpoint: None,
            remedy: "map it in the step: `env: { SYSTEM_ACCESSTOKEN: $(System.AccessToken) }`, and let the pipeline use the service connection",
        },
        Platform::Buildkite => Desk {
            marker: "BUILDKITE",
            needs: ["BUILDKITE_JOB_ID", "BUILDKITE_AGENT_ACCESS_TOKEN"],
            endpoint: Some("BUILDKITE_AGENT_ENDPOINT"),
            remedy: "let the step have the agent's variables, in a container by `mount-buildkite-agent` or `propagate-environment`",
        },
        _ => return None,
    })
}

impl Desk {
    /// Lists the variables that are read.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &'static str> {
        [self.marker].into_iter().chain(self.needs).chain(self.endpoint)
    }

    /// Asks for a token that nobody had before; `None` elsewhere than on the platform.
    pub(crate) async fn ask(
        &self,
        workload: &Workload,
        caller: &Caller,
        line: Line<'_>,
    ) -> Result<Option<(String, Secret<String>)>, WorkloadError> {
        let [Some(place), Some(pass)] = self.needs.map(|name| caller.variable(name)) else {
            return self.nothing(caller).map_or(Ok(None), Err);
        };
        let (address, request) = self.request(workload, (place, pass), caller)?;
        let who = host_and_port(&address).unwrap_or_default();
        let sent = line.https.send(&Trust::default(), request, line.deadline).await;
        let answer = sent.map_err(|error| WorkloadError {
            kind: error.kind(),
            hint: error.hint().unwrap_or_else(|| self.remedy.to_owned()),
            ..self.broken(error.to_string())
        })?;
        let token = self.read(&who, &answer, line.now)?;
        Ok(Some((format!("the answer of {who}"), token)))
    }

    /// Tells a job that may not ask from what is no job of the platform.
    fn nothing(&self, caller: &Caller) -> Option<WorkloadError> {
        let is_set = |name: &str| caller.variable(name).is_some();
        let mut all = self.needs.into_iter().chain([self.marker]);
        let there = all.find(|name| is_set(name))?;
        let missing = self.needs.into_iter().find(|name| !is_set(name))?;
        Some(self.broken(format!("{there} is set, and {missing} is not: this job may not ask for a token")))
    }

    fn request(
        &self,
        workload: &Workload,
        (place, pass): (&Secret<String>, &Secret<String>),
        caller: &Caller,
    ) -> Result<(Url, Request<Vec<u8>>), WorkloadError> {
        let [place_name, pass_name] = self.needs;
        let audience = workload.audience.as_deref().unwrap_or_default();
        let unfit = |variable: &str, why: &str| self.broken(format!("{variable} {why}"));
        let read = |text: &str, variable| address(text).ok_or_else(|| unfit(variable, "is no address"));
        let (address, scheme, builder, body) = match &workload.platform {
            Platform::AzureDevops { service_connection } => {
                let mut address = read(place.expose(), place_name)?;
                let more = [("api-version", "7.1"), ("serviceConnectionId", service_connection)];
                address.query_pairs_mut().extend_pairs(more);
                let builder = Request::post(address.as_str()).header("X-TFS-FedAuthRedirect", "Suppress");
                let builder = builder.header(CONTENT_TYPE, "application/json").header(CONTENT_LENGTH, 0);
                (address, "Bearer", builder, Vec::new())
            }
            Platform::Buildkite => {
                let own = self.endpoint.and_then(|name| caller.variable(name));
                let base = own.map_or(BUILDKITE, |own| own.expose()).trim_end_matches('/');
                let is_id = place.expose().bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
                let job = is_id.then(|| place.expose()).ok_or_else(|| unfit(place_name, "is no identifier"))?;
                let address = read(&format!("{base}/jobs/{job}/oidc/tokens"), "BUILDKITE_AGENT_ENDPOINT")?;
                let builder = Request::post(address.as_str()).header(CONTENT_TYPE, "application/json");
                (address, "Token", builder, serde_json::json!({ "audience": audience }).to_string().into_bytes())
            }
            _ => {
                let mut address = read(place.expose(), place_name)?;
                address.query_pairs_mut().append_pair("audience", audience);
                let builder = Request::get(address.as_str());
                (address, "Bearer", builder, Vec::new())
            }
        };
        let pass = authorization(scheme, pass).ok_or_else(|| unfit(pass_name, "holds no token"))?;
        let request = builder.header(ACCEPT, "application/json").header(AUTHORIZATION, pass).body(body);
        Ok((address, request.map_err(|_| unfit(place_name, "is no address"))?))
    }

    fn read(&self, who: &str, answer: &Answer, now: Timestamp) -> Result<Secret<String>, WorkloadError> {
        let status = answer.status.as_u16();
        if !answer.status.is_success() {
            let told = self.broken(format!("{who} gave no token: status {status}"));
            let kind = if status == 429 || status >= 500 { FailureKind::Unreachable } else { told.kind };
            return Err(WorkloadError { kind, retry_after: answer.retry_after(now), ..told });
        }
        let given: Option<Given> = serde_json::from_slice(&answer.body).ok();
        let token = given.map(|given| Secret::new(given.token)).filter(|token| !token.is_empty());
        token.ok_or_else(|| WorkloadError {
            kind: FailureKind::Unreachable,
            ..self.broken(format!("{who} answered without a token in it"))
        })
    }

    fn broken(&self, what: String) -> WorkloadError {
        WorkloadError::new(what, self.remedy)
    }
}

/// Holds an answer, in the word of each platform.
#[derive(Deserialize)]
struct Given {
    #[serde(alias = "value", alias = "oidcToken")]
    token: String,
}

/// Where the agents of Buildkite ask if nothing else is said.
const BUILDKITE: &str = "https://agent.buildkite.com/v3";

/// Reads an address of the job's environment. The parser would drop line breaks and blanks, and take a backslash for a slash: then it
/// is another address than the one that stands there.
fn address(text: &str) -> Option<Url> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    is_plain.then(|| Url::parse(text).ok()).flatten()
}

fn authorization(scheme: &str, pass: &Secret<String>) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("{scheme} {}", pass.expose())).ok()?;
    value.set_sensitive(true);
    Some(value)
}
