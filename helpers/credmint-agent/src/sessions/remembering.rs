//! What outlives the agent: a refresh token in the operating system's store, under a name that covers the settings.
//! A refresh token comes in and goes to the store, when it is another one than before; what is there comes back.
//! A store that fails loses nothing: the session goes on in memory, and says so. `protocol-spec/settings.md`, `remember`.

use std::cell::{Cell, RefCell};

use aws_lc_rs::digest::{SHA256, digest};
use credmint_agent_protocol::WireSecret;
use credmint_local_machine::clock;
use credmint_os_store::{OsStore, StoreError};
use credmint_settings::{ClientAuthentication, OidcTokenKind, Person, Remember};
use credmint_vocabulary::{Secret, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::keyring::Keyring;

/// Keeps the refresh token of one session.
pub(crate) struct Remembering {
    item: String,
    /// When the person signed in.
    pub(crate) since: Timestamp,
    state: RefCell<State>,
    /// Nothing is to be kept, or nothing any more.
    closed: Cell<bool>,
}

enum State {
    /// Which token is kept, and where.
    Kept([u8; 32], &'static str),
    /// The last try failed; whether what was kept before it may still be there.
    Failed(StoreError, bool),
    /// There is nothing to keep.
    Nothing,
}

/// What was kept.
pub(crate) struct Stored {
    /// The refresh token.
    pub(crate) refresh: Secret<String>,
    /// When the person signed in.
    pub(crate) since: Timestamp,
    /// The store, for people.
    pub(crate) place: &'static str,
}

/// The value as it stands in the store.
#[derive(Serialize, Deserialize)]
struct Value {
    refresh_token: WireSecret,
    since: String,
}

/// Names what is kept for an identity, if its settings want that. Not by `derive(Hash)`: the name has to be the same in the
/// next version, which may know more settings. What only says how the issuer is reached, or how the person is, is left out.
pub(crate) fn item(name: &str, person: Person<'_>) -> Option<String> {
    let Person::Oidc(identity) = person else { return None };
    if identity.remember != Remember::Keyring {
        return None;
    }
    let (client_id, method) = match &identity.client {
        ClientAuthentication::None { client_id } => (client_id.as_str(), "none"),
        ClientAuthentication::Basic { client_id, .. } => (client_id.as_str(), "basic"),
        ClientAuthentication::Post { client_id, .. } => (client_id.as_str(), "post"),
        ClientAuthentication::PrivateKeyJwt { client_id, .. } => (client_id.as_str(), "private_key_jwt"),
        _ => ("", ""),
    };
    let token = if identity.token == OidcTokenKind::Id { "id" } else { "access" };
    let asked = json!([identity.scopes, identity.resources, identity.authorization_parameters]);
    let all = json!(["credmint sign-in", 1, name, identity.issuer, client_id, method, token, asked]).to_string();
    let hex = digest(&SHA256, all.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    Some(format!("sign-in {hex}"))
}

impl Stored {
    /// Reads what is kept under a name.
    pub(crate) async fn read(keyring: &Keyring, item: &str) -> Result<Option<Self>, StoreError> {
        let item = item.to_owned();
        keyring.ask(move |store| read(store, &item)).await
    }
}

fn read(store: &OsStore, item: &str) -> Result<Option<Stored>, StoreError> {
    let Some(found) = store.read(item)? else { return Ok(None) };
    let foreign = || StoreError::Corrupt { store: found.place, what: "it is no sign-in of this version".to_owned() };
    let value: Value = serde_json::from_slice(found.value.expose()).map_err(|_| foreign())?;
    let since = Timestamp::from_rfc3339(&value.since).map_err(|_| foreign())?;
    Ok(Some(Stored { refresh: value.refresh_token.into_secret(), since, place: found.place }))
}

impl Remembering {
    /// Begins with a person who has just signed in.
    pub(crate) fn new(item: String) -> Self {
        Self { item, since: clock::now(), state: State::Nothing.into(), closed: Cell::default() }
    }

    /// Goes on with what was kept.
    pub(crate) fn of(item: String, stored: &Stored) -> Self {
        let state = State::Kept(token_digest(&stored.refresh), stored.place);
        Self { item, since: stored.since, state: state.into(), closed: Cell::default() }
    }

    /// Keeps nothing from now on: who signs out, or in again, is newer than a renewal that is still under way.
    pub(crate) fn close(&self) {
        self.closed.set(true);
    }

    /// Tells whether the next agent has what it needs to go on.
    pub(super) fn is_kept(&self) -> bool {
        !self.closed.get() && matches!(&*self.state.borrow(), State::Kept(..))
    }

    /// Begins with a sign-in: what was kept of another one goes.
    pub(super) async fn begin(&self, keyring: &Keyring, refresh: Option<&Secret<String>>) {
        if !self.closed.get() {
            self.keep(keyring, refresh).await;
        } else if let Err(error) = forget(keyring, &self.item).await {
            self.failed(error, true);
        }
    }

    fn failed(&self, error: StoreError, older_stays: bool) {
        // Where there is no store there is nothing old in it either.
        let older_stays = older_stays && !matches!(error, StoreError::Absent { .. });
        self.state.replace(State::Failed(error, older_stays));
    }

    /// Keeps a refresh token, if it is not the one that is kept already (int128/kubelogin#1569). When that fails, the one before
    /// goes: the next agent would go on with another sign-in, or with a token that is used up.
    pub(crate) async fn keep(&self, keyring: &Keyring, refresh: Option<&Secret<String>>) {
        let Some(refresh) = refresh else { return self.forget(keyring).await };
        let new = token_digest(refresh);
        if self.closed.get() || matches!(&*self.state.borrow(), State::Kept(old, _) if *old == new) {
            return;
        }
        let value = Value { refresh_token: refresh.copied().into(), since: self.since.to_string() };
        let value = Secret::new(serde_json::to_vec(&value).unwrap_or_default());
        let (item, now) = (self.item.clone(), u64::try_from(clock::now().unix()).unwrap_or_default() * 1000);
        match keyring.ask(move |store| store.write(&item, &value, now)).await {
            Ok(place) => drop(self.state.replace(State::Kept(new, place))),
            Err(error) => {
                let older_stays = forget(keyring, &self.item).await.is_err();
                self.failed(error, older_stays);
            }
        }
    }

    /// Looks for a token that another process has put there since.
    pub(super) async fn newer(&self, keyring: &Keyring, than: Option<&Secret<String>>) -> Option<Secret<String>> {
        let stored = Stored::read(keyring, &self.item).await.ok()??;
        if self.closed.get() {
            return None;
        }
        let old = than.map(token_digest);
        (old != Some(token_digest(&stored.refresh))).then_some(stored.refresh)
    }

    /// Deletes what is kept.
    pub(crate) async fn forget(&self, keyring: &Keyring) {
        if self.closed.get() {
            return;
        }
        match forget(keyring, &self.item).await {
            Ok(_) => drop(self.state.replace(State::Nothing)),
            Err(error) => self.failed(error, true),
        }
    }

    /// Deletes one token, wherever it got in late; another one there is somebody's who has signed in since.
    pub(crate) async fn forget_only(&self, keyring: &Keyring, refresh: &Secret<String>) {
        let (item, late) = (self.item.clone(), token_digest(refresh));
        let question = move |store: &OsStore| match read(store, &item)? {
            Some(stored) if token_digest(&stored.refresh) == late => store.delete(&item),
            _ => Ok(false),
        };
        drop(keyring.ask(question).await);
    }

    /// Names what is kept.
    pub(crate) fn item(&self) -> &str {
        &self.item
    }

    /// Says where it is kept, or why it is not, for people.
    pub(crate) fn words(&self) -> (Option<String>, Option<String>) {
        match &*self.state.borrow() {
            State::Kept(_, place) => (Some((*place).to_owned()), None),
            State::Failed(error, true) => (None, Some(format!("{error}; {OLDER}; {}", error.remedy()))),
            State::Failed(error, false) => (None, Some(why(error))),
            State::Nothing if self.closed.get() => (None, None),
            State::Nothing => (None, Some("the issuer gave no refresh token".to_owned())),
        }
    }
}

/// Deletes what is kept under a name, in every store, and proves it; tells whether there was anything.
pub(crate) async fn forget(keyring: &Keyring, item: &str) -> Result<bool, StoreError> {
    let item = item.to_owned();
    keyring.ask(move |store| store.delete(&item)).await
}

/// Says what failed and what helps.
pub(crate) fn why(error: &StoreError) -> String {
    format!("{error}; {}", error.remedy())
}

/// Gives what tells two refresh tokens apart.
pub(crate) fn token_digest(token: &Secret<String>) -> [u8; 32] {
    crate::recipe::digest_of(token.expose())
}

const OLDER: &str = "the next agent would go on with what an earlier sign-in may have left there";

#[cfg(test)]
pub(crate) mod tests;
