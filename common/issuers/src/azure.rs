//! `kind = "azure"`: an access token of Entra, for which the subject token is the client's assertion.
//! The application's settings and the subject token come in, an access token goes out.
//! Sends the subject token to the tenant's token endpoint alone. RFC 7523 §2.2; Entra's federated identity credentials.

use credmint_identities::{SubjectToken, TokenEndpoint, trust};
use credmint_settings::Azure;

use crate::cloud::{Told, explained, granted, token_of};
use crate::error::GrantError;
use crate::grant::{Grant, World, needed};
use crate::oidc::check_audience;

/// Asks for a token in the application's own name.
pub(crate) async fn grant(
    settings: &Azure,
    subject: Option<&SubjectToken>,
    world: &World<'_>,
) -> Result<Grant, GrantError> {
    let subject = needed(subject)?;
    check_audience(subject, settings.token_audience.as_deref())?;
    let (trust, time) = (trust(&settings.peer), (world.now, world.deadline));
    let address = format!("{}/{}/oauth2/v2.0/token", settings.endpoint, settings.tenant);
    let endpoint = TokenEndpoint::find(None, Some(&address), world.https, &trust, world.deadline).await?;
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", settings.client_id.as_str()),
        ("scope", settings.scope.as_str()),
        ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
        ("client_assertion", subject.token.expose().as_str()),
    ];
    let what = format!("a token for {}", settings.scope);
    let body = endpoint.post_form(&form, (world.https, &trust), time).await;
    let body = body.map_err(|error| explained(error, &what, REFUSALS))?;
    Ok(granted(token_of(&body, &endpoint, world.now)?, Vec::new()))
}

/// The longer codes first: some begin like others.
const REFUSALS: &[Told] = &[
    (
        "AADSTS700211",
        "no federated credential of the application is for the token's issuer",
        "compare the token's iss with the issuer of the federated credential, letter by letter",
    ),
    (
        "AADSTS700212",
        "no federated credential of the application is for the token's audience",
        "have the token issued for the audience of the federated credential, by default api://AzureADTokenExchange",
    ),
    (
        "AADSTS700213",
        "no federated credential of the application is for the token's subject",
        "compare the token's sub with the subject of the federated credential, letter by letter",
    ),
    (
        "AADSTS70021:",
        "no federated credential of the application fits the token",
        "compare iss, sub and aud of the token with the federated credential",
    ),
    ("AADSTS700024", "the token has expired, or is not valid yet", "get a new token, and check this machine's clock"),
    (
        "AADSTS700016",
        "the tenant has no such application",
        "check client_id and tenant in the settings: the client ID, not the object ID",
    ),
    ("AADSTS90002", "there is no such tenant", "check tenant and endpoint in the settings"),
    ("AADSTS900023", "there is no such tenant", "check tenant and endpoint in the settings"),
    (
        "AADSTS700027",
        "the signature of the token does not match the issuer's keys",
        "see that the issuer's discovery document and its keys can be read from the internet",
    ),
    ("AADSTS500011", "the tenant does not know the resource of the scope", "check scope in the settings"),
    ("AADSTS70011", "the scope is malformed", "check scope in the settings: RESOURCE/.default"),
];
