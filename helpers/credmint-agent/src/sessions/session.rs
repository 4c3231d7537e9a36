//! One session: its tokens, how long they serve, and how it ends.
//! Tokens of the issuer come in, a subject token or why there is none goes out.
//! Swaps tokens as one object; asks nobody but the issuer that gave them.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use credmint_agent_protocol::SessionStatus;
use credmint_identities::{Claims, IdentityError, SubjectToken, Tokens, VaultTraits};
use credmint_issuers::{Lease, VaultCall, VaultRenewal};
use credmint_local_machine::clock;
use credmint_settings::OidcTokenKind;
use credmint_vocabulary::{Deadline, Failure, Timestamp};
use tokio::sync::watch;
use tokio::time::timeout_at;

use super::SignIn;
use super::lifetime::Lifetime;
use super::remembering::Remembering;
use super::sealed::SealedTokens;
use super::source::{NotRenewed, Source};
use crate::agent::Agent;
use crate::failure;

/// Holds what a person's sign-in came to.
pub(crate) struct Session {
    /// Name of the identity.
    pub(crate) name: String,
    /// Which sign-in it is.
    pub(crate) sign_in: SignIn,
    /// Who signed in, for people.
    pub(crate) who: Option<String>,
    /// The issuer.
    pub(crate) source: Source,
    /// Issuer and subject of the ID token.
    person: Option<(String, String)>,
    /// The first of the sign-ins that one person made in a row.
    first: Cell<u64>,
    since: Timestamp,
    pub(super) kind: OidcTokenKind,
    /// What becomes of its refresh token beyond this agent; empty: nothing.
    pub(crate) remembering: OnceCell<Remembering>,
    pub(super) state: RefCell<State>,
    pub(super) used: Cell<Timestamp>,
    pub(super) tried: Cell<Option<Instant>>,
    pub(super) flight: RefCell<Option<Landing>>,
    pub(super) lifetime: Cell<Option<Lifetime>>,
    /// What is run after each renewal.
    pub(crate) after_renewal: RefCell<Option<Vec<String>>>,
    /// Its lifetime is over: nobody uses it any more, and it is about to be revoked.
    pub(super) finished: Cell<bool>,
}

#[derive(Clone)]
pub(super) enum State {
    Live(Rc<Kept>),
    /// The agent is locked.
    Sealed(Rc<SealedTokens>),
    /// Why, for people.
    Over(String),
}

/// Holds the tokens of one answer of the issuer, with its time by both clocks.
pub(crate) struct Kept {
    /// All of them.
    pub(crate) tokens: Tokens,
    pub(super) kind: OidcTokenKind,
    pub(super) got: Timestamp,
    pub(super) began: Instant,
}

pub(super) type Landing = watch::Receiver<Option<Result<(), Failure>>>;

impl Kept {
    pub(super) fn new(tokens: Tokens, kind: OidcTokenKind) -> Rc<Self> {
        Rc::new(Self { tokens, kind, got: clock::now(), began: Instant::now() })
    }

    /// Gives the wall clock's time, but never less than has passed.
    fn now(&self, wall: Timestamp) -> Timestamp {
        wall.max(self.got.plus(self.began.elapsed()))
    }

    pub(super) fn ends(&self) -> Option<Timestamp> {
        self.tokens.ends(self.kind)
    }

    pub(super) fn is_alive(&self, wall: Timestamp) -> bool {
        self.ends().is_none_or(|end| end > self.now(wall))
    }

    /// Says when it is to be renewed: a third of its life before the end, at least a minute, at most half of its life.
    pub(super) fn due(&self) -> Timestamp {
        let Some(end) = self.ends() else { return self.got.plus(LIFE_OF_THE_ENDLESS) };
        let life = end.remaining(self.got);
        end.minus((life / 3).max(LEAST_REMAINING).min(life / 2))
    }

