//! `kind = "aws-sts"`: keys for a role, given for the subject token; then perhaps for other roles, given for those keys.
//! The role's settings and the subject token come in, temporary keys go out.
//! Sends the subject token to AssumeRoleWithWebIdentity alone. STS API reference, version 2011-06-15.

use std::time::Duration;

use credmint_identities::{SubjectToken, encode_form};
use credmint_settings::AwsSts;
use http::header;

use crate::authority::Authority;
use crate::aws::refusal::{self, UNREACHED};
use crate::aws::role::{Chain, Dated, FORM, Limits, Role, granted, read, session_name};
use crate::error::GrantError;
use crate::grant::{Grant, World, needed};
use crate::oidc::check_audience;
use crate::prepared::known;
use crate::template::fill;

/// When AWS is asked again after it did not reach the issuer.
const PAUSE: Duration = Duration::from_millis(200);

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
    let (duration, policy) = (settings.duration, settings.policy.as_deref());
    let limits = Limits { duration, policy, policy_arns: &settings.policy_arns };
    let chain = Chain { then: &settings.then, session: &session, limits, region: &settings.region };
    let first = with_token(&chain.first(&settings.role_arn), subject, &authority, world).await?;
    granted(chain.assume(first, &authority, world).await?, &authority, world)
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
