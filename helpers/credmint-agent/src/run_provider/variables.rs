//! What a program of a run finds in its environment for a provider.
//! A channel, the endpoint or the credential come in, names with values go out.
//! Pure. `protocol-spec/bridge-protocol.md` §11.

use std::collections::BTreeMap;

use credmint_agent_protocol::{Credential as Placeholder, WireSecret};
use credmint_protocols::google_account::{self, Account, Impersonation};
use credmint_protocols::{AnswerError, Credential};
use credmint_settings::{Channel, GoogleSts, Issuer};
use credmint_vocabulary::{Failure, Secret};

use super::{unfit, with_credential};
use crate::get::Pair;
use crate::recipe::Recipe;

type Variables = BTreeMap<String, WireSecret>;
type Pairs = Vec<(&'static str, Secret<String>)>;

/// Makes them; an endpoint is its token and its address.
pub(super) fn of(
    channel: Channel,
    (name, recipe): (&str, &Recipe),
    endpoint: Option<(Secret<String>, String)>,
    pair: &Pair,
) -> Result<Variables, Failure> {
    let issuer = original(recipe);
    let mut all: Pairs = match endpoint {
        Some((token, address)) => {
            of_endpoint(channel, token, &address, issuer).map_err(|error| unfit(recipe, &error))?
        }
        None => {
            let username = recipe.settings.providers.get(name).and_then(|own| own.username.as_deref());
            with_credential(pair, |credential| {
                let credential = Credential { username, ..*credential };
                of_credential(channel, &credential).map_err(|error| unfit(recipe, &error))
            })??
        }
    };
    if matches!(channel, Channel::AzureOidc | Channel::AzureToken) {
        all.extend(of_azure(issuer));
    }
    Ok(all.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect())
}

/// Writes keys that open nothing, for a job without a user.
pub(super) fn of_placeholder(keys: Placeholder) -> Variables {
    let Placeholder { access_key_id, secret_access_key, session_token, .. } = keys;
    let own = [("AWS_SECRET_ACCESS_KEY", secret_access_key), ("AWS_SESSION_TOKEN", session_token)];
    let id = access_key_id.map(|id| ("AWS_ACCESS_KEY_ID", WireSecret::from(Secret::new(id))));
    let own = own.into_iter().filter_map(|(name, value)| Some((name, value?)));
    own.chain(id).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Finds the issuer of the person's own settings: that of an assertion stands beside it.
fn original(recipe: &Recipe) -> Option<&Issuer> {
    let used = recipe.route()?.issuer_name;
    let own = used.strip_suffix(super::assertion::SUFFIX).unwrap_or(used);
    recipe.settings.issuers.get(own)
}

fn of_endpoint(
    channel: Channel,
    token: Secret<String>,
    address: &str,
    issuer: Option<&Issuer>,
) -> Result<Pairs, AnswerError> {
    Ok(match (channel, issuer) {
        (Channel::AwsContainer, _) => vec![
            ("AWS_CONTAINER_CREDENTIALS_FULL_URI", Secret::from(address)),
            ("AWS_CONTAINER_AUTHORIZATION_TOKEN", token),
        ],
        (Channel::GoogleUrl, Some(Issuer::GoogleSts(google))) => {
            vec![("GOOGLE_CREDENTIALS", external_account(google, &token, address)?)]
        }
        _ => vec![("ARM_OIDC_REQUEST_URL", Secret::from(address)), ("ARM_OIDC_REQUEST_TOKEN", token)],
    })
}

/// Writes the account that Google's libraries read: they make the exchange, we have the token for it.
fn external_account(google: &GoogleSts, token: &Secret<String>, address: &str) -> Result<Secret<String>, AnswerError> {
    let path = |email: &String| format!("/v1/projects/-/serviceAccounts/{email}:generateAccessToken");
    let impersonation = google.service_account.as_ref().map(|email| format!("{}{}", google.iam_endpoint, path(email)));
    let life = google.lifetime.map(|life| Impersonation { token_lifetime_seconds: life.as_secs() });
    let account = Account {
        audience: &google.audience,
        subject_token_type: &google.subject_token_type,
        token_url: &format!("{}/v1/token", google.endpoint),
        service_account_impersonation_url: impersonation.as_deref(),
        service_account_impersonation: life.filter(|_| impersonation.is_some()),
        workforce_pool_user_project: google.user_project.as_deref(),
    };
    google_account::document(&account, address, token)
}

/// The token fits one application alone, so that is said with it.
fn of_azure(issuer: Option<&Issuer>) -> Pairs {
    let mut all = vec![("ARM_USE_OIDC", Secret::from("true"))];
    if let Some(Issuer::Azure(azure)) = issuer {
        all.push(("ARM_CLIENT_ID", Secret::from(azure.client_id.as_str())));
        all.push(("ARM_TENANT_ID", Secret::from(azure.tenant.as_str())));
    }
    all
}

fn of_credential(channel: Channel, credential: &Credential<'_>) -> Result<Pairs, AnswerError> {
    let token = |name| Ok(vec![(name, credential.bearer()?.copied())]);
    match channel {
        Channel::AwsKeys => {
            let keys = credential.aws_keys()?;
            Ok(vec![
                ("AWS_ACCESS_KEY_ID", Secret::from(keys.access_key_id)),
                ("AWS_SECRET_ACCESS_KEY", keys.secret_access_key.copied()),
                ("AWS_SESSION_TOKEN", keys.session_token.copied()),
            ])
        }
        Channel::Kubernetes => of_cluster(credential),
        Channel::Http => {
            let username = Secret::from(credential.username.unwrap_or("oauth2"));
            Ok(vec![("TF_HTTP_USERNAME", username), ("TF_HTTP_PASSWORD", credential.bearer()?.copied())])
        }
        Channel::AzureToken => token("ARM_OIDC_TOKEN"),
        Channel::GoogleToken => token("GOOGLE_OAUTH_ACCESS_TOKEN"),
        Channel::VaultToken => token("VAULT_TOKEN"),
        Channel::VaultJwt => token("TERRAFORM_VAULT_AUTH_JWT"),
        Channel::Github => token("GITHUB_TOKEN"),
        Channel::Gitlab => token("GITLAB_TOKEN"),
        _ => Err(AnswerError::Kind("credential for this way")),
    }
}

fn of_cluster(credential: &Credential<'_>) -> Result<Pairs, AnswerError> {
    let mut all = Vec::new();
    if let (Some(certificate), Some(key)) = (credential.certificate_pem, credential.private_key_pem) {
        all.push(("KUBE_CLIENT_CERT_DATA", Secret::from(certificate)));
        all.push(("KUBE_CLIENT_KEY_DATA", key.copied()));
    }
    if credential.token.is_some() || all.is_empty() {
        all.push(("KUBE_TOKEN", credential.bearer()?.copied()));
    }
    Ok(all)
}
