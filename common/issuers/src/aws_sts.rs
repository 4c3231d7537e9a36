//! `kind = "aws-sts"`: keys for a role, given for the subject token; then perhaps for other roles, given for those keys.
//! The role's settings and the subject token come in, temporary keys go out.
//! Sends the subject token to AssumeRoleWithWebIdentity alone. STS API reference, version 2011-06-15.

use std::time::Duration;

use credmint_https::{Answer, host_and_port};
use credmint_identities::{SubjectToken, encode_form};
use credmint_settings::AwsSts;
use credmint_vocabulary::{Secret, Timestamp};
use http::header;
use url::Url;

use crate::access_keys::{AccessKeys, account_of};
use crate::authority::{Authority, is_page};
use crate::aws::refusal::{self, UNREACHED};
use crate::aws::signature::{Scope, authorization};
use crate::aws::xml;
use crate::error::GrantError;
use crate::grant::{Grant, Granted, World, needed};
use crate::oidc::check_audience;
use crate::prepared::{clock_note, known};
use crate::template::fill;
use crate::wiped::sensitive;

const FORM: &str = "application/x-www-form-urlencoded";
const VERSION: &str = "2011-06-15";
/// How long a role on the way to the last one is held: as short as there is, for it is used once.
const ON_THE_WAY: &str = "900";
/// When AWS is asked again after it did not reach the issuer.
const PAUSE: Duration = Duration::from_millis(200);

/// Holds keys with the server's time at which they were given.
type Dated = (AccessKeys, Option<Timestamp>);

/// Asks for the role, then for those that follow it.
pub(crate) async fn grant(
    settings: &AwsSts,
    subject: Option<&SubjectToken>,
    world: &World<'_>,
) -> Result<Grant, GrantError> {
    let subject = needed(subject)?;
    check_audience(subject, settings.token_audience.as_deref())?;
    let session = session_name(&fill(&settings.session_name, known(Some(subject)))?);
    let address = settings.address();
    let authority = Authority::at(&address, &settings.peer, world)?;
    let role = Role { settings, arn: &settings.role_arn, session: &session, is_last: settings.then.is_empty() };
    let mut dated = with_token(&role, subject, &authority, world).await?;
    for (at, arn) in settings.then.iter().enumerate() {
        let role = Role { arn, is_last: at + 1 == settings.then.len(), ..role };
        dated = with_keys(&role, dated, &authority, world).await?;
    }
    let (keys, date) = dated;
    if keys.expires <= world.now {
        return Err(authority.malformed("keys that are over already, by this machine's clock"));
    }
    let notes = clock_note(date.map(|theirs| world.now.unix() - theirs.unix()), &authority.who);
    Ok(Grant { credential: Granted::Keys(keys), notes: notes.into_iter().collect(), lease: None })
}

/// Makes a session name of what the template gave: 2 to 64 of the characters that one may have.
fn session_name(text: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_+=,.@-".contains(c);
    let mut name: String = text.chars().map(|c| if allowed(c) { c } else { '-' }).take(64).collect();
    while name.len() < 2 {
        name.push('-');
    }
    name
}

/// Says which role is asked for, as what.
#[derive(Clone, Copy)]
struct Role<'a> {
    settings: &'a AwsSts,
    arn: &'a str,
    session: &'a str,
    is_last: bool,
}

impl Role<'_> {
    /// Lists the parameters that both actions have; what narrows the session belongs to the last role.
    fn form(&self, action: &str) -> Vec<(String, String)> {
        let settings = self.settings;
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut form = vec![
            pair("Action", action),
            pair("Version", VERSION),
            pair("RoleArn", self.arn),
            pair("RoleSessionName", self.session),
        ];
        if !self.is_last {
            form.push(pair("DurationSeconds", ON_THE_WAY));
            return form;
        }
        form.extend(settings.duration.map(|life| pair("DurationSeconds", &life.as_secs().to_string())));
        form.extend(settings.policy.as_ref().map(|policy| pair("Policy", policy)));
        let numbered = settings.policy_arns.iter().zip(1..);
        form.extend(numbered.map(|(arn, at)| pair(&format!("PolicyArns.member.{at}.arn"), arn)));
        form
    }
}

