//! What people did not allow, for a few seconds, and whose turn it is to be asked.
//! An entry's key, a run and a time come in; the refusal that is remembered, or a turn, goes out.
//! Remembers no consent: that is for one request.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use credmint_vocabulary::Failure;
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::origin::Run;
use crate::recipe::EntryKey;

/// Knows what was refused lately, and where somebody is being asked.
#[derive(Default)]
pub(crate) struct Confirmations {
    refused: RefCell<Vec<Refused>>,
    turns: RefCell<BTreeMap<Place, Arc<Mutex<()>>>>,
}

/// Where a person is asked: one question at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// By the program of the settings.
    Desktop,
    /// At a terminal, by its number; none where the kernel does not tell.
    Terminal(Option<i32>),
}

struct Refused {
    key: EntryKey,
    run: Option<Run>,
    until: Instant,
    failure: Failure,
}

/// Held while somebody is asked.
pub(super) type Turn = OwnedMutexGuard<()>;

impl Confirmations {
    /// Refuses what was refused to the same run a moment ago: one `init` asks up to five times, a person is asked once.
    pub(super) fn check(&self, key: EntryKey, run: Option<Run>, now: Instant) -> Result<(), Failure> {
        let mut refused = self.refused.borrow_mut();
        refused.retain(|refused| refused.until > now);
        let same = refused.iter().find(|refused| refused.key == key && refused.run == run);
        same.map_or(Ok(()), |refused| Err(refused.failure.clone()))
    }

    pub(super) fn remember(&self, key: EntryKey, run: Option<Run>, failure: &Failure, now: Instant) {
        let refused = Refused { key, run, until: now + REMEMBERED, failure: failure.clone() };
        self.refused.borrow_mut().push(refused);
    }

    /// Gives the turns of a place; those that nobody waits for are dropped on the way.
    pub(super) fn turns(&self, place: Place) -> Arc<Mutex<()>> {
        let mut turns = self.turns.borrow_mut();
        turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        Arc::clone(turns.entry(place).or_default())
    }
}

/// How long a no holds for the run that got it; another run is another question.
const REMEMBERED: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use credmint_vocabulary::FailureKind;

    use super::*;
    use crate::entries::tests::entry;

    #[test]
    fn a_no_holds_for_the_same_run_and_for_ten_seconds() {
        let (all, now) = (Confirmations::default(), Instant::now());
        let key = entry(None).recipe.key;
        let (run, other) = (Some((4711, 5)), Some((4711, 6)));
        all.remember(key, run, &Failure::new(FailureKind::Refused, "no"), now);
        let after = |seconds| now + Duration::from_secs(seconds);
        assert!(all.check(key, run, after(9)).is_err());
        assert!(all.check(key, other, after(9)).is_ok(), "the same number, another process");
        assert!(all.check(key, None, after(9)).is_ok());
        assert!(all.check(key, run, after(10)).is_ok());
        assert!(all.check(key, run, after(9)).is_ok(), "it is not kept any longer");
    }

    #[tokio::test]
    async fn one_place_asks_one_at_a_time_and_is_forgotten_afterwards() {
        let all = Confirmations::default();
        let held = all.turns(Place::Terminal(Some(1))).lock_owned().await;
        assert!(all.turns(Place::Terminal(Some(1))).try_lock_owned().is_err());
        let elsewhere = [Place::Terminal(Some(2)), Place::Terminal(None), Place::Desktop];
        assert!(elsewhere.into_iter().all(|place| all.turns(place).try_lock_owned().is_ok()));
        drop(held);
        assert!(all.turns(Place::Terminal(Some(1))).try_lock_owned().is_ok());
        assert_eq!(all.turns.borrow().len(), 1);
    }
}
