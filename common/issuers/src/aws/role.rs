//! A role that is asked for at STS, and the roles that are assumed after it with the keys of the one before.
//! Names, limits and keys come in, keys with the server's time go out.
//! Sends session tokens in headers that are never shown. STS API reference, AssumeRole.

use std::time::Duration;

use credmint_https::{Answer, host_and_port};
use credmint_identities::encode_form;
use credmint_vocabulary::{Secret, Timestamp};
use http::header;
use url::Url;

use crate::access_keys::{AccessKeys, account_of};
use crate::authority::{Authority, is_page};
use crate::aws::refusal;
use crate::error::GrantError;
use crate::grant::{Grant, Granted, World};
use crate::prepared::clock_note;
use crate::wiped::sensitive;
use credmint_identities::aws::signature::{Request, Scope, authorization};
use credmint_identities::aws::xml;

pub(crate) const FORM: &str = "application/x-www-form-urlencoded";
const VERSION: &str = "2011-06-15";
/// How long a role on the way to the last one is held: as short as there is, for it is used once.
pub(crate) const ON_THE_WAY: u64 = 900;

/// Holds keys with the server's time at which they were given.
pub(crate) type Dated = (AccessKeys, Option<Timestamp>);

/// Makes a session name of what the template gave: 2 to 64 of the characters that one may have.
pub(crate) fn session_name(text: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_+=,.@-".contains(c);
    let mut name: String = text.chars().map(|c| if allowed(c) { c } else { '-' }).take(64).collect();
    while name.len() < 2 {
        name.push('-');
    }
    name
}

/// Narrows a session.
#[derive(Clone, Copy)]
pub(crate) struct Limits<'a> {
    /// Life to ask for.
    pub(crate) duration: Option<Duration>,
    /// A session policy.
    pub(crate) policy: Option<&'a str>,
    /// Managed session policies.
    pub(crate) policy_arns: &'a [String],
}

/// Lists the roles that follow the first one.
#[derive(Clone, Copy)]
pub(crate) struct Chain<'a> {
    /// Their ARNs.
    pub(crate) then: &'a [String],
    /// Name of every session.
    pub(crate) session: &'a str,
    /// What narrows the last one.
    pub(crate) limits: Limits<'a>,
    /// Whose STS is asked.
    pub(crate) region: &'a str,
}

impl<'a> Chain<'a> {
    /// Gives the role before them; what narrows the session belongs to the last role.
    pub(crate) fn first(&self, arn: &'a str) -> Role<'a> {
        self.role(arn, self.then.is_empty())
    }

    fn role(&self, arn: &'a str, is_last: bool) -> Role<'a> {
        Role { arn, session: self.session, limits: is_last.then_some(self.limits) }
    }

    /// Assumes one after the other.
    pub(crate) async fn assume(
        &self,
        mut dated: Dated,
        authority: &Authority<'_>,
        world: &World<'_>,
    ) -> Result<Dated, GrantError> {
        for (at, arn) in self.then.iter().enumerate() {
            let role = self.role(arn, at + 1 == self.then.len());
            dated = with_keys(&role, dated, self.region, authority, world).await?;
        }
        Ok(dated)
    }
}

/// Says which role is asked for, as what.
#[derive(Clone, Copy)]
pub(crate) struct Role<'a> {
    /// Its ARN.
    pub(crate) arn: &'a str,
    session: &'a str,
    /// What narrows it; on the way to the last one nothing does.
    limits: Option<Limits<'a>>,
}

impl Role<'_> {
    /// Lists the parameters that both actions have.
    pub(crate) fn form(&self, action: &str) -> Vec<(String, String)> {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut form = vec![
            pair("Action", action),
            pair("Version", VERSION),
            pair("RoleArn", self.arn),
            pair("RoleSessionName", self.session),
        ];
        let Some(limits) = self.limits else {
            form.push(pair("DurationSeconds", &ON_THE_WAY.to_string()));
            return form;
        };
        form.extend(limits.duration.map(|life| pair("DurationSeconds", &life.as_secs().to_string())));
        form.extend(limits.policy.map(|policy| pair("Policy", policy)));
        let numbered = limits.policy_arns.iter().zip(1..);
        form.extend(numbered.map(|(arn, at)| pair(&format!("PolicyArns.member.{at}.arn"), arn)));
        form
    }
}

/// Makes a grant of keys that are not over.
pub(crate) fn granted((keys, date): Dated, authority: &Authority<'_>, world: &World<'_>) -> Result<Grant, GrantError> {
    if keys.expires <= world.now {
        return Err(authority.malformed("keys that are over already, by this machine's clock"));
    }
    let notes = clock_note(date.map(|theirs| world.now.unix() - theirs.unix()), &authority.who);
    Ok(Grant { credential: Granted::Keys(keys), notes: notes.into_iter().collect(), lease: None })
}

/// Asks with the keys of the role before. The signature has the server's time: our clock may be wrong, and it says so.
async fn with_keys(
    role: &Role<'_>,
    (keys, date): Dated,
    region: &str,
    authority: &Authority<'_>,
    world: &World<'_>,
) -> Result<Dated, GrantError> {
    let action = "AssumeRole";
    let form = role.form(action);
    let fields: Vec<(&str, &str)> = form.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let body = encode_form(&fields);
    let scope = Scope { region, service: "sts", now: date.unwrap_or(world.now) };
    let (host, path) = place(authority.address)?;
    let (time, token) = (scope.time(), keys.session_token.expose().as_str());
    let signed = [("content-type", FORM), ("host", &host), ("x-amz-date", &time), ("x-amz-security-token", token)];
    let authorization = authorization(
        &Request { method: "POST", path: &path, query: "", headers: &signed, body: &body },
        (&keys.access_key_id, &keys.secret_access_key),
        scope,
    );
    let request = authority.request("POST", "/").header(header::CONTENT_TYPE, FORM).header("x-amz-date", &time);
    let request = request.header("x-amz-security-token", sensitive(token)?);
    let request = request.header(header::AUTHORIZATION, sensitive(&authorization)?);
    let answer = authority.send(request.body(body), None).await?;
    read(answer, action, role.arn, authority, world)
}

/// Gives the host as its header has it, and the path.
pub(crate) fn place(address: &str) -> Result<(String, String), GrantError> {
    let url = Url::parse(&format!("{address}/")).ok();
    let place = url.and_then(|url| Some((host_and_port(&url)?, url.path().to_owned())));
    place.ok_or_else(|| GrantError::Settings("the address of AWS is no URL".to_owned()))
}

/// Takes the keys out of a success, and makes an error of everything else.
pub(crate) fn read(
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
