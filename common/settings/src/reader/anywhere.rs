//! `[issuer.NAME]` of kind `aws-roles-anywhere`.
//! A table comes in, an [`Issuer`] goes out.
//! Talks to nobody. Limits are those of the Roles Anywhere API reference, CreateSession.

use crate::aws::{RolesAnywhere, partition, region_of};
use crate::error::SettingsError;
use crate::issuer::Issuer;
use crate::reader::aws::{check_duration, check_partitions};
use crate::reader::client::peer;
use crate::reader::fields::Fields;
use crate::reader::item::Item;
use crate::reader::shape::{Key, may, must};

pub(crate) const KEYS: &[Key] = &[
    must("trust_anchor_arn"),
    must("profile_arn"),
    must("role_arn"),
    must("certificate_issuer"),
    may("then"),
    may("session_name"),
    may("duration"),
    may("endpoint"),
    may("sts_endpoint"),
];

pub(crate) fn read(fields: &Fields<'_>) -> Result<Issuer, SettingsError> {
    fields.needs("sts_endpoint", "then")?;
    let anywhere = RolesAnywhere {
        trust_anchor_arn: fields.required("trust_anchor_arn", Item::trust_anchor_arn)?,
        profile_arn: fields.required("profile_arn", Item::profile_arn)?,
        role_arn: fields.required("role_arn", Item::role_arn)?,
        certificate_issuer: fields.required("certificate_issuer", Item::text)?,
        then: fields.list("then", Item::role_arn)?,
        session_name: fields.optional("session_name", Item::template)?,
        duration: fields.optional("duration", Item::duration)?,
        endpoint: fields.optional("endpoint", Item::server)?,
        sts_endpoint: fields.optional("sts_endpoint", Item::server)?,
        peer: peer(fields)?,
    };
    let region = anywhere.region().to_owned();
    if region_of(&anywhere.profile_arn) != region {
        return Err(fields
            .error_at("profile_arn", "`profile_arn` is of another region than the trust anchor")
            .with_hint(format!("both have to be in one region, here {region}")));
    }
    check_duration(fields, anywhere.duration, &anywhere.then)?;
    let one = std::slice::from_ref(&anywhere.role_arn);
    check_partitions(fields, &region, &[("role_arn", one), ("then", &anywhere.then)])?;
    Ok(Issuer::RolesAnywhere(Box::new(anywhere)))
}

impl Item<'_> {
    fn trust_anchor_arn(&self) -> Result<String, SettingsError> {
        self.anywhere_arn("trust-anchor/", "is not the ARN of a trust anchor")
    }

    fn profile_arn(&self) -> Result<String, SettingsError> {
        self.anywhere_arn("profile/", "is not the ARN of a profile")
    }

    fn anywhere_arn(&self, kind: &str, why: &str) -> Result<String, SettingsError> {
        let text = self.text()?;
        let parts: Vec<&str> = text.splitn(6, ':').collect();
        let good = match parts.as_slice() {
            ["arn", own, "rolesanywhere", region, account, name] => {
                let rest = name.strip_prefix(kind).unwrap_or_default();
                is_region(region)
                    && *own == partition(region)
                    && account.len() == 12
                    && account.bytes().all(|byte| byte.is_ascii_digit())
                    && !rest.is_empty()
                    && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            }
            _ => false,
        };
        let hint = format!("it looks like arn:aws:rolesanywhere:eu-central-1:123456789012:{kind}0a1b2c3d-…");
        if good && text.len() <= LONGEST { Ok(text) } else { Err(self.is_wrong(why).with_hint(hint)) }
    }
}

/// Tells a region by its form: what is in it becomes a part of a server's name.
fn is_region(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

const LONGEST: usize = 1_011;
