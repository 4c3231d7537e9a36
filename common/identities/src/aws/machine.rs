//! Keys from where the caller runs: a container's endpoint (ECS, EKS), else the machine's own (EC2, version 2).
//! Variables of the caller come in, keys or their absence go out.
//! Dials out by `https`, which lets plain HTTP go to this machine and to the addresses of its platform alone.

use std::time::{Duration, Instant};

use credmint_https::{Answer, Trust};
use credmint_vocabulary::Secret;
use http::{HeaderValue, Method, Request, header};
use serde::{Deserialize, Deserializer};

use crate::aws::caller_keys::{AwsCallerError, CallerKeys, Search, refused, who};
use crate::aws::web_identity::file_of;
use crate::way::trust;

pub(crate) const RELATIVE: &str = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
pub(crate) const FULL: &str = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
pub(crate) const TOKEN: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN";
pub(crate) const TOKEN_FILE: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE";
pub(crate) const DISABLED: &str = "AWS_EC2_METADATA_DISABLED";
pub(crate) const ENDPOINT: &str = "AWS_EC2_METADATA_SERVICE_ENDPOINT";

/// Where ECS's agent is.
const CONTAINER: &str = "http://169.254.170.2";
/// Where EC2 answers.
const INSTANCE: &str = "http://169.254.169.254";
/// How long a machine is asked that may be none of EC2: it answers at once, or never.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Given {
    access_key_id: String,
    #[serde(deserialize_with = "secret")]
    secret_access_key: Secret<String>,
    #[serde(deserialize_with = "secret")]
    token: Secret<String>,
}

fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Secret<String>, D::Error> {
    String::deserialize(deserializer).map(Secret::new)
}

/// Asks the container's endpoint, where the variables name one.
pub(crate) async fn container(search: Search<'_>) -> Result<Option<CallerKeys>, AwsCallerError> {
    let (relative, full) = (search.caller.variable(RELATIVE), search.caller.variable(FULL));
    let (variable, address) = match (relative, full) {
        (Some(path), _) if path.expose().starts_with('/') => (RELATIVE, format!("{CONTAINER}{}", path.expose())),
        (Some(_), _) => return Err(AwsCallerError::Variable { variable: RELATIVE, why: "is no path" }),
        (None, Some(address)) => (FULL, address.expose().clone()),
        (None, None) => return Ok(None),
    };
    let mut request = Request::get(&address).header(header::ACCEPT, "application/json");
    if let Some(token) = bearer(search)? {
        let value = HeaderValue::from_str(token.expose());
        let mut value = value.map_err(|_| AwsCallerError::Variable { variable: TOKEN, why: "holds no token" })?;
        value.set_sensitive(true);
        request = request.header(header::AUTHORIZATION, value);
    }
    let request = request.body(Vec::new()).map_err(|_| AwsCallerError::Variable { variable, why: "is no address" })?;
    let answer = search.https.send_to_platform(&trust(&search.settings.peer), request, search.deadline).await?;
    read(&address, &answer).map(Some)
}

fn bearer(search: Search<'_>) -> Result<Option<Secret<String>>, AwsCallerError> {
    let caller = search.caller;
    match caller.variable(TOKEN_FILE) {
        Some(file) => {
            let own = (search.settings.authorization_token_file.as_path(), "authorization_token_file");
            file_of((TOKEN_FILE, file), own, search).map(Some)
        }
        None => Ok(caller.variable(TOKEN).map(Secret::copied)),
    }
}

/// Asks the machine; one that does not answer is none of EC2, and one without a role has no keys.
pub(crate) async fn instance(search: Search<'_>) -> Result<Option<CallerKeys>, AwsCallerError> {
    if search.caller.variable(DISABLED).is_some_and(|word| word.expose().eq_ignore_ascii_case("true")) {
        return Ok(None);
    }
    let given = search.caller.variable(ENDPOINT);
    let base = given.map_or(INSTANCE, |given| given.expose().trim_end_matches('/'));
    let ttl = ("x-aws-ec2-metadata-token-ttl-seconds", HeaderValue::from_static("60"));
    let Some(token) = ask(search, Method::PUT, &format!("{base}/latest/api/token"), ttl).await else { return Ok(None) };
    let shown = || {
        let value = std::str::from_utf8(&token.body).ok().and_then(|text| HeaderValue::from_str(text.trim()).ok());
        value.map(|mut value| {
            value.set_sensitive(true);
            ("x-aws-ec2-metadata-token", value)
        })
    };
    let roles = format!("{base}/latest/meta-data/iam/security-credentials/");
    let Some(value) = shown() else { return Ok(None) };
    let Some(role) = ask(search, Method::GET, &roles, value).await else { return Ok(None) };
    let role = std::str::from_utf8(&role.body).unwrap_or_default().lines().next().unwrap_or_default().trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || "+=,.@-_".contains(c);
    let (true, Some(value)) = (!role.is_empty() && role.chars().all(plain), shown()) else { return Ok(None) };
    let address = format!("{roles}{role}");
    match ask(search, Method::GET, &address, value).await {
        Some(answer) => read(&address, &answer).map(Some),
        None => Ok(None),
    }
}

async fn ask(
    search: Search<'_>,
    method: Method,
    address: &str,
    (name, value): (&'static str, HeaderValue),
) -> Option<Answer> {
    let request = Request::builder().method(method).uri(address).header(name, value).body(Vec::new()).ok()?;
    let deadline = search.deadline.at_most(Instant::now(), PATIENCE);
    let answer = search.https.send_to_platform(&Trust::default(), request, deadline).await.ok()?;
    answer.status.is_success().then_some(answer)
}

fn read(address: &str, answer: &Answer) -> Result<CallerKeys, AwsCallerError> {
    if !answer.status.is_success() {
        return Err(refused(address, answer, String::new()));
    }
    let given: Option<Given> = serde_json::from_slice(&answer.body).ok();
    let keys = given.map(|given| CallerKeys {
        id: given.access_key_id,
        secret: given.secret_access_key,
        session: Some(given.token),
    });
    keys.filter(CallerKeys::are_fit).ok_or_else(|| AwsCallerError::Malformed { who: who(address) })
}
