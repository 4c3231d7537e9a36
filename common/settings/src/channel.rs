//! By which way a program of `credmint exec` gets the credential of a provider, and which variables of its environment that takes.
//! An issuer or a word of the settings comes in, a channel goes out; a channel comes in, names of variables go out.
//! Pure: holds names and no values. `protocol-spec/bridge-protocol.md` §11.

use crate::issuer::Issuer;

/// `exec`: how a program of a run gets the credential of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Channel {
    /// `aws-container`: the endpoint that the AWS SDKs know from containers.
    AwsContainer,
    /// `aws-keys`: the keys themselves.
    AwsKeys,
    /// `azure-oidc`: the endpoint of a CI system for tokens, as the Azure providers know it.
    AzureOidc,
    /// `azure-token`: the client's assertion itself.
    AzureToken,
    /// `google-url`: an external account whose subject token is at an endpoint.
    GoogleUrl,
    /// `google-token`: the access token itself.
    GoogleToken,
    /// `kubernetes`: a token, a certificate with its key, or both.
    Kubernetes,
    /// `vault-token`: a client token.
    VaultToken,
    /// `vault-jwt`: what the provider logs in with at the `jwt` method.
    VaultJwt,
    /// `github`: a token.
    Github,
    /// `gitlab`: a token.
    Gitlab,
    /// `http`: the password of the `http` state backend.
    Http,
}

/// All of them, by their words.
pub(crate) const WORDS: [(&str, Channel); 12] = [
    ("aws-container", Channel::AwsContainer),
    ("aws-keys", Channel::AwsKeys),
    ("azure-oidc", Channel::AzureOidc),
    ("azure-token", Channel::AzureToken),
    ("google-url", Channel::GoogleUrl),
    ("google-token", Channel::GoogleToken),
    ("kubernetes", Channel::Kubernetes),
    ("vault-token", Channel::VaultToken),
    ("vault-jwt", Channel::VaultJwt),
    ("github", Channel::Github),
    ("gitlab", Channel::Gitlab),
    ("http", Channel::Http),
];

impl Channel {
    /// Gives the one that fits what an issuer grants, and is renewed where any is; none fits a token that may be for anything.
    #[must_use]
    pub const fn of(issuer: &Issuer) -> Option<Self> {
        match issuer {
            Issuer::Azure(_) => Some(Self::AzureOidc),
            // Who shows a certificate has no token that a library could exchange.
            Issuer::GoogleSts(sts) if sts.certificate_issuer.is_some() => Some(Self::GoogleToken),
            Issuer::GoogleSts(_) => Some(Self::GoogleUrl),
            Issuer::KubernetesToken(_) => Some(Self::Kubernetes),
            Issuer::VaultToken(_) => Some(Self::VaultToken),
            Issuer::GithubApp(_) => Some(Self::Github),
            _ if issuer.grants_keys() => Some(Self::AwsContainer),
            _ if issuer.grants_certificate() => Some(Self::Kubernetes),
            _ => None,
        }
    }