/// Asks with the subject token; once more when AWS did not reach its issuer.
async fn with_token(
    role: &Role<'_>,
    subject: &SubjectToken,
    authority: &Authority<'_>,
    world: &World<'_>,
) -> Result<Dated, GrantError> {
    let action = "AssumeRoleWithWebIdentity";
    let form = role.form(action);
    let ask = || async {
        let mut fields: Vec<(&str, &str)> = form.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        fields.push(("WebIdentityToken", subject.token.expose()));
        let request = authority.request("POST", "/").header(header::CONTENT_TYPE, FORM);
        authority.send(request.body(encode_form(&fields)), None).await
    };
    let mut answer = ask().await?;
    if refusal::code(&answer).as_deref() == Some(UNREACHED) {
        tokio::time::sleep(PAUSE).await;
        answer = ask().await?;
    }
    read(answer, action, role.arn, authority, world)
}

/// Asks with the keys of the role before. The signature has the server's time: our clock may be wrong, and it says so.
async fn with_keys(
    role: &Role<'_>,
    (keys, date): Dated,
    authority: &Authority<'_>,
    world: &World<'_>,
) -> Result<Dated, GrantError> {
    let action = "AssumeRole";
    let form = role.form(action);
    let fields: Vec<(&str, &str)> = form.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let body = encode_form(&fields);
    let scope = Scope { region: &role.settings.region, service: "sts", now: date.unwrap_or(world.now) };
    let (host, path) = place(&role.settings.address())?;
    let (time, token) = (scope.time(), keys.session_token.expose().as_str());
    let signed = [("content-type", FORM), ("host", &host), ("x-amz-date", &time), ("x-amz-security-token", token)];
    let authorization = authorization(("POST", &path), &signed, &body, &keys, scope);
    let request = authority.request("POST", "/").header(header::CONTENT_TYPE, FORM).header("x-amz-date", &time);
    let request = request.header("x-amz-security-token", sensitive(token)?);
    let request = request.header(header::AUTHORIZATION, sensitive(&authorization)?);
    let answer = authority.send(request.body(body), None).await?;
    read(answer, action, role.arn, authority, world)
}

/// Gives the host as its header has it, and the path.
fn place(address: &str) -> Result<(String, String), GrantError> {
    let url = Url::parse(&format!("{address}/")).ok();
    let place = url.and_then(|url| Some((host_and_port(&url)?, url.path().to_owned())));
    place.ok_or_else(|| GrantError::Settings("the address of STS is no URL".to_owned()))
}

/// Takes the keys out of a success, and makes an error of everything else.
fn read(
    answer: Answer,
    action: &'static str,
    arn: &str,
    authority: &Authority<'_>,
    world: &World<'_>,
) -> Result<Dated, GrantError> {
    if !answer.status.is_success() {
        let what = format!("{action} for {arn}");
        let told = refusal::refused(&authority.who, &what, &answer, world.now);
        return match told {
            Some(error) => Err(error),
            None => authority.judge(answer, action).and(Err(authority.malformed("a status of no meaning"))),
        };
    }
    let what = if is_page(&answer) { "an HTML page" } else { "no XML with the keys in it" };
    let keys = keys(&answer).filter(AccessKeys::are_fit).ok_or_else(|| authority.malformed(what))?;
    Ok((keys, answer.date()))
}

fn keys(answer: &Answer) -> Option<AccessKeys> {
    let part = |name| xml::text(&answer.body, "Credentials", name).filter(|text: &Secret<String>| !text.is_empty());
    let arn = xml::text(&answer.body, "AssumedRoleUser", "Arn");
    Some(AccessKeys {
        access_key_id: part("AccessKeyId")?.expose().clone(),
        secret_access_key: part("SecretAccessKey")?,
        session_token: part("SessionToken")?,
        account_id: arn.and_then(|arn| account_of(arn.expose())),
        expires: Timestamp::from_rfc3339(part("Expiration")?.expose()).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::session_name;

    #[test]
    fn session_names_are_made_to_fit() {
        let long = "a".repeat(80);
        for (text, name) in [
            ("ada@corp.example", "ada@corp.example"),
            ("repo:org/repo:ref:refs/heads/main", "repo-org-repo-ref-refs-heads-main"),
            ("Åda Lovelace", "-da-Lovelace"),
            ("a", "a-"),
            ("", "--"),
            (long.as_str(), &long[..64]),
        ] {
            assert_eq!(session_name(text), name);
        }
    }
}
