//! `kind = "aws-caller"`: a request to GetCallerIdentity that the caller's keys signed, and that somebody else may send.
//! Settings and what the caller sent come in, the signed request goes out as one token.
//! Sends the request to nobody: a Vault's aws auth method does. <https://developer.hashicorp.com/vault/api-docs/auth/aws>

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use credmint_https::host_and_port;
use credmint_settings::AwsCaller;
use credmint_vocabulary::Secret;
use serde::Serialize;
use url::Url;
use zeroize::Zeroizing;

use crate::aws::caller_keys::{AwsCallerError, CallerKeys, Search, find};
use crate::aws::signature::{Request, Scope, authorization};

const FORM: &str = "application/x-www-form-urlencoded; charset=utf-8";
const BODY: &str = "Action=GetCallerIdentity&Version=2011-06-15";

/// What a token of this identity is good for; nothing else may see it.
pub const AWS_METHOD: &str = "the aws method of a Vault";

/// Finds the caller's keys and signs; `None` when the caller has no keys.
pub(crate) async fn ask(search: Search<'_>) -> Result<Option<Secret<String>>, AwsCallerError> {
    let Some(keys) = find(search).await? else { return Ok(None) };
    Ok(signed(search, &keys))
}

/// Holds what the auth method takes; all but the method is base64.
#[derive(Serialize)]
struct Signed<'a> {
    iam_http_request_method: &'a str,
    iam_request_url: String,
    iam_request_body: String,
    iam_request_headers: &'a str,
}

fn signed(search: Search<'_>, keys: &CallerKeys) -> Option<Secret<String>> {
    let settings = search.settings;
    let address = format!("{}/", settings.address());
    let url = Url::parse(&address).ok()?;
    let host = host_and_port(&url)?;
    let scope = Scope { region: settings.region(), service: "sts", now: search.now };
    let time = scope.time();
    let mut headers = vec![("content-type", FORM), ("host", host.as_str()), ("x-amz-date", &time)];
    headers.extend(keys.session.as_ref().map(|session| ("x-amz-security-token", session.expose().as_str())));
    headers.extend(settings.server_id.as_ref().map(|id| ("x-vault-aws-iam-server-id", id.as_str())));
    let request = Request { method: "POST", path: url.path(), query: "", headers: &headers, body: BODY.as_bytes() };
    let authorization = Zeroizing::new(authorization(&request, (&keys.id, &keys.secret), scope));
    headers.push(("authorization", authorization.as_str()));
    token_of(&address, &headers)
}

fn token_of(address: &str, headers: &[(&str, &str)]) -> Option<Secret<String>> {
    let map: std::collections::BTreeMap<&str, [&str; 1]> =
        headers.iter().map(|(name, value)| (*name, [*value])).collect();
    let json = Zeroizing::new(serde_json::to_string(&map).ok()?);
    let encoded = Zeroizing::new(STANDARD.encode(json.as_bytes()));
    let signed = Signed {
        iam_http_request_method: "POST",
        iam_request_url: STANDARD.encode(address),
        iam_request_body: STANDARD.encode(BODY),
        iam_request_headers: &encoded,
    };
    serde_json::to_string(&signed).ok().map(Secret::new)
}

/// Tells the settings' reader and the agent what is read from the caller.
pub(crate) fn reads(settings: &AwsCaller) -> (Vec<&'static str>, [&std::path::PathBuf; 2]) {
    let files = [&settings.web_identity_token_file, &settings.authorization_token_file];
    (crate::aws::caller_keys::VARIABLES.to_vec(), files)
}