    /// Gives the word of the settings.
    #[must_use]
    pub fn word(self) -> &'static str {
        WORDS.iter().find(|(_, own)| *own == self).map_or("", |(word, _)| word)
    }

    /// Tells whether it is an endpoint at the run's port: then it is asked again, and answers with what is good by then.
    #[must_use]
    pub const fn is_endpoint(self) -> bool {
        matches!(self, Self::AwsContainer | Self::AzureOidc | Self::GoogleUrl)
    }

    /// Tells whether the program makes the exchange itself: then it gets the identity's token, and what the issuer grants is not asked for.
    #[must_use]
    pub const fn takes_assertion(self, issuer: &Issuer) -> bool {
        match self {
            Self::AzureOidc | Self::AzureToken => matches!(issuer, Issuer::Azure(_)),
            Self::GoogleUrl => matches!(issuer, Issuer::GoogleSts(_)),
            Self::VaultJwt => matches!(issuer, Issuer::VaultToken(_)),
            _ => false,
        }
    }

    /// Says why it does not fit an issuer, if so.
    pub(crate) fn misfit(self, issuer: &Issuer) -> Option<&'static str> {
        let (keys, certificate) = (issuer.grants_keys(), issuer.grants_certificate());
        match self {
            Self::AwsContainer | Self::AwsKeys => (!keys).then_some("keys of AWS"),
            Self::GoogleUrl => {
                let is_exchanged = matches!(issuer, Issuer::GoogleSts(sts) if sts.certificate_issuer.is_none());
                (!is_exchanged).then_some("a token that the program exchanges at Google")
            }
            Self::Kubernetes => keys.then_some("a token or a certificate"),
            _ => (keys || certificate).then_some("a token"),
        }
    }

    /// Lists the variables that it sets, or may set: two channels of one run have none in common.
    #[must_use]
    pub const fn variables(self) -> &'static [&'static str] {
        match self {
            Self::AwsContainer => &["AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN"],
            Self::AwsKeys => &["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"],
            Self::AzureOidc => {
                &["ARM_USE_OIDC", "ARM_OIDC_REQUEST_URL", "ARM_OIDC_REQUEST_TOKEN", "ARM_CLIENT_ID", "ARM_TENANT_ID"]
            }
            Self::AzureToken => &["ARM_USE_OIDC", "ARM_OIDC_TOKEN", "ARM_CLIENT_ID", "ARM_TENANT_ID"],
            Self::GoogleUrl => &["GOOGLE_CREDENTIALS"],
            Self::GoogleToken => &["GOOGLE_OAUTH_ACCESS_TOKEN"],
            Self::Kubernetes => &["KUBE_TOKEN", "KUBE_CLIENT_CERT_DATA", "KUBE_CLIENT_KEY_DATA"],
            Self::VaultToken => &["VAULT_TOKEN"],
            Self::VaultJwt => &["TERRAFORM_VAULT_AUTH_JWT"],
            Self::Github => &["GITHUB_TOKEN"],
            Self::Gitlab => &["GITLAB_TOKEN"],
            Self::Http => &["TF_HTTP_USERNAME", "TF_HTTP_PASSWORD"],
        }
    }

    /// Lists the variables that would go before ours, or mix with them: the program does not get them.
    #[must_use]
    pub const fn left_out(self) -> &'static [&'static str] {
        match self {
            Self::AwsContainer | Self::AwsKeys => AWS,
            Self::AzureOidc | Self::AzureToken => AZURE,
            Self::GoogleUrl | Self::GoogleToken => GOOGLE,
            Self::Kubernetes => {
                &["KUBE_TOKEN", "KUBE_CLIENT_CERT_DATA", "KUBE_CLIENT_KEY_DATA", "KUBE_USER", "KUBE_PASSWORD"]
            }
            Self::VaultToken => &["VAULT_TOKEN", "BAO_TOKEN"],
            Self::VaultJwt => &["TERRAFORM_VAULT_AUTH_JWT", "TERRAFORM_VAULT_AUTH_DISTRIBUTED_CLAIM_ACCESS_TOKEN"],
            Self::Github => &["GITHUB_TOKEN", "GH_TOKEN"],
            Self::Gitlab => &["GITLAB_TOKEN"],
            Self::Http => &["TF_HTTP_USERNAME", "TF_HTTP_PASSWORD"],
        }
    }

    /// Tells whether a program cannot have both: they set the same variables, or one leaves out what the other sets.
    #[must_use]
    pub fn clashes(self, other: Self) -> bool {
        let touched = |own: Self, name: &&str| own.variables().contains(name) || own.left_out().contains(name);
        let sets = |one: Self, other: Self| one.variables().iter().any(|name| touched(other, name));
        sets(self, other) || sets(other, self)
    }

    /// Lists the variables that lead to an empty file: what stands in the usual one goes before a container's endpoint.
    #[must_use]
    pub const fn emptied(self) -> &'static [&'static str] {
        match self {
            Self::AwsContainer => &["AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"],
            _ => &[],
        }
    }

    /// Says in words what the program gets, and whether that is renewed while it runs.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::AwsContainer => {
                "an endpoint of the run, renewed while it lasts; the keys stay in memory, the environment has the right to ask"
            }
            Self::AzureOidc | Self::GoogleUrl => {
                "an endpoint of the run, renewed while it lasts; the token stays in memory, the environment has the right to ask"
            }
            Self::VaultToken => {
                "in the environment, the same to the end of the run; the Vault provider makes a child token of it"
            }
            Self::VaultJwt | Self::AzureToken => {
                "the token that the program signs in with, in the environment, the same to the end of the run"
            }
            _ => "in the environment, the same to the end of the run",
        }
    }
}

