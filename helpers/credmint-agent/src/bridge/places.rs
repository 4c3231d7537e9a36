//! For how many connections there is room at the bridge: one count for all of its ports, and a few of each port's own.
//! Nothing but the limit of open files comes in; places go out, each until it is dropped.
//! Opens nothing. `protocol-spec/bridge-protocol.md` §4.

use std::rc::Rc;
use std::sync::Arc;

use credmint_local_machine::most_open_files;
use tokio::net::TcpStream;
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::loopback;

/// What all ports share; each run of `credmint exec` has a port.
pub(super) struct Pool {
    free: Arc<Semaphore>,
    most: usize,
    /// Tells connections that rest to make room.
    wanted: Notify,
}

impl Default for Pool {
    /// Each connection takes a descriptor, and another at the upstream; the rest of the agent has some, too.
    fn default() -> Self {
        let files = most_open_files().map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
        let most = (files.saturating_sub(FILES_OF_THE_REST) / 2).clamp(FEWEST_CONNECTIONS, MOST_CONNECTIONS);
        Self { free: Arc::new(Semaphore::new(most)), most, wanted: Notify::new() }
    }
}

/// The places of one port.
pub(super) struct Places {
    pool: Rc<Pool>,
    /// Nobody else's: a run inside another is served by both at once, and tunnels that rest may have all of the others.
    own: Arc<Semaphore>,
}

impl Places {
    /// Makes room for one more port.
    pub(super) fn of(pool: &Rc<Pool>) -> Self {
        Self { pool: Rc::clone(pool), own: Arc::new(Semaphore::new(OF_A_PORT)) }
    }

    /// Tells whether the next has to wait.
    pub(super) fn are_all_taken(&self) -> bool {
        self.pool.free.available_permits() == 0 && self.own.available_permits() == 0
    }

    /// Tells whether a connection is turned away at once, because it is another user's and others wait.
    pub(super) fn crowd_out(&self, stream: &TcpStream) -> bool {
        loopback::is_crowded_out(&self.pool.free, self.pool.most, stream)
    }

    /// Waits for a place; whoever rests is asked for his.
    pub(super) async fn take(&self) -> Option<OwnedSemaphorePermit> {
        if self.are_all_taken() {
            self.pool.wanted.notify_waiters();
        }
        let (shared, own) = (Arc::clone(&self.pool.free), Arc::clone(&self.own));
        tokio::select! {
            biased;
            place = shared.acquire_owned() => place.ok(),
            place = own.acquire_owned() => place.ok(),
        }
    }

    /// Waits until somebody waits for a place.
    pub(super) fn wanted(&self) -> Notified<'_> {
        self.pool.wanted.notified()
    }
}

const MOST_CONNECTIONS: usize = 256;
const FEWEST_CONNECTIONS: usize = 4;
const OF_A_PORT: usize = 2;
/// The socket's own clients, connections that rest in a pool, files that are read.
const FILES_OF_THE_REST: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::timeout;

    #[tokio::test(start_paused = true)]
    async fn ports_share_a_count_and_each_has_a_few_of_its_own() {
        let pool = Rc::new(Pool { free: Arc::new(Semaphore::new(3)), most: 3, wanted: Notify::new() });
        let (first, second) = (Places::of(&pool), Places::of(&pool));
        let mut held = Vec::new();
        for _ in 0..3 + OF_A_PORT {
            held.push(first.take().await.expect("a place"));
        }
        let second_long = Duration::from_secs(1);
        assert!(first.are_all_taken() && timeout(second_long, first.take()).await.is_err());
        // The other port has its own left, and no more.
        assert!(!second.are_all_taken());
        for _ in 0..OF_A_PORT {
            held.push(second.take().await.expect("a place of its own"));
        }
        assert!(timeout(second_long, second.take()).await.is_err());
        drop(held.remove(0));
        assert!(timeout(second_long, second.take()).await.is_ok(), "what one gives back the other gets");
    }
}
