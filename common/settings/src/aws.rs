//! `[issuer.NAME]` of Amazon Web Services: keys for a role.
//! Tables of the file become one struct a kind.
//! Holds names, policies and templates only; `credmint-issuers` talks to the Security Token Service.

use std::time::Duration;

use crate::issuer::Peer;

/// `kind = "aws-sts"`: AssumeRoleWithWebIdentity, then perhaps AssumeRole.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AwsSts {
    /// `role_arn`: the role that the identity's token is exchanged for.
    pub role_arn: String,
    /// `then`: roles that are assumed one after the other, each with the keys of the one before.
    pub then: Vec<String>,
    /// `region`: whose endpoint is asked.
    pub region: String,
    /// `session_name`: template over the identity's claims (default `{sub}`).
    pub session_name: String,
    /// `duration`: life to ask for, of the last role; without it STS decides.
    pub duration: Option<Duration>,
    /// `policy`: a session policy in JSON, for the last role.
    pub policy: Option<String>,
    /// `policy_arns`: managed session policies, for the last role.
    pub policy_arns: Vec<String>,
    /// `token_audience`: what the token's `aud` must contain before it is sent.
    pub token_audience: Option<String>,
    /// `endpoint`: another address than the region's own, as of a VPC endpoint.
    pub endpoint: Option<String>,
    /// How to reach it.
    pub peer: Peer,
}

impl AwsSts {
    /// Gives the address that is asked: the given one, or that of the region and its partition.
    #[must_use]
    pub fn address(&self) -> String {
        let suffix = if partition(&self.region) == "aws-cn" { ".cn" } else { "" };
        let own = || format!("https://sts.{}.amazonaws.com{suffix}", self.region);
        self.endpoint.as_ref().map_or_else(own, |given| given.trim_end_matches('/').to_owned())
    }
}

/// Gives the partition of a region: China and the US government have their own, with names and addresses apart.
pub(crate) fn partition(region: &str) -> &'static str {
    match region {
        _ if region.starts_with("cn-") => "aws-cn",
        _ if region.starts_with("us-gov-") => "aws-us-gov",
        _ => "aws",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_has_its_own_address() {
        for (region, address) in [
            ("eu-central-1", "https://sts.eu-central-1.amazonaws.com"),
            ("cn-north-1", "https://sts.cn-north-1.amazonaws.com.cn"),
            ("us-gov-west-1", "https://sts.us-gov-west-1.amazonaws.com"),
        ] {
            assert_eq!(sts(region, None).address(), address);
        }
        assert_eq!(sts("eu-central-1", Some("https://vpce.example/")).address(), "https://vpce.example");
    }

    fn sts(region: &str, endpoint: Option<&str>) -> AwsSts {
        AwsSts {
            role_arn: "arn:aws:iam::123456789012:role/a".into(),
            then: Vec::new(),
            region: region.into(),
            session_name: "{sub}".into(),
            duration: None,
            policy: None,
            policy_arns: Vec::new(),
            token_audience: None,
            endpoint: endpoint.map(str::to_owned),
            peer: Peer::default(),
        }
    }
}
