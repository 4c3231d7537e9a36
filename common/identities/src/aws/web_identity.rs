//! Keys for a token in a file that the platform names: EKS's roles for service accounts, and their like.
//! Variables and the file of the caller come in, keys or their absence go out.
//! Sends the token to the Security Token Service of the settings alone. STS API reference, AssumeRoleWithWebIdentity.

use credmint_vocabulary::Secret;
use http::{Request, header};
use std::path::Path;

use crate::aws::caller_keys::{AwsCallerError, CallerKeys, Search, refused, who};
use crate::aws::xml;
use crate::token_endpoint::encode_form;
use crate::way::trust;
use crate::{quotable, subject_token::without_line_end};

pub(crate) const FILE: &str = "AWS_WEB_IDENTITY_TOKEN_FILE";
pub(crate) const ROLE: &str = "AWS_ROLE_ARN";
pub(crate) const NAME: &str = "AWS_ROLE_SESSION_NAME";

/// Exchanges the token, where the variables say that there is one.
pub(crate) async fn find(search: Search<'_>) -> Result<Option<CallerKeys>, AwsCallerError> {
    let caller = search.caller;
    let Some(file) = caller.variable(FILE) else { return Ok(None) };
    let role = caller.variable(ROLE).ok_or(AwsCallerError::Half { there: FILE, missing: ROLE })?;
    let own = &search.settings.web_identity_token_file;
    let token = file_of((FILE, file), (own, "web_identity_token_file"), search)?;
    let name = caller.variable(NAME).map_or("credmint", |name| name.expose().as_str());
    let form = [
        ("Action", "AssumeRoleWithWebIdentity"),
        ("Version", "2011-06-15"),
        ("RoleArn", role.expose().as_str()),
        ("RoleSessionName", name),
        ("DurationSeconds", "900"),
        ("WebIdentityToken", token.expose().as_str()),
    ];
    let address = format!("{}/", search.settings.address());
    let request = Request::post(&address).header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    let request = request.body(encode_form(&form)).map_err(|_| malformed(&address))?;
    let answer = search.https.send(&trust(&search.settings.peer), request, search.deadline).await?;
    if !answer.status.is_success() {
        let code = xml::text(&answer.body, "Error", "Code").map(|code| quotable(code.expose())).unwrap_or_default();
        return Err(refused(&address, &answer, code));
    }
    let part = |name| xml::text(&answer.body, "Credentials", name);
    let keys = || {
        let id = part("AccessKeyId")?.expose().clone();
        Some(CallerKeys { id, secret: part("SecretAccessKey")?, session: Some(part("SessionToken")?) })
    };
    keys().filter(CallerKeys::are_fit).map(Some).ok_or_else(|| malformed(&address))
}

/// Gives the file that a variable names, if it is the one that the settings name, which was read from the caller.
pub(crate) fn file_of(
    (variable, file): (&'static str, &Secret<String>),
    (own, key): (&Path, &'static str),
    search: Search<'_>,
) -> Result<Secret<String>, AwsCallerError> {
    let error = || AwsCallerError::File { variable, key };
    if Path::new(file.expose()) != own {
        return Err(error());
    }
    let found = search.caller.file(own).ok().flatten().ok_or_else(error)?;
    Ok(without_line_end(found.copied()))
}

fn malformed(address: &str) -> AwsCallerError {
    AwsCallerError::Malformed { who: who(address) }
}
