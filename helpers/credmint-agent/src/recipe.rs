//! A recipe is all that is needed to make an entry, and to make it again: hostname, settings, what the caller supplied.
//! Settings and supplies come in, a recipe with its entry key goes out.
//! Asks nobody. The key covers everything that could change the entry (design, decision 4).

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use aws_lc_rs::digest::{Context, SHA256};
use credmint_identities::Caller;
use credmint_settings::{Identity, Issuer, Route, Settings};
use credmint_vocabulary::{Failure, FailureKind, Hostname, Phase, RouteName};

use crate::bridge::RunNumber;
use crate::failure;
use crate::lock::Sealable;
use crate::sessions::{SessionKey, Sessions, SignIn};

/// Names an entry: SHA-256 over route, identities, issuer and what the caller supplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct EntryKey([u8; 32]);

impl EntryKey {
    /// Gives the digest itself, as a name among the pending requests.
    pub(crate) const fn digest(self) -> [u8; 32] {
        self.0
    }
}

/// Tells how an entry is made.
pub(crate) struct Recipe {
    /// Host or provider of the route.
    pub(crate) name: RouteName,
    /// Settings that the caller meant.
    pub(crate) settings: Rc<Settings>,
    /// Which of the route's issuers grants it.
    part: Part,
    /// What was read from the caller.
    pub(crate) caller: Rc<Sealable<Caller>>,
    /// Sign-ins of the people among its identities, as they were when it was made.
    pub(crate) sign_ins: Vec<SignIn>,
    /// Key of the entry that it makes.
    pub(crate) key: EntryKey,
    /// How the bearer token is made that the host gets besides its certificate.
    pub(crate) token: Option<Rc<Self>>,
    /// How that is made which takes its place while nothing is to be changed.
    pub(crate) plan: Option<Rc<Self>>,
    /// How that is made which a job gets that has no user.
    pub(crate) fallback: Option<Rc<Self>>,
    /// How the certificate is made that the issuer wants to see.
    pub(crate) certificate: Option<Rc<Self>>,
    /// The run that it is used for, if it is made for one.
    pub(crate) run: Cell<Option<OfRun>>,
}

/// Says which run a recipe is for.
#[derive(Clone, Copy)]
pub(crate) struct OfRun {
    /// Its number.
    pub(crate) number: RunNumber,
    /// Whether no settings but the run's own ask for the same: afterwards it is of no use to anybody.
    pub(crate) is_special: bool,
}

/// Says which of a route's issuers is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// `issuer`.
    First,
    /// `token_issuer`.
    Token,
    /// `plan_issuer`.
    Plan,
    /// `fallback_issuer`, for `fallback_identity`.
    Fallback,
    /// `certificate_issuer` of one of them.
    CertificateOf(Granting),
}

/// Says which issuer wants to see a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Granting {
    First,
    Token,
    Plan,
    Fallback,
}

impl Part {
    fn of<'a>(self, route: &Route<'a>) -> Option<Route<'a>> {
        match self {
            Self::First => Some(*route),
            Self::Token => route.token(),
            Self::Plan => route.plan(),
            Self::Fallback => route.fallback(),
            Self::CertificateOf(Granting::First) => route.certificate(),
            Self::CertificateOf(Granting::Token) => route.token()?.certificate(),
            Self::CertificateOf(Granting::Plan) => route.plan()?.certificate(),
            Self::CertificateOf(Granting::Fallback) => route.fallback()?.certificate(),
        }
    }
}

impl Recipe {
    /// Makes the recipe of a host or a provider; `None` when no route names it.
    pub(crate) fn new(name: RouteName, settings: Rc<Settings>, caller: Caller, sessions: &Sessions) -> Option<Self> {
        let route = settings.route(&name)?;
        let people = route.identities().filter_map(|(name, identity)| session_of(name, identity));
        let sign_ins: Vec<SignIn> = people.map(|key| sessions.sign_in(key)).collect();
        // What people signed outlives a sign-in of the same person; that of another drops it.
        let in_key = if matches!(route.issuer, Issuer::Offline(_)) { &[] } else { sign_ins.as_slice() };
        let key = key_of(&name, &route, &caller, in_key);
        let key_of_part = |part: Part| Some((part, key_of(&name, &part.of(&route)?, &caller, &sign_ins)));
        let others =
            [(Part::Token, Granting::Token), (Part::Plan, Granting::Plan), (Part::Fallback, Granting::Fallback)];
        let others = others.map(|(part, of)| (key_of_part(part), key_of_part(Part::CertificateOf(of))));
        let shown = key_of_part(Part::CertificateOf(Granting::First));
        let caller = Rc::new(Sealable::from(caller));
        let own = |(part, key), certificate| {
            let (name, settings, caller) = (name.clone(), Rc::clone(&settings), Rc::clone(&caller));
            let sign_ins = sign_ins.clone();
            let (token, plan, fallback, run) = (None, None, None, Cell::default());
            Rc::new(Self { name, settings, part, caller, sign_ins, key, token, plan, fallback, certificate, run })
        };
        let certificate = shown.map(|part| own(part, None));
        let [token, plan, fallback] =
            others.map(|(part, shown)| part.map(|part| own(part, shown.map(|shown| own(shown, None)))));
        let (part, run) = (Part::First, Cell::default());
        Some(Self { name, settings, part, caller, sign_ins, key, token, plan, fallback, certificate, run })
    }

