//! The client token of a sign-in: what it says of its owner, how it is renewed, how it ends.
//! An answer of a login, or tokens, come in; tokens, or why there are no newer ones, go out.
//! Sends the token nowhere but to the Vault that gave it. <https://openbao.org/api-docs/auth/token/>

use credmint_identities::{Claims, Tokens, VaultTraits};
use credmint_vocabulary::{Secret, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::{Call, VaultSignIn};
use crate::error::GrantError;
use crate::lease::Lease;
use crate::vault::answer::{Envelope, Reply};
use crate::vault::lease::Lent;
use crate::vault::login::{Auth, authenticated, life};
use crate::vault::transport::{self, Line};

/// Says why a client token was not renewed.
#[derive(Debug, thiserror::Error)]
pub enum VaultRenewal {
    /// The session is over, for good. Why, for people.
    #[error("{0}")]
    Over(String),
    /// Not now; the token that there is may still serve.
    #[error(transparent)]
    NotNow(#[from] GrantError),
}

/// Holds what a token says of itself, as far as we need it.
#[derive(Default, Deserialize)]
struct Looked {
    #[serde(default)]
    display_name: String,
    #[serde(default)]
    explicit_max_ttl: u64,
    #[serde(default)]
    creation_time: i64,
}

impl VaultSignIn {
    /// Puts together what a login came to. A token that may not look at itself may not renew itself either.
    pub(super) async fn tokens(&self, auth: Auth, line: &Line<'_>) -> Tokens {
        let looked = self.look_up(&auth.client_token, line).await;
        let (may_look, looked) = (!is_forbidden(&looked), looked.unwrap_or_default());
        let expires = life(auth.lease_duration, line);
        let traits = VaultTraits {
            home: self.server.home(),
            renewable: auth.renewable && may_look,
            revocable: auth.token_type != "batch",
            ends_for_good: (looked.explicit_max_ttl > 0).then(|| end_for_good(&looked)),
        };
        Tokens {
            claims: Some(self.claims(&auth, looked.display_name, expires)),
            access: auth.client_token,
            access_expires: expires,
            id: None,
            refresh: None,
            scope: Vec::new(),
            who: self.server.who.clone(),
            vault: Some(Box::new(traits)),
        }
    }

    /// Makes claims of what the auth method noted. What Vault itself says comes last, so that a mapping cannot take its place;
    /// `sub` alone may be mapped.
    fn claims(&self, auth: &Auth, display_name: String, expires: Option<Timestamp>) -> Claims {
        let text = |text: &str| Some(Value::from(text)).filter(|_| !text.is_empty());
        let owner = text(&auth.entity_id).or_else(|| text(&display_name));
        let before = [("sub", owner.clone()), ("name", text(&display_name))];
        let after = [
            ("iss", text(&self.issuer)),
            ("entity_id", text(&auth.entity_id)),
            ("display_name", text(&display_name)),
            ("exp", expires.map(|end| json!(end.unix()))),
        ];
        let own = |claims: [(&str, Option<Value>); 2]| claims.map(|(name, value)| (name.to_owned(), value));
        let mapped = auth.metadata.iter().map(|(name, value)| (name.clone(), Some(value.clone())));
        let all = own(before).into_iter().chain(mapped).chain(after.map(|(name, value)| (name.to_owned(), value)));
        all.filter_map(|(name, value)| Some((name, value?))).collect()
    }

    async fn look_up(&self, token: &Secret<String>, line: &Line<'_>) -> Result<Looked, GrantError> {
        let path = "auth/token/lookup-self";
        let answer = line.send(transport::Call::get(path.to_owned()), Some(token)).await?;
        let reply = Reply::judge(self.who(), path, answer, line.now())?;
        let envelope: Envelope<Looked> = reply.read()?;
        Ok(envelope.data.unwrap_or_default())
    }

    /// Renews the client token, which stays the same and lives longer.
    ///
    /// # Errors
    /// [`VaultRenewal::Over`] when the Vault does not know it any more.
    pub async fn renew(&self, tokens: &Tokens, call: Call<'_>) -> Result<Tokens, VaultRenewal> {
        let line = self.line(call);
        let (path, body) = ("auth/token/renew-self", Zeroizing::new(b"{}".to_vec()));
        let answer = line.send(transport::Call::post(path.to_owned(), body), Some(&tokens.access)).await?;
        match Reply::judge(self.who(), path, answer, line.now()) {
            Ok(reply) => {
                let (auth, _) = authenticated(&reply, self.who())?;
                let expires = life(auth.lease_duration, &line);
                Ok(longer(tokens, expires, auth.renewable))
            }
            Err(GrantError::Refused { status: 403, .. }) if self.is_over(tokens, call).await => Err(self.over()),
            // "lease is not renewable", "batch tokens cannot be renewed", or a policy without it: it lives to its end.
            Err(GrantError::Refused { .. }) => Ok(longer(tokens, tokens.access_expires, false)),
            Err(error) => Err(error.into()),
        }
    }

    /// Asks whether the Vault has ended the token; doubt is no end, and a token that may not look at itself cannot be asked.
    pub async fn is_over(&self, tokens: &Tokens, call: Call<'_>) -> bool {
        let may_look = tokens.vault.as_ref().is_some_and(|traits| traits.renewable);
        may_look && is_forbidden(&self.look_up(&tokens.access, &self.line(call)).await)
    }

    /// Says that it has.
    #[must_use]
    pub fn over(&self) -> VaultRenewal {
        VaultRenewal::Over(format!("{} does not accept its token any more: it was revoked, or has ended", self.who()))
    }

    /// Gives what must be revoked for the sign-in to be over at the Vault, too; `None` for a token that cannot be.
    #[must_use]
    pub fn lease(&self, tokens: &Tokens) -> Option<Lease> {
        let revocable = tokens.vault.as_ref().is_some_and(|traits| traits.revocable);
        revocable.then(|| Lent::lease(self.server.clone(), tokens.access.copied(), true, None))
    }
}

/// Takes a renewal over. One that moved the end by nothing was the last: the token has come to its maximum life.
fn longer(before: &Tokens, expires: Option<Timestamp>, renewable: bool) -> Tokens {
    let moved = match (before.access_expires, expires) {
        (Some(old), Some(new)) => new.unix() > old.unix().saturating_add(TOLERATED),
        _ => true,
    };
    let exp = |end: Timestamp| ("exp".to_owned(), json!(end.unix()));
    Tokens {
        access: before.access.copied(),
        access_expires: expires,
        id: None,
        claims: before.claims.as_ref().map(|claims| claims.with(expires.map(exp))),
        refresh: None,
        scope: Vec::new(),
        who: before.who.clone(),
        vault: before.vault.clone().map(|traits| Box::new(VaultTraits { renewable: renewable && moved, ..*traits })),
    }
}

fn end_for_good(looked: &Looked) -> Timestamp {
    Timestamp::from_unix(looked.creation_time).plus(std::time::Duration::from_secs(looked.explicit_max_ttl))
}

const fn is_forbidden<T>(answer: &Result<T, GrantError>) -> bool {
    matches!(answer, Err(GrantError::Refused { status: 403, .. }))
}

/// Seconds by which two renewals without a longer life may differ, for the time that they were under way.
const TOLERATED: i64 = 2;
