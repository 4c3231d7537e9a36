//! `[issuer.NAME]` of Amazon Web Services: keys for a role, for a token or for a certificate.
//! Tables of the file become one struct a kind.
//! Holds names, policies and templates only; `credmint-issuers` talks to the services.

use std::path::PathBuf;
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

/// `kind = "aws-roles-anywhere"`: CreateSession, then perhaps AssumeRole.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RolesAnywhere {
    /// `trust_anchor_arn`: the anchor that the certificate leads to; its region is the one that is asked.
    pub trust_anchor_arn: String,
    /// `profile_arn`: the profile that lets the role be used.
    pub profile_arn: String,
    /// `role_arn`: the role that the session is of.
    pub role_arn: String,
    /// `certificate_issuer`: name of the issuer of the certificate whose key signs.
    pub certificate_issuer: String,
    /// `then`: roles that are assumed one after the other, each with the keys of the one before.
    pub then: Vec<String>,
    /// `session_name`: template over the identity's claims; without it the certificate's serial number.
    pub session_name: Option<String>,
    /// `duration`: life to ask for, of the last role.
    pub duration: Option<Duration>,
    /// `endpoint`: another address than the region's own.
    pub endpoint: Option<String>,
    /// `sts_endpoint`: another address of the Security Token Service, for `then`.
    pub sts_endpoint: Option<String>,
    /// How to reach both.
    pub peer: Peer,
}

impl AwsSts {
    /// Gives the address that is asked: the given one, or that of the region and its partition.
    #[must_use]
    pub fn address(&self) -> String {
        address("sts", &self.region, self.endpoint.as_deref())
    }
}

impl RolesAnywhere {
    /// Gives the region: that of the trust anchor.
    #[must_use]
    pub fn region(&self) -> &str {
        region_of(&self.trust_anchor_arn)
    }

    /// Gives the address that is asked: the given one, or that of the region and its partition.
    #[must_use]
    pub fn address(&self) -> String {
        address("rolesanywhere", self.region(), self.endpoint.as_deref())
    }

    /// Gives the address that is asked for the roles of `then`.
    #[must_use]
    pub fn sts_address(&self) -> String {
        address("sts", self.region(), self.sts_endpoint.as_deref())
    }
}

/// `kind = "aws-caller"`: the caller's own keys of AWS sign a request that says who it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AwsCaller {
    /// `region`: whose STS the request is for; without it the global one.
    pub region: Option<String>,
    /// `endpoint`: another address of STS.
    pub endpoint: Option<String>,
    /// `server_id`: what the Vault wants in `X-Vault-AWS-IAM-Server-ID`.
    pub server_id: Option<String>,
    /// `web_identity_token_file`: the file that `AWS_WEB_IDENTITY_TOKEN_FILE` may name.
    pub web_identity_token_file: PathBuf,
    /// `authorization_token_file`: the file that `AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE` may name.
    pub authorization_token_file: PathBuf,
    /// How STS and a container's endpoint are reached.
    pub peer: Peer,
}

impl AwsCaller {
    /// Gives the address of STS that the request is for.
    #[must_use]
    pub fn address(&self) -> String {
        match (&self.region, &self.endpoint) {
            (None, None) => "https://sts.amazonaws.com".to_owned(),
            _ => address("sts", self.region(), self.endpoint.as_deref()),
        }
    }

    /// Gives the region that the signature is for: the global address counts as one of its own.
    #[must_use]
    pub fn region(&self) -> &str {
        self.region.as_deref().unwrap_or("us-east-1")
    }
}

fn address(service: &str, region: &str, given: Option<&str>) -> String {
    let suffix = if partition(region) == "aws-cn" { ".cn" } else { "" };
    let own = || format!("https://{service}.{region}.amazonaws.com{suffix}");
    given.map_or_else(own, |given| given.trim_end_matches('/').to_owned())
}

/// Gives the region of an ARN: its fourth part.
pub(crate) fn region_of(arn: &str) -> &str {
    arn.split(':').nth(3).unwrap_or_default()
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

    #[test]
    fn roles_anywhere_is_asked_where_the_trust_anchor_is() {
        let anchor = |partition: &str, region: &str| RolesAnywhere {
            trust_anchor_arn: format!("arn:{partition}:rolesanywhere:{region}:123456789012:trust-anchor/a"),
            profile_arn: format!("arn:{partition}:rolesanywhere:{region}:123456789012:profile/p"),
            role_arn: format!("arn:{partition}:iam::123456789012:role/r"),
            certificate_issuer: "own".into(),
            then: Vec::new(),
            session_name: None,
            duration: None,
            endpoint: None,
            sts_endpoint: None,
            peer: Peer::default(),
        };
        let china = anchor("aws-cn", "cn-north-1");
        assert_eq!(china.address(), "https://rolesanywhere.cn-north-1.amazonaws.com.cn");
        assert_eq!(china.sts_address(), "https://sts.cn-north-1.amazonaws.com.cn");
        let given = RolesAnywhere { endpoint: Some("https://vpce.example/".into()), ..anchor("aws", "eu-west-1") };
        assert_eq!(given.address(), "https://vpce.example");
        assert_eq!(given.sts_address(), "https://sts.eu-west-1.amazonaws.com");
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