    /// Says how it will end, for people.
    fn how_it_ends(&self) -> String {
        let renewed = self.tokens.can_be_renewed();
        match self.tokens.vault.as_deref() {
            None if renewed => RENEWED.to_owned(),
            None => "with its token: the issuer gave none to renew it with".to_owned(),
            Some(VaultTraits { ends_for_good: Some(end), .. }) if renewed => {
                format!("renewed while it is used, until {end} at the latest (explicit_max_ttl)")
            }
            Some(_) if renewed => VAULT_RENEWED.to_owned(),
            Some(VaultTraits { revocable: false, .. }) => {
                "with its token: a batch token can be neither renewed nor revoked".to_owned()
            }
            Some(_) => "with its token: it has come to its maximum life, or its role lets nobody renew it".to_owned(),
        }
    }

    pub(super) fn is_due(&self, wall: Timestamp) -> bool {
        self.due() <= self.now(wall)
    }
}

impl Session {
    /// Makes a session of the tokens of a sign-in.
    pub(crate) fn new(name: &str, sign_in: SignIn, kind: OidcTokenKind, source: Source, tokens: Tokens) -> Rc<Self> {
        Rc::new(Self {
            name: name.to_owned(),
            sign_in,
            who: tokens.claims.as_ref().and_then(readable),
            person: tokens.claims.as_ref().and_then(|claims| claims.iss().zip(claims.sub())),
            first: sign_in.1.into(),
            source,
            since: clock::now(),
            kind,
            remembering: OnceCell::new(),
            state: State::Live(Kept::new(tokens, kind)).into(),
            used: clock::now().into(),
            tried: Cell::default(),
            flight: RefCell::default(),
            lifetime: Cell::default(),
            after_renewal: RefCell::default(),
            finished: Cell::default(),
        })
    }

    /// Takes the place of the session before; tells whether it is the same person's, whose runs go on with this one.
    pub(crate) fn follows(&self, before: &Self) -> bool {
        let same = self.person.is_some() && self.person == before.person;
        if same {
            self.first.set(before.first.get());
        }
        same
    }

    /// Tells whether a run that began with this sign-in may go on with the session.
    pub(crate) fn serves(&self, (key, number): SignIn) -> bool {
        key == self.sign_in.0 && (self.first.get()..=self.sign_in.1).contains(&number)
    }

    /// Gives the present tokens, or why it is over.
    pub(crate) fn kept(&self) -> Result<Rc<Kept>, IdentityError> {
        match &*self.state.borrow() {
            State::Live(_) if self.finished.get() => Err(self.over(LIFETIME)),
            State::Live(kept) => Ok(Rc::clone(kept)),
            State::Sealed(_) => Err(IdentityError::Locked),
            State::Over(why) => Err(self.over(why)),
        }
    }

    fn over(&self, why: &str) -> IdentityError {
        IdentityError::SessionOver { name: self.name.clone(), why: why.to_owned() }
    }

    /// Gives the tokens that there are, for their revocation.
    pub(crate) fn to_revoke(&self) -> Option<Rc<Kept>> {
        if let State::Live(kept) = &*self.state.borrow() { Some(Rc::clone(kept)) } else { None }
    }

    /// Tells whether its lifetime has ended it.
    pub(crate) fn is_finished(&self) -> bool {
        self.finished.get()
    }

    /// Forgets the tokens, and keeps why.
    pub(super) fn end(&self, why: String) {
        self.state.replace(State::Over(why));
    }

    /// Gives the subject token as it is at this moment, without asking anybody.
    pub(crate) fn subject_now(&self) -> Result<SubjectToken, Failure> {
        self.end_if_it_cannot_go_on(clock::now());
        let kept = self.kept().map_err(|error| failure::of_session(&error))?;
        kept.tokens.subject(self.kind).map_err(|error| failure::of_session(&error.into()))
    }

