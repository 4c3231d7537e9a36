//! `[issuer.NAME]` of Amazon Web Services.
//! A table comes in, an [`Issuer`] goes out.
//! Talks to nobody. Limits are those of the STS API reference, AssumeRoleWithWebIdentity and AssumeRole.

use std::time::Duration;

use crate::aws::{AwsSts, partition};
use crate::error::SettingsError;
use crate::issuer::Issuer;
use crate::reader::client::peer;
use crate::reader::fields::Fields;
use crate::reader::item::Item;
use crate::reader::shape::{Key, may, must};

pub(crate) const STS: &[Key] = &[
    must("role_arn"),
    must("region"),
    may("then"),
    may("session_name"),
    may("duration"),
    may("policy"),
    may("policy_arns"),
    may("token_audience"),
    may("endpoint"),
];

pub(crate) fn sts(fields: &Fields<'_>) -> Result<Issuer, SettingsError> {
    let sts = AwsSts {
        role_arn: fields.required("role_arn", Item::role_arn)?,
        region: fields.required("region", Item::region)?,
        then: fields.list("then", Item::role_arn)?,
        session_name: fields.optional("session_name", Item::template)?.unwrap_or_else(|| "{sub}".to_owned()),
        duration: fields.optional("duration", Item::duration)?,
        policy: fields.optional("policy", Item::session_policy)?,
        policy_arns: fields.list("policy_arns", Item::policy_arn)?,
        token_audience: fields.optional("token_audience", Item::text)?,
        endpoint: fields.optional("endpoint", Item::server)?,
        peer: peer(fields)?,
    };
    check_duration(fields, sts.duration, &sts.then)?;
    check_partition(fields, &sts)?;
    if sts.policy_arns.len() > MOST_POLICIES {
        return Err(fields.error_at("policy_arns", "more than ten managed policies").with_hint("STS takes ten"));
    }
    Ok(Issuer::AwsSts(Box::new(sts)))
}

/// Sees to it that the life is one that a role, or a chain of them, can have.
pub(crate) fn check_duration(
    fields: &Fields<'_>,
    duration: Option<Duration>,
    then: &[String],
) -> Result<(), SettingsError> {
    let Some(duration) = duration else { return Ok(()) };
    if duration < SHORTEST || duration > LONGEST {
        let what = format!("{} is not from 15m to 12h", fields.quoted("duration"));
        return Err(fields.error_at("duration", what).with_hint("the role's own maximum counts, too"));
    }
    if duration > HOUR && !then.is_empty() {
        let what = format!("{} is longer than 1h, which no chain of roles has", fields.quoted("duration"));
        return Err(fields.error_at("duration", what).with_hint("shorten it, or have the last role trust the issuer"));
    }
    Ok(())
}

/// Sees to it that roles and policies are of the region's partition: no other can be had there.
fn check_partition(fields: &Fields<'_>, sts: &AwsSts) -> Result<(), SettingsError> {
    let one = std::slice::from_ref(&sts.role_arn);
    check_partitions(fields, &sts.region, &[("role_arn", one), ("then", &sts.then), ("policy_arns", &sts.policy_arns)])
}

pub(crate) fn check_partitions(
    fields: &Fields<'_>,
    region: &str,
    all: &[(&str, &[String])],
) -> Result<(), SettingsError> {
    let partition = partition(region);
    let own = |arn: &String| arn.split(':').nth(1) == Some(partition);
    match all.iter().find(|(_, arns)| !arns.iter().all(own)) {
        Some((key, _)) => Err(fields
            .error_at(key, format!("{} is of another partition than the region", fields.quoted(key)))
            .with_hint(format!("in {region} it begins with arn:{partition}:"))),
        None => Ok(()),
    }
}

impl Item<'_> {
    /// Reads a region: `eu-central-1`.
    pub(crate) fn region(&self) -> Result<String, SettingsError> {
        let text = self.text()?;
        let parts: Vec<&str> = text.split('-').collect();
        let good = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase());
        match parts.as_slice() {
            [names @ .., number] if names.len() >= 2 && names.iter().all(good) && number.parse::<u8>().is_ok() => {
                Ok(text)
            }
            _ => Err(self.is_wrong("is not a region").with_hint("a region looks like eu-central-1")),
        }
    }

    pub(crate) fn role_arn(&self) -> Result<String, SettingsError> {
        self.arn("role/", ("is not the ARN of a role", "it looks like arn:aws:iam::123456789012:role/terraform"))
    }

    fn policy_arn(&self) -> Result<String, SettingsError> {
        self.arn("policy/", ("is not the ARN of a policy", "it looks like arn:aws:iam::aws:policy/ReadOnlyAccess"))
    }

    fn arn(&self, kind: &str, (why, hint): (&str, &str)) -> Result<String, SettingsError> {
        let text = self.text()?;
        let parts: Vec<&str> = text.splitn(6, ':').collect();
        let good = match parts.as_slice() {
            ["arn", "aws" | "aws-cn" | "aws-us-gov", "iam", "", account, name] => {
                let owned = account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit());
                let rest = name.strip_prefix(kind).unwrap_or_default();
                (owned || (*account == "aws" && kind == "policy/"))
                    && !rest.is_empty()
                    && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+=,.@-_/".contains(&byte))
            }
            _ => false,
        };
        if good && text.len() <= LONGEST_TEXT { Ok(text) } else { Err(self.is_wrong(why).with_hint(hint)) }
    }

    /// Reads a policy document: an object in JSON, which STS reads.
    fn session_policy(&self) -> Result<String, SettingsError> {
        let text = self.lines()?;
        let object = text.starts_with('{') && text.ends_with('}');
        match () {
            () if !object => Err(self.is_wrong("is not a policy").with_hint("write the document itself, in JSON")),
            () if text.chars().count() > LONGEST_TEXT => {
                Err(self.is_wrong("is longer than 2048 characters").with_hint("name managed policies in `policy_arns`"))
            }
            () => Ok(text),
        }
    }
}

const SHORTEST: Duration = Duration::from_secs(900);
const HOUR: Duration = Duration::from_secs(3_600);
const LONGEST: Duration = Duration::from_secs(43_200);
const LONGEST_TEXT: usize = 2_048;
const MOST_POLICIES: usize = 10;
