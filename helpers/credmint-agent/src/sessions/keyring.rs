//! The operating system's store, as an agent with one thread can ask it.
//! A question for the store comes in, its answer goes out, in time.
//! Every call is on a thread of its own and under one deadline; one that hangs is not waited for twice.

use std::cell::Cell;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use credmint_os_store::{OsStore, StoreError};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

type Open = dyn Fn() -> Result<OsStore, StoreError> + Send + Sync;

/// Asks the store, one question at a time.
pub(crate) struct Keyring {
    open: Arc<Open>,
    opened: Arc<Mutex<Option<OsStore>>>,
    turn: Arc<Semaphore>,
    hangs: Cell<bool>,
}

impl Default for Keyring {
    fn default() -> Self {
        Self::of(OsStore::open)
    }
}

impl Keyring {
    pub(crate) fn of(open: impl Fn() -> Result<OsStore, StoreError> + Send + Sync + 'static) -> Self {
        Self { open: Arc::new(open), opened: Arc::default(), turn: Arc::new(Semaphore::new(1)), hangs: Cell::default() }
    }

    /// Asks. A call that hangs goes on hanging; until it is over, nobody else waits.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        question: impl Fn(&OsStore) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        if self.hangs.get() && self.turn.available_permits() == 0 {
            return Err(StoreError::Timeout);
        }
        let (open, opened, turn) = (Arc::clone(&self.open), Arc::clone(&self.opened), Arc::clone(&self.turn));
        let asked = async {
            let turn = turn.acquire_owned().await.map_err(|_| StoreError::Timeout)?;
            let work = spawn_blocking(move || {
                let _turn = turn;
                answer(&*open, &opened, question)
            });
            work.await.unwrap_or(Err(StoreError::Timeout))
        };
        let answer = timeout(PATIENCE, asked).await.unwrap_or(Err(StoreError::Timeout));
        self.hangs.set(matches!(answer, Err(StoreError::Timeout)));
        answer
    }
}

/// Asks the store that is open; one that fails is opened anew, once: its desktop may have logged out and in again.
fn answer<T>(
    open: &Open,
    opened: &Mutex<Option<OsStore>>,
    question: impl Fn(&OsStore) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let mut opened = opened.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(store) = opened.take() {
        let answer = question(&store);
        if !matches!(answer, Err(StoreError::Other { .. })) {
            *opened = Some(store);
            return answer;
        }
    }
    let store = open()?;
    let answer = question(&store);
    *opened = Some(store);
    answer
}

/// How long the store may take, prompts included: nobody answers one that nobody asked for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[tokio::test]
    async fn a_store_that_hangs_costs_its_deadline_once_docker_credential_helpers_82() {
        let hang = || {
            std::thread::sleep(PATIENCE * 2);
            Err(StoreError::Timeout)
        };
        let (keyring, began) = (Keyring::of(hang), Instant::now());
        for _ in 0..5 {
            assert_eq!(keyring.ask(|store| store.read("me").map(drop)).await, Err(StoreError::Timeout));
        }
        assert!(began.elapsed() < PATIENCE + Duration::from_secs(1), "{:?}", began.elapsed());
    }

    #[tokio::test]
    async fn a_store_that_panics_is_one_that_does_not_answer() {
        let keyring = Keyring::of(|| panic!("a bug of a store"));
        assert_eq!(keyring.ask(|_| Ok(())).await, Err(StoreError::Timeout));
    }
}