    /// Without a refresh token a session ends with its token.
    pub(super) fn end_if_it_cannot_go_on(&self, now: Timestamp) {
        let Ok(kept) = self.kept() else { return };
        if !kept.tokens.can_be_renewed() && !kept.is_alive(now) {
            let why = if kept.tokens.vault.is_some() { VAULT_TOKEN_ENDED } else { TOKEN_ENDED };
            self.state.replace(State::Over(why.to_owned()));
        }
    }

    /// Tells whether it keeps the agent: it is not over, and somebody used it within the last hours.
    pub(crate) fn is_in_use(&self, now: Timestamp) -> bool {
        (self.kept().is_ok() || self.is_sealed()) && now < self.used.get().plus(IN_USE)
    }

    pub(super) fn can_be_renewed(&self) -> bool {
        self.kept().is_ok_and(|kept| kept.tokens.can_be_renewed())
    }

    /// Tells whether it may be renewed again; an issuer that renewed it without a new proof is asked seldom.
    pub(super) fn has_rested(&self) -> bool {
        let in_vain = self.kept().is_ok_and(|kept| !kept.is_alive(kept.got));
        let rest = if in_vain { LIFE_OF_THE_ENDLESS } else { MINIMUM_INTERVAL };
        self.tried.get().is_none_or(|tried| tried.elapsed() >= rest)
    }

    /// Takes what a renewal came to. New tokens replace the old ones as one object before anybody can use either. Many issuers
    /// renew no ID token: the one before is nobody's proof when it has ended.
    pub(super) fn land(&self, outcome: Result<Tokens, NotRenewed>) -> Result<(), Failure> {
        if self.is_sealed() {
            return Err(failure::locked());
        }
        match outcome {
            Ok(tokens) => {
                let kept = Kept::new(tokens, self.kind);
                let renewed = self.kind == OidcTokenKind::Access || kept.is_alive(clock::now());
                self.state.replace(State::Live(kept));
                if renewed { Ok(()) } else { Err(failure::no_new_id_token(&self.name)) }
            }
            Err(NotRenewed::Over(why)) => Err(self.end_and_tell(why)),
            Err(NotRenewed::NotNow(failure)) => Err(failure),
        }
    }

    /// Ends it, because the issuer has; gives what whoever asks now reads.
    fn end_and_tell(&self, why: String) -> Failure {
        self.end(why.clone());
        failure::of_session(&IdentityError::SessionOver { name: self.name.clone(), why })
    }

    /// Asks a Vault that has just refused the session's token whether it has ended it; then the session is over.
    pub(crate) async fn was_refused(&self, agent: &Agent, deadline: Deadline) -> Option<Failure> {
        let (Source::Vault(vault), Ok(kept)) = (&self.source, self.kept()) else { return None };
        let call = VaultCall { https: &agent.https, now: clock::now(), deadline };
        if !vault.is_over(&kept.tokens, call).await {
            return None;
        }
        let VaultRenewal::Over(why) = vault.over() else { return None };
        let failure = self.end_and_tell(why);
        self.drop_what_ended_with_it(agent);
        Some(failure)
    }

    /// Drops what a Vault has ended together with the session's token.
    pub(super) fn drop_what_ended_with_it(&self, agent: &Agent) {
        let is_over = matches!(&*self.state.borrow(), State::Over(_));
        if is_over && matches!(self.source, Source::Vault(_)) {
            agent.drop_tokens_of(self.sign_in.0);
        }
    }

    /// Gives what must be revoked with the session: the client token of a Vault, which nobody else may hold on to.
    pub(crate) fn lease(&self) -> Option<Lease> {
        match (&self.source, self.kept()) {
            (Source::Vault(vault), Ok(kept)) => vault.lease(&kept.tokens),
            _ => None,
        }
    }

    /// Waits for a renewal that is under way, so that the newest tokens are the ones that are revoked.
    pub(crate) async fn rest(&self, deadline: Deadline) {
        let flight = self.flight.borrow().clone();
        if let Some(mut landing) = flight {
            let _ = timeout_at(deadline.instant().into(), landing.wait_for(Option::is_some)).await;
        }
    }

