//! Sessions: which bearer tokens the bridge accepts, and what each leads to.
//! A recipe comes in and a token goes out; a token comes in and the recipe goes out.
//! Pure memory: time is a parameter. A session ends with its entry, once no run has used it for a while.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, Instant};

use credmint_vocabulary::{Failure, Hostname, Secret};

use super::random_token;
use super::run::RunNumber;
use crate::lock::{Sealable, SealingKey};
use crate::recipe::{EntryKey, Recipe};

/// Lets one run in.
struct Session {
    token: Sealable<Secret<String>>,
    /// The host that Terraform sends it to; of a registry that a mirror stands for, the recipe is the mirror's.
    hostname: Hostname,
    recipe: Rc<Recipe>,
    /// The run of `credmint exec` that it is for: valid at that run's port alone.
    run: Option<RunNumber>,
    used: Cell<Instant>,
}

impl Session {
    fn is(&self, token: &[u8]) -> bool {
        self.token.get().is_some_and(|own| own.same_as(token))
    }

    fn is_valid_at(&self, run: Option<RunNumber>) -> bool {
        self.run.is_none() || self.run == run
    }
}

/// Keeps the sessions, the newest last.
#[derive(Default)]
pub(super) struct Sessions {
    open: RefCell<VecDeque<Session>>,
    /// What the proxies of runs take for a password.
    proxies: RefCell<Vec<(RunNumber, Sealable<Secret<String>>)>>,
}

impl Sessions {
    /// Opens a session for one run; of many the oldest goes, but first those that can be had again.
    pub(super) fn open(
        &self,
        hostname: &Hostname,
        recipe: &Rc<Recipe>,
        run: Option<RunNumber>,
        now: Instant,
    ) -> Result<Secret<String>, Failure> {
        let token = random_token()?;
        let (hostname, recipe) = (hostname.clone(), Rc::clone(recipe));
        let session = Session { token: token.copied().into(), hostname, recipe, run, used: now.into() };
        let mut open = self.open.borrow_mut();
        if open.len() >= MOST_SESSIONS {
            let oldest = open.iter().position(|session| session.run.is_none());
            open.remove(oldest.unwrap_or_default());
        }
        open.push_back(session);
        Ok(token)
    }

    /// Finds what a token for a host leads to at the port of a run, or at the usual one. Every session is compared, each in
    /// constant time.
    pub(super) fn find(
        &self,
        token: &[u8],
        hostname: &Hostname,
        run: Option<RunNumber>,
        now: Instant,
    ) -> Option<Rc<Recipe>> {
        let open = self.open.borrow();
        let found = open.iter().fold(None, |found, own| if own.is(token) { Some(own) } else { found })?;
        if !found.is_valid_at(run) || found.hostname != *hostname {
            return None;
        }
        found.used.set(now);
        Some(Rc::clone(&found.recipe))
    }

    /// Makes what the proxy of a run takes for a password.
    pub(super) fn open_proxy(&self, run: RunNumber) -> Result<Secret<String>, Failure> {
        let token = random_token()?;
        self.proxies.borrow_mut().push((run, token.copied().into()));
        Ok(token)
    }

    /// Tells whether a token is the password of a run's proxy. All are compared, each in constant time.
    pub(super) fn is_of_proxy(&self, token: &[u8], run: RunNumber) -> bool {
        let is = |own: &Sealable<Secret<String>>| own.get().is_some_and(|own| own.same_as(token));
        self.proxies.borrow().iter().fold(false, |found, (of, own)| found | (is(own) & (*of == run)))
    }

    /// Tells whether a token is any of ours, wherever it is valid: none may leave us.
    pub(super) fn is_ours(&self, token: &[u8]) -> bool {
        let is = |own: &Sealable<Secret<String>>| own.get().is_some_and(|own| own.same_as(token));
        let is_session = self.open.borrow().iter().fold(false, |found, own| found | own.is(token));
        self.proxies.borrow().iter().fold(is_session, |found, (_, own)| found | is(own))
    }

    /// Finds what a run has for a host, without a token: its proxy has seen its own.
    pub(super) fn of_run(&self, hostname: &Hostname, run: RunNumber, now: Instant) -> Option<Rc<Recipe>> {
        let open = self.open.borrow();
        let found = open.iter().find(|own| own.run == Some(run) && own.hostname == *hostname)?;
        found.used.set(now);
        Some(Rc::clone(&found.recipe))
    }