    /// Gives the one to use: in doubt, the one for a plan.
    pub(crate) fn during(self: &Rc<Self>, phase: Option<Phase>) -> &Rc<Self> {
        self.plan.as_ref().filter(|_| phase != Some(Phase::Apply)).unwrap_or(self)
    }

    /// Gives the host; what is asked for a provider has none.
    pub(crate) fn host(&self) -> Result<&Hostname, Failure> {
        self.name.host().ok_or_else(|| {
            let what = format!("{} is no host, and nothing is sent to it", self.name);
            Failure::new(FailureKind::Usage, what).hint(format!("credmint explain {}", self.name))
        })
    }

    /// Has all that is made by it be for a run.
    pub(crate) fn lend_to(&self, run: OfRun) {
        self.all().for_each(|one| one.run.set(Some(run)));
    }

    /// Lists the keys of all that is made by it: what the host gets, and the certificates that issuers want to see.
    pub(crate) fn keys(&self) -> impl Iterator<Item = EntryKey> + '_ {
        self.all().map(|one| one.key)
    }

    fn all(&self) -> impl Iterator<Item = &Self> {
        let others = self.token.iter().chain(&self.plan).chain(&self.fallback).map(|other| &**other);
        let all = std::iter::once(self).chain(others);
        all.flat_map(|one| std::iter::once(one).chain(one.certificate.as_deref()))
    }

    /// Gives what was read from the caller, unless that is locked away.
    pub(crate) fn caller(&self) -> Result<Rc<Caller>, Failure> {
        self.caller.get().ok_or_else(failure::locked)
    }

    /// Gives the key of a token that is stored for this route and caller, whoever signs in or out meanwhile.
    pub(crate) fn stored_key(&self) -> EntryKey {
        let known = self.route().zip(self.caller.get());
        known.map_or(self.key, |(route, caller)| key_of(&self.name, &route, &caller, &[]))
    }

    /// Gives the route, which was there when the recipe was made.
    pub(crate) fn route(&self) -> Option<Route<'_>> {
        self.part.of(&self.settings.route(&self.name)?)
    }
}

/// Names the session that an identity needs: a person's.
pub(crate) fn session_of(name: &str, identity: &Identity) -> Option<SessionKey> {
    identity.person().map(|person| SessionKey::of(name, person))
}

fn key_of(name: &RouteName, route: &Route<'_>, caller: &Caller, sign_ins: &[SignIn]) -> EntryKey {
    let mut digest = Digest(Context::new(&SHA256));
    sign_ins.hash(&mut digest);
    name.hash(&mut digest);
    route.host.hash(&mut digest);
    route.issuer_name.hash(&mut digest);
    route.issuer.hash(&mut digest);
    if let Some(certificate) = &route.certificate() {
        certificate.issuer.hash(&mut digest);
    }
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
        Recipe::new(hostname.into(), Rc::new(settings), caller, &Sessions::default()).expect("routed").key
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
    fn a_token_besides_a_certificate_has_a_key_and_a_route_of_its_own_and_is_sealed_with_it() {
        let settings = SETTINGS.replace("issuer = \"pass\"", "issuer = \"own\"\ntoken_issuer = \"pass\"");
        let both = settings + "[issuer.own]\nkind = \"local-ca\"\n";
        let made = |settings: &str| {
            let settings = credmint_settings::read(&[("test".into(), settings.into())]).expect("valid");
            let hostname = Hostname::from_comparison_form("registry.corp.example").expect("valid");
            Recipe::new(hostname.into(), Rc::new(settings), Caller::default(), &Sessions::default()).expect("routed")
        };
        let first = made(&both);
        let token = first.token.as_ref().expect("a token besides");
        let issuer = |recipe: &Recipe| recipe.route().map(|route| route.issuer_name.to_owned());
        assert_eq!((issuer(&first).as_deref(), issuer(token).as_deref()), (Some("own"), Some("pass")));
        assert_eq!(first.keys().collect::<Vec<_>>(), [first.key, token.key]);
        assert!(first.key != token.key && Rc::ptr_eq(&first.caller, &token.caller));
        let other = made(&both.replace("kind = \"oidc\"", "kind = \"oidc\"\naudience = \"x\""));
        assert_eq!(first.key, other.key, "the certificate is the same");
        assert_ne!(token.key, other.token.expect("a token besides").key);
    }

    #[test]
    fn an_option_of_the_issuer_changes_the_key() {
        let other = SETTINGS.replace("kind = \"oidc\"", "kind = \"oidc\"\naudience = \"x\"");
        assert_ne!(recipe(SETTINGS, "alice"), recipe(&other, "alice"));
    }
}