    /// Tells whether a renewal is still under way.
    pub(crate) fn is_being_renewed(&self) -> bool {
        self.flight.borrow().is_some()
    }

    /// Tells whether the next agent goes on with it by itself, with nothing lost.
    pub(crate) fn comes_back(&self) -> bool {
        self.remembering.get().is_some_and(Remembering::is_kept) && !self.is_being_renewed()
    }

    /// Describes it without what it holds.
    pub(crate) fn status(&self) -> SessionStatus {
        if let State::Sealed(sealed) = &*self.state.borrow() {
            return sealed.status.clone();
        }
        self.end_if_it_cannot_go_on(clock::now());
        let kept = self.kept();
        let renews = kept.as_ref().ok().filter(|kept| kept.tokens.can_be_renewed()).map(|kept| kept.due().to_string());
        let remembering = self.remembering.get();
        let (remembered, not_remembered) = remembering.map(Remembering::words).unwrap_or_default();
        let how_it_ends = match &*self.state.borrow() {
            State::Over(why) => format!("over: {why}"),
            State::Live(_) | State::Sealed(_) if self.finished.get() => format!("over: {LIFETIME}"),
            State::Live(kept) => match self.chosen_end() {
                Some(end) if renews.is_some() => {
                    format!("at {end}, as chosen: revoked then; renewed until then while it is used")
                }
                _ if renews.is_some() && remembered.is_some() => REMEMBERED.to_owned(),
                _ => kept.how_it_ends(),
            },
            State::Sealed(sealed) => sealed.status.how_it_ends.clone(),
        };
        SessionStatus {
            identity: self.name.clone(),
            issuer: self.source.issuer().to_owned(),
            subject: self.who.clone(),
            since: remembering.map_or(self.since, |remembering| remembering.since).to_string(),
            until: kept.as_ref().ok().and_then(|kept| kept.ends()).map(|end| end.to_string()),
            renews,
            how_it_ends,
            not_granted: kept.as_ref().map(|kept| self.source.not_granted(&kept.tokens)).unwrap_or_default(),
            remembered,
            not_remembered,
            over: kept.is_err(),
        }
    }
}

/// Finds the claim by which people know who it is; an address that the issuer has not verified could be anybody's.
pub(super) fn readable(claims: &Claims) -> Option<String> {
    let has = |name: &str| claims.text(name).filter(|words| !words.is_empty());
    let email = has("email").filter(|_| !claims.is_unverified("email"));
    email.or_else(|| ["preferred_username", "name", "sub"].into_iter().find_map(has))
}

const LIFETIME: &str = "the lifetime that was chosen at the sign-in has ended";
const VAULT_RENEWED: &str = "renewed while it is used, until its maximum life, or the agent ends";
const TOKEN_ENDED: &str = "its token has ended, and the issuer gave none to renew it with";
const VAULT_TOKEN_ENDED: &str = "its token has ended, and could not be renewed any more";
const RENEWED: &str = "renewed while it is used, until the issuer refuses or the agent ends";
const REMEMBERED: &str = "renewed while it is used, until the issuer refuses or you sign out";
/// A session that nobody has used for this long is not renewed any more, and does not keep the agent: a working day.
const IN_USE: Duration = Duration::from_secs(12 * 60 * 60);
const LEAST_REMAINING: Duration = Duration::from_secs(60);
/// How long a token that does not say its end is used before a new one is asked for.
const LIFE_OF_THE_ENDLESS: Duration = Duration::from_secs(5 * 60);
/// Least time between two tries while the last good token is still accepted.
const MINIMUM_INTERVAL: Duration = Duration::from_secs(10);
/// How long the issuer may take for one renewal, whoever waits for it.
pub(super) const WHOLE_FLIGHT: Duration = Duration::from_secs(8);
