//! Who is signed in: one session an identity, its tokens swapped as one object, its renewal one flight.
//! Tokens of a sign-in come in, subject tokens go out; what the issuer has ended stays known as over until the next sign-in.
//! Begins no sign-in. What is to outlive the agent goes to the operating system's store, and nowhere else.

mod keyring;
mod lifetime;
mod remembering;
mod renewing;
mod restoring;
mod sealed;
mod session;
mod source;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use credmint_settings::{OidcIdentity, Person, RedirectHost, Remember, VaultOidcIdentity};
use tokio::sync::watch;

use crate::recipe::digest_of;
pub(crate) use keyring::Keyring;
pub(crate) use lifetime::end_those_over;
pub(crate) use remembering::{Remembering, Stored, forget, item, token_digest, why};
pub(crate) use renewing::{look_after, next_of_those_that_end, subject};
pub(crate) use restoring::{Restoring, kept, restore, sign_in};
pub(crate) use session::{Kept, Session};
pub(crate) use source::Source;

/// Names the session of an identity: its name and all of its settings that the issuer gets to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SessionKey([u8; 32]);

impl SessionKey {
    /// Gives the key; another browser or another port is the same person at the same issuer.
    pub(crate) fn of(name: &str, person: Person<'_>) -> Self {
        let (browser, redirect_ports, lifetime) = (None, Vec::new(), None);
        let (redirect_host, sign_in_timeout) = (RedirectHost::default(), Duration::ZERO);
        Self(match person {
            Person::Oidc(own) => {
                let (redirect_path, remember) = (String::new(), Remember::default());
                let seen = OidcIdentity {
                    redirect_path,
                    remember,
                    browser,
                    redirect_ports,
                    redirect_host,
                    sign_in_timeout,
                    lifetime,
                    ..own.clone()
                };
                digest_of(&(name, seen))
            }
            Person::VaultOidc(own) => {
                let seen = VaultOidcIdentity {
                    lifetime,
                    browser,
                    redirect_ports,
                    redirect_host,
                    sign_in_timeout,
                    ..own.clone()
                };
                digest_of(&(name, seen))
            }
        })
    }
}

impl SessionKey {
    /// Gives the digest itself, as the owner of pending requests.
    pub(crate) const fn digest(self) -> [u8; 32] {
        self.0
    }
}

/// Names one sign-in: the next one for the same identity has a higher number.
pub(crate) type SignIn = (SessionKey, u64);

/// Keeps the sessions, and who is just signing in.
#[derive(Default)]
pub(crate) struct Sessions {
    known: RefCell<HashMap<SessionKey, Rc<Session>>>,
    signing_in: RefCell<HashMap<SessionKey, watch::Receiver<()>>>,
    /// What is being taken up of the operating system's store.
    pub(crate) restoring: Restoring,
    last: Cell<u64>,
}

impl Sessions {
    /// Finds a session, over or not.
    pub(crate) fn get(&self, key: SessionKey) -> Option<Rc<Session>> {
        self.known.borrow().get(&key).cloned()
    }

    /// Lists all of them, by name.
    pub(crate) fn all(&self) -> Vec<Rc<Session>> {
        let mut all: Vec<_> = self.known.borrow().values().cloned().collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// Gives the number of the next sign-in.
    pub(crate) fn next(&self) -> u64 {
        self.last.set(self.last.get() + 1);
        self.last.get()
    }

    /// Keeps a session, and gives back the one that it replaces.
    pub(crate) fn put(&self, session: &Rc<Session>) -> Option<Rc<Session>> {
        self.restoring.no_more(session.sign_in.0);
        self.known.borrow_mut().insert(session.sign_in.0, Rc::clone(session))
    }

    /// Takes one out.
    pub(crate) fn remove(&self, key: SessionKey) -> Option<Rc<Session>> {
        self.known.borrow_mut().remove(&key)
    }

    /// Drops all.
    pub(crate) fn clear(&self) {
        self.known.take();
    }

    /// Gives the present sign-in of an identity; number 0 when there is none.
    pub(crate) fn sign_in(&self, key: SessionKey) -> SignIn {
        (key, self.get(key).map_or(0, |session| session.sign_in.1))
    }

    /// Tells whether a sign-in is the present one, and not ended by its lifetime.
    pub(crate) fn is_current(&self, sign_in: SignIn) -> bool {
        self.get(sign_in.0).is_some_and(|session| session.sign_in == sign_in && !session.is_finished())
    }

    /// Takes the lead in signing in, or says for whom to wait.
    pub(crate) fn lead(&self, key: SessionKey) -> Result<Lead<'_>, watch::Receiver<()>> {
        if let Some(other) = self.signing_in.borrow().get(&key) {
            return Err(other.clone());
        }
        let (sender, receiver) = watch::channel(());
        self.signing_in.borrow_mut().insert(key, receiver);
        Ok(Lead { sessions: self, key, _sender: sender })
    }
}

/// Holds the right to sign in for an identity; dropped, it lets those who wait go on.
pub(crate) struct Lead<'a> {
    sessions: &'a Sessions,
    key: SessionKey,
    _sender: watch::Sender<()>,
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        self.sessions.signing_in.borrow_mut().remove(&self.key);
    }
}

#[cfg(test)]
pub(crate) use remembering::tests as remembering_tests;
#[cfg(test)]
pub(crate) mod tests;
