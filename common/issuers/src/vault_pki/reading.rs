//! The rules that a request will meet: the role, and the end of the authority that signs.
//! A login comes in, what it may read goes out; what it may not is no error.
//! One request for the role and up to three for the authority, two of which need no login. Never on the way of a mint that works.

use std::time::{Duration, Instant};

use credmint_client_identity::Description;
use credmint_settings::VaultPki;
use credmint_vocabulary::{Secret, Timestamp};
use serde_json::Value;

use super::role::Role;
use super::rules::{Authority, Effect, Finding, Wanted, judge};
use crate::error::GrantError;
use crate::vault::{Call, Envelope, Line, Reply, check_role};

/// Holds the rules, as far as they may be read.
pub(crate) struct Rules {
    name: String,
    pub(super) role: Result<Role, GrantError>,
    pub(super) authority: Option<Authority>,
}

impl Rules {
    /// Reads them, within two seconds.
    pub(crate) async fn read(settings: &VaultPki, line: &Line<'_>, token: &Secret<String>) -> Self {
        let line = Line { deadline: line.deadline.at_most(Instant::now(), PATIENCE), ..*line };
        let role = data(&line, format!("{}/roles/{}", settings.mount, settings.role), Some(token)).await;
        let role = role.map(|data| Role::of(&data));
        let issuer = role.as_ref().map_or("default", |role| role.issuer_ref.as_str());
        // The server chose it, and it becomes part of a path.
        let issuer = if check_role(issuer).is_ok() { issuer } else { "default" };
        let authority = authority(&settings.mount, issuer, &line, token).await;
        Self { name: settings.role.clone(), role, authority }
    }

    /// Judges a request.
    pub(crate) fn judge(&self, wanted: Wanted<'_>, now: Timestamp) -> Vec<Finding> {
        judge(&self.name, self.role.as_ref().ok(), self.authority.as_ref(), wanted, now)
    }

    /// Says why the role is not known, if it is not.
    pub(crate) fn unread(&self, mount: &str) -> Option<Finding> {
        let name = &self.name;
        Some(match self.role.as_ref().err()? {
            GrantError::Refused { status: 403, .. } => Finding::new(
                Effect::Unknown,
                format!("the rules of role {name} may not be read with this login"),
                format!("to see them here, ask the administrator for `read` on {mount}/roles/{name}"),
            ),
            error => Finding::new(Effect::Unknown, format!("the rules of role {name} were not read: {error}"), ""),
        })
    }
}

async fn data(line: &Line<'_>, path: String, token: Option<&Secret<String>>) -> Result<Value, GrantError> {
    let answer = line.send(Call::get(path.clone()), token).await?;
    let reply = Reply::judge(&line.server.who, &path, answer, line.now())?;
    let envelope: Envelope<Value> = reply.read()?;
    envelope.data.ok_or_else(|| reply.malformed("an answer without `data`"))
}

/// Reads the authority: with its `leaf_not_after_behavior` where the policy allows, else what everybody may read; servers
/// of before Vault 1.11 have one authority a mount.
async fn authority(mount: &str, issuer: &str, line: &Line<'_>, token: &Secret<String>) -> Option<Authority> {
    let paths = [
        (format!("{mount}/issuer/{issuer}"), Some(token)),
        (format!("{mount}/issuer/{issuer}/json"), None),
        (format!("{mount}/cert/ca"), None),
    ];
    for (path, token) in paths {
        if let Some(found) = data(line, path, token).await.ok().and_then(|data| authority_of(&data)) {
            return Some(found);
        }
    }
    None
}

fn authority_of(data: &Value) -> Option<Authority> {
    let text = |name: &str| data.get(name).and_then(Value::as_str).map(str::to_owned);
    let read = Description::of_pem(&text("certificate")?)?;
    Some(Authority { subject: read.subject, not_after: read.not_after, beyond: text("leaf_not_after_behavior") })
}

const PATIENCE: Duration = Duration::from_secs(2);
