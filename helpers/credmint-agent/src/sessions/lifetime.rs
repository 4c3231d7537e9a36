//! The end that a person chose for a session: `credmint login --lifetime`, or `lifetime` of the settings.
//! Both clocks come in at each use; once either is past the end the session is over: revoked, its entries dropped.
//! Time is a parameter. A clock that is set back, a suspend and a new time zone give a session no second more.

use std::rc::Rc;
use std::time::{Duration, Instant};

use credmint_local_machine::clock;
use credmint_vocabulary::{Deadline, Timestamp};

use super::session::Session;
use crate::agent::Agent;
use crate::logout;

/// How long a session may be used, from when.
#[derive(Clone, Copy)]
pub(crate) struct Lifetime {
    life: Duration,
    since: Timestamp,
    began: Instant,
}

impl Lifetime {
    /// Begins one.
    pub(crate) fn new(life: Duration, since: Timestamp, began: Instant) -> Self {
        Self { life, since, began }
    }

    /// Gives its end by the wall clock.
    pub(crate) fn ends(self) -> Timestamp {
        self.since.plus(self.life)
    }

    /// Tells whether it is over: by the wall clock, which goes on while the machine sleeps, or by the one that nobody sets.
    pub(crate) fn is_over(self, wall: Timestamp, instant: Instant) -> bool {
        wall >= self.ends() || instant.saturating_duration_since(self.began) >= self.life
    }
}

/// Ends the sessions whose lifetime is over, with all that was made of them. Before each use, and while nobody asks.
pub(crate) fn end_those_over(agent: &Rc<Agent>, wall: Timestamp, instant: Instant) {
    // Locked, nothing is used, and nobody has the token to revoke it.
    if agent.lock.is_shut() {
        return;
    }
    for session in agent.sessions.all().into_iter().filter(|session| session.finish_if_over(wall, instant)) {
        for entry in agent.take_entries_of(session.sign_in.0) {
            agent.close_bridge(&entry);
            agent.drop_entry(entry);
        }
        tokio::task::spawn_local(finish(Rc::clone(agent), session));
    }
}

/// Revokes what an ended session has, the tokens of a renewal that is under way included, and forgets it.
async fn finish(agent: Rc<Agent>, session: Rc<Session>) {
    let _under_way = Rc::clone(&agent.revoking);
    let deadline = Deadline::after(Instant::now(), WHOLE_END);
    session.rest(deadline).await;
    let words = match logout::revoked(&agent, &session, deadline).await {
        Ok(_) => "the lifetime that was chosen at the sign-in has ended".to_owned(),
        Err(why) => format!("the lifetime that was chosen at the sign-in has ended ({why})"),
    };
    session.end(words);
    agent.https.forget();
}

impl Session {
    /// Lets it end after this time, counted from now.
    pub(crate) fn live_for(&self, life: Duration) {
        self.lifetime.set(Some(Lifetime::new(life, clock::now(), Instant::now())));
    }

    /// Gives its chosen end, if it is still to come.
    pub(crate) fn chosen_end(&self) -> Option<Timestamp> {
        self.lifetime.get().filter(|_| !self.finished.get()).map(Lifetime::ends)
    }

    /// Lets nobody use it any more if its lifetime is over; tells so once.
    fn finish_if_over(&self, wall: Timestamp, instant: Instant) -> bool {
        let over = self.lifetime.get().is_some_and(|lifetime| lifetime.is_over(wall, instant));
        over && !self.finished.replace(true)
    }
}

const WHOLE_END: Duration = Duration::from_secs(12);

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(8 * 3600);

    /// Tells whether a day's session is over when the wall clock shows one time and the other clock has counted another.
    fn is_over(wall: i64, counted: u64) -> bool {
        let began = Instant::now();
        let lifetime = Lifetime::new(DAY, Timestamp::from_unix(1_000_000), began);
        lifetime.is_over(Timestamp::from_unix(1_000_000 + wall), began + Duration::from_secs(counted))
    }

    #[test]
    fn a_laptop_that_slept_wakes_up_signed_out_smallstep_certificates_10() {
        assert!(!is_over(28_799, 28_799) && is_over(28_800, 60), "the counting clock stood still meanwhile");
    }

    #[test]
    fn a_clock_that_is_set_back_lengthens_nothing() {
        assert!(is_over(-86_400, 28_800) && !is_over(-86_400, 28_799));
    }

    #[test]
    fn daylight_saving_changes_nothing() {
        let at = |text| Timestamp::from_rfc3339(text).expect("a time");
        let (began, since) = (Instant::now(), at("2026-10-24T22:00:00Z"));
        let lifetime = Lifetime::new(DAY, since, began);
        assert_eq!(lifetime.ends(), at("2026-10-25T06:00:00Z"), "an hour of that night has two names in Europe");
        assert!(
            !lifetime.is_over(at("2026-10-25T05:59:59Z"), began) && lifetime.is_over(at("2026-10-25T06:00:00Z"), began)
        );
    }
}