const AWS: &[&str] = &[
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    // Older names of the same: Go's SDK takes the first two, botocore the third before the one that we set.
    "AWS_ACCESS_KEY",
    "AWS_SECRET_KEY",
    "AWS_SECURITY_TOKEN",
    // The end of the keys before: botocore would believe it of ours.
    "AWS_CREDENTIAL_EXPIRATION",
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_ROLE_ARN",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
];
const AZURE: &[&str] = &[
    "ARM_OIDC_TOKEN",
    "ARM_OIDC_TOKEN_FILE_PATH",
    "ARM_OIDC_REQUEST_URL",
    "ARM_OIDC_REQUEST_TOKEN",
    "ARM_CLIENT_SECRET",
    "ARM_CLIENT_SECRET_FILE_PATH",
    "ARM_CLIENT_CERTIFICATE",
    "ARM_CLIENT_CERTIFICATE_PATH",
    "ARM_CLIENT_CERTIFICATE_PASSWORD",
    "ARM_CLIENT_ID_FILE_PATH",
    "ARM_ADO_PIPELINE_SERVICE_CONNECTION_ID",
    "ARM_OIDC_AZURE_SERVICE_CONNECTION_ID",
    "ARM_USE_AKS_WORKLOAD_IDENTITY",
    "ARM_USE_MSI",
];
const GOOGLE: &[&str] = &[
    "GOOGLE_CREDENTIALS",
    "GOOGLE_CLOUD_KEYFILE_JSON",
    "GCLOUD_KEYFILE_JSON",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_OAUTH_ACCESS_TOKEN",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_static_token_and_an_address_for_one_are_never_set_together() {
        for (word, channel) in WORDS {
            assert_eq!(channel.word(), word);
            let has = |name| channel.variables().contains(&name);
            assert!(!(has("ARM_OIDC_TOKEN") && has("ARM_OIDC_REQUEST_URL")), "{word}");
            // Whatever is ours is nobody else's, and what is not set does not stay from before.
            let of_settings = |name: &&str| !["ARM_USE_OIDC", "ARM_CLIENT_ID", "ARM_TENANT_ID"].contains(name);
            let all = channel.variables().iter().filter(|name| of_settings(name));
            assert!(all.clone().all(|name| channel.left_out().contains(name)), "{word}");
        }
        assert!(Channel::AzureToken.left_out().contains(&"ARM_OIDC_REQUEST_URL"));
        assert!(Channel::AwsKeys.left_out().contains(&"AWS_PROFILE"));
    }

    #[test]
    fn older_names_of_keys_and_the_end_of_others_do_not_stay_beside_ours() {
        for name in ["AWS_ACCESS_KEY", "AWS_SECRET_KEY", "AWS_SECURITY_TOKEN", "AWS_CREDENTIAL_EXPIRATION"] {
            for channel in [Channel::AwsContainer, Channel::AwsKeys] {
                assert!(channel.left_out().contains(&name), "{name}");
            }
        }
    }
}
