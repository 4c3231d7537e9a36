//! `kind = "github-app"`: a token of an app's installation, narrowed to permissions and repositories.
//! The app's settings and its key out of a source come in, a token that lives for an hour goes out.
//! The key signs here and is sent nowhere. GitHub REST API 2022-11-28, "Generating an installation access token".

use credmint_client_identity::PrivateKey;
use credmint_https::{Https, Trust};
use credmint_identities::{AssertionError, read_source, signed_jwt, source_name, trust};
use credmint_settings::GithubApp;
use credmint_vocabulary::{Deadline, Secret, Timestamp};
use http::{Request, StatusCode, header};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::authority::Authority;
use crate::cloud::{Told, authorization, bearer, granted, judge, post};
use crate::error::GrantError;
use crate::grant::{Grant, World};
use crate::lease::{Lease, Place};
use crate::wiped::secret;

/// GitHub takes assertions of ten minutes at the most; ours is used at once. It begins early, for clocks that differ.
const EARLY_SECONDS: i64 = 60;
const LIFE_SECONDS: i64 = 300;

#[derive(Deserialize)]
struct Answered {
    #[serde(deserialize_with = "secret")]
    token: Secret<String>,
    expires_at: String,
}

/// Signs an assertion of the app, and asks with it for the token.
pub(crate) async fn grant(settings: &GithubApp, world: &World<'_>) -> Result<Grant, GrantError> {
    let assertion = assertion(settings, world).await?;
    let authority = Authority::at(&settings.endpoint, &settings.peer, world)?;
    let path = format!("/app/installations/{}/access_tokens", settings.installation_id);
    let answer = post(&authority, &path, &Value::Object(narrowed(settings)), &assertion).await?;
    // GitHub's limits come as 403, too; then it says when to come back.
    if let (StatusCode::FORBIDDEN, Some(after)) = (answer.status, answer.retry_after(world.now)) {
        return Err(GrantError::Throttled { who: authority.who.clone(), retry_after: Some(after) });
    }
    let what = format!("a token of the installation {}", settings.installation_id);
    let answer = judge(&authority, answer, (&what, "the installation's token"), REFUSALS)?;
    let malformed = || authority.malformed("no token and expires_at");
    let given: Answered = serde_json::from_slice(&answer.body).map_err(|_| malformed())?;
    let expires = Timestamp::from_rfc3339(&given.expires_at).map_err(|_| malformed())?;
    let token = bearer(given.token, expires).ok_or_else(malformed)?;
    let lease = Installation::of(settings, &authority.who).lease(token.token.copied());
    Ok(Grant { lease: Some(lease), ..granted(token, Vec::new()) })
}

/// Says where an installation's token is from.
#[derive(Debug)]
pub(crate) struct Installation {
    who: String,
    endpoint: String,
    trust: Trust,
}

impl Installation {
    fn of(settings: &GithubApp, who: &str) -> Self {
        Self { who: who.to_owned(), endpoint: settings.endpoint.clone(), trust: trust(&settings.peer) }
    }

    fn lease(self, token: Secret<String>) -> Lease {
        Lease::new(Place::Installation(self), token, None)
    }

    /// Revokes the token, which gives the right to that itself. One that is over already is not known any more.
    pub(crate) async fn revoke(
        self,
        token: &Secret<String>,
        (https, deadline): (&Https, Deadline),
    ) -> Result<(), GrantError> {
        let request = Request::delete(format!("{}/installation/token", self.endpoint));
        let request =
            request.header(header::ACCEPT, "application/json").header(header::AUTHORIZATION, authorization(token)?);
        let request = request.body(Vec::new());
        let request = request.map_err(|_| GrantError::Settings(format!("no request can be made for {}", self.who)))?;
        let answer = https.send(&self.trust, request, deadline).await?;
        match answer.status {
            StatusCode::NO_CONTENT | StatusCode::UNAUTHORIZED => Ok(()),
            status => {
                let reason = "the token was not revoked".to_owned();
                Err(GrantError::Failing { who: self.who, status: status.as_u16(), reason })
            }
        }
    }
}

async fn assertion(settings: &GithubApp, world: &World<'_>) -> Result<Secret<String>, GrantError> {
    let source = &settings.app_key;
    let found = read_source(source, world.caller, world.deadline).await?;
    let absent = || GrantError::SourceAbsent { what: "the key of the app", place: source_name(source) };
    let key = PrivateKey::from_pem(&found.ok_or_else(absent)?)?;
    let now = world.now.unix();
    let claims = json!({"iss": settings.app_id, "iat": now - EARLY_SECONDS, "exp": now + LIFE_SECONDS});
    signed_jwt(&key, None, &claims).map_err(|error| match error {
        AssertionError::Key(error) => error.into(),
        other => GrantError::Settings(other.to_string()),
    })
}

/// Lists what the token is narrowed to; nothing means all that the installation may.
fn narrowed(settings: &GithubApp) -> Map<String, Value> {
    let permissions = (!settings.permissions.is_empty()).then(|| ("permissions", json!(settings.permissions)));
    let repositories = (!settings.repositories.is_empty()).then(|| ("repositories", json!(settings.repositories)));
    permissions.into_iter().chain(repositories).map(|(name, value)| (name.to_owned(), value)).collect()
}

const REFUSALS: &[Told] = &[
    (
        "401 ",
        "it does not accept the app's signature",
        "check app_id and app_key in the settings, and this machine's clock",
    ),
    ("403 ", "the app may not have this token", "the installation may be suspended: ask who installed the app"),
    ("404 ", "the app has no such installation", "check installation_id in the settings"),
    (
        "422 ",
        "the installation has not all of these permissions and repositories",
        "check permissions and repositories in the settings: names of repositories have no owner before them",
    ),
];