    /// Tells whether any run was let in for a host: others are strangers' inventions.
    pub(super) fn knows(&self, hostname: &Hostname) -> bool {
        self.open.borrow().iter().any(|session| session.recipe.name == *hostname)
    }

    /// Encrypts the tokens, and what the recipes have of their callers.
    pub(super) fn seal(&self, key: &SealingKey) {
        for session in &*self.open.borrow() {
            session.token.seal(key);
            session.recipe.caller.seal(key);
        }
        self.proxies.borrow().iter().for_each(|(_, token)| token.seal(key));
    }

    /// Brings them back.
    pub(super) fn unseal(&self, key: &SealingKey) {
        for session in &*self.open.borrow() {
            session.token.unseal(key);
            session.recipe.caller.unseal(key);
        }
        self.proxies.borrow().iter().for_each(|(_, token)| token.unseal(key));
    }

    /// Ends all sessions of an entry.
    pub(super) fn close(&self, key: EntryKey) {
        self.open.borrow_mut().retain(|session| session.recipe.keys().all(|own| own != key));
    }

    /// Ends all sessions of a run.
    pub(super) fn close_run(&self, run: RunNumber) {
        self.open.borrow_mut().retain(|session| session.run != Some(run));
        self.proxies.borrow_mut().retain(|(of, _)| *of != run);
    }

    /// Ends what no run has used for half an hour and whose entry is over: each could have it made again. What is for a run of
    /// `credmint exec` ends with that.
    pub(super) fn close_unused(&self, is_kept: impl Fn(EntryKey) -> bool, now: Instant) {
        let rests = |session: &Session| now.saturating_duration_since(session.used.get()) < UNUSED;
        self.open.borrow_mut().retain(|session| session.run.is_some() || rests(session) || is_kept(session.recipe.key));
    }
}

const MOST_SESSIONS: usize = 1024;
/// How long a run may do other things while its credential ends.
const UNUSED: Duration = Duration::from_secs(30 * 60);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridge::recipe_for_tests;

    #[test]
    fn a_session_ends_with_either_of_the_two_that_it_leads_to() {
        let text = "[identity.job]\nkind = \"env\"\nvariable = \"J\"\n[issuer.own]\nkind = \"local-ca\"\n[issuer.pass]\nkind = \"oidc\"\n\
                    [host.\"registry.corp.example\"]\nidentity = \"job\"\nissuer = \"own\"\ntoken_issuer = \"pass\"\n";
        let settings = Rc::new(credmint_settings::read(&[("test".into(), text.into())]).expect("valid"));
        let hostname = Hostname::from_comparison_form("registry.corp.example").expect("valid");
        let recipe = Recipe::new(hostname.into(), settings, Default::default(), &Default::default()).expect("routed");
        let (recipe, sessions) = (Rc::new(recipe), Sessions::default());
        for key in recipe.keys() {
            sessions.open(recipe.host().expect("a host"), &recipe, None, Instant::now()).expect("opened");
            sessions.close(key);
            assert!(!sessions.knows(recipe.host().expect("a host")));
        }
        assert_eq!(recipe.keys().count(), 2);
    }

    #[test]
    fn a_session_ends_with_its_entry_once_nobody_uses_it() {
        let (sessions, start, recipe) = (Sessions::default(), Instant::now(), recipe_for_tests());
        let token = sessions.open(recipe.host().expect("a host"), &recipe, None, start).expect("opened");
        let is_open =
            |now| sessions.find(token.expose().as_bytes(), recipe.host().expect("a host"), None, now).is_some();
        // While the entry is kept the session is open, however long nobody asks.
        sessions.close_unused(|_| true, start + 3 * UNUSED);
        assert!(is_open(start + 3 * UNUSED));
        // A run in the middle of its work may have what is over made again.
        sessions.close_unused(|_| false, start + 4 * UNUSED - Duration::from_secs(1));
        assert!(sessions.knows(recipe.host().expect("a host")));
        sessions.close_unused(|_| false, start + 4 * UNUSED);
        assert!(!sessions.knows(recipe.host().expect("a host")) && !is_open(start + 4 * UNUSED));
    }
}
