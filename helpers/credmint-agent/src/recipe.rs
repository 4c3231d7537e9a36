//! A recipe is all that is needed to make an entry, and to make it again: hostname, settings, what the caller supplied.
//! Settings and supplies come in, a recipe with its entry key goes out.
//! Asks nobody. The key covers everything that could change the entry (design, decision 4).

use std::hash::{Hash, Hasher};
use std::rc::Rc;

use aws_lc_rs::digest::{Context, SHA256};
use credmint_identities::Caller;
use credmint_settings::{Identity, Issuer, Route, Settings};
use credmint_vocabulary::{Failure, Hostname};

use crate::failure;
use crate::lock::Sealable;
use crate::sessions::{SessionKey, Sessions, SignIn};

/// Names an entry: SHA-256 over route, identities, issuer and what the caller supplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EntryKey([u8; 32]);

impl EntryKey {
    /// Gives the digest itself, as a name among the pending requests.
    pub(crate) const fn digest(self) -> [u8; 32] {
        self.0
    }
}

/// Tells how an entry is made.
pub(crate) struct Recipe {
    /// Host of the route.
    pub(crate) hostname: Hostname,
    /// Settings that the caller meant.
    pub(crate) settings: Rc<Settings>,
    /// What was read from the caller.
    pub(crate) caller: Sealable<Caller>,
    /// Sign-ins of the people among its identities, as they were when it was made.
    pub(crate) sign_ins: Vec<SignIn>,
    /// Key of the entry that it makes.
    pub(crate) key: EntryKey,
}

impl Recipe {
    /// Makes the recipe of a host; `None` when no route names it.
    pub(crate) fn new(hostname: Hostname, settings: Rc<Settings>, caller: Caller, sessions: &Sessions) -> Option<Self> {
        let route = settings.route(&hostname)?;
        let people = route.identities().filter_map(|(name, identity)| session_of(name, identity));
        let sign_ins: Vec<SignIn> = people.map(|key| sessions.sign_in(key)).collect();
        // What people signed outlives a sign-in of the same person; that of another drops it.
        let in_key = if matches!(route.issuer, Issuer::Offline(_)) { &[] } else { sign_ins.as_slice() };
        let key = key_of(&hostname, &route, &caller, in_key);
        Some(Self { hostname, settings, caller: caller.into(), sign_ins, key })
    }

    /// Gives what was read from the caller, unless that is locked away.
    pub(crate) fn caller(&self) -> Result<Rc<Caller>, Failure> {
        self.caller.get().ok_or_else(failure::locked)
    }

    /// Gives the key of a token that is stored for this route and caller, whoever signs in or out meanwhile.
    pub(crate) fn stored_key(&self) -> EntryKey {
        let known = self.route().zip(self.caller.get());
        known.map_or(self.key, |(route, caller)| key_of(&self.hostname, &route, &caller, &[]))
    }

    /// Gives the route, which was there when the recipe was made.
    pub(crate) fn route(&self) -> Option<Route<'_>> {
        self.settings.route(&self.hostname)
    }
}

/// Names the session that an identity needs: a person's.
pub(crate) fn session_of(name: &str, identity: &Identity) -> Option<SessionKey> {
    identity.person().map(|person| SessionKey::of(name, person))
}

fn key_of(hostname: &Hostname, route: &Route<'_>, caller: &Caller, sign_ins: &[SignIn]) -> EntryKey {
    let mut digest = Digest(Context::new(&SHA256));
    sign_ins.hash(&mut digest);
    hostname.hash(&mut digest);
    route.host.hash(&mut digest);
    route.issuer_name.hash(&mut digest);
    route.issuer.hash(&mut digest);
    route.identities().for_each(|identity| identity.hash(&mut digest));
    for (name, value) in &caller.environment {
        name.hash(&mut digest);
        value.expose().hash(&mut digest);
    }
    for (path, value) in &caller.files {
        path.hash(&mut digest);
        value.expose().hash(&mut digest);
    }
    for (path, why) in &caller.unreadable {
        path.hash(&mut digest);
        why.hash(&mut digest);
    }
    EntryKey(digest.taken())
}

/// Digests whatever can be hashed.
pub(crate) fn digest_of(what: &impl Hash) -> [u8; 32] {
    let mut digest = Digest(Context::new(&SHA256));
    what.hash(&mut digest);
    digest.taken()
}

/// Feeds what `derive(Hash)` visits to SHA-256, so that no field can be forgotten.
struct Digest(Context);

impl Digest {
    fn taken(self) -> [u8; 32] {
        let mut taken = [0; 32];
        taken.iter_mut().zip(self.0.finish().as_ref()).for_each(|(to, from)| *to = *from);
        taken
    }
}

impl Hasher for Digest {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Never asked for: the digest itself is taken.
    fn finish(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use credmint_vocabulary::Secret;

    fn recipe(settings: &str, token: &str) -> EntryKey {
        let settings = credmint_settings::read(&[("test".into(), settings.into())]).expect("valid");
        let mut caller = Caller::default();
        caller.environment.insert("WORKLOAD_TOKEN".into(), Secret::from(token));
        let hostname = Hostname::from_comparison_form("registry.corp.example").expect("valid");
        Recipe::new(hostname, Rc::new(settings), caller, &Sessions::default()).expect("routed").key
    }

    const SETTINGS: &str = r#"
        [identity.job]
        kind = "env"
        variable = "WORKLOAD_TOKEN"
        [issuer.pass]
        kind = "oidc"
        [host."registry.corp.example"]
        identity = "job"
        issuer = "pass"
    "#;

    #[test]
    fn two_callers_never_share_an_entry_azure_kubelogin_104() {
        assert_eq!(recipe(SETTINGS, "alice"), recipe(SETTINGS, "alice"));
        assert_ne!(recipe(SETTINGS, "alice"), recipe(SETTINGS, "bob"));
    }

    #[test]
    fn an_option_of_the_issuer_changes_the_key() {
        let other = SETTINGS.replace("kind = \"oidc\"", "kind = \"oidc\"\naudience = \"x\"");
        assert_ne!(recipe(SETTINGS, "alice"), recipe(&other, "alice"));
    }
}
