//! Many downloads at once, and the agent's memory meanwhile.
//! A road and a process come in, the most memory that it had goes out.
//! Reads `/proc`; drops what it downloads.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::connection::{Connection, field};
use crate::roads::Road;

/// What many downloads at once came to.
pub(crate) struct Crowd {
    /// Kilobytes of memory before, and the most meanwhile.
    pub(crate) memory: (u64, u64),
    /// Bytes that came in all.
    pub(crate) bytes: u64,
    /// How long.
    pub(crate) took: Duration,
}

/// Downloads over 64 connections to the end of each archive, each reading as fast as it can.
pub(crate) fn of_readers(road: &Road, process: u32) -> Crowd {
    crowd(road, process, |connection, start, left| {
        let mut bytes = 0;
        while bytes < left {
            assert!(start.elapsed() < READING, "a download of the crowd did not end in time");
            bytes += connection.read();
        }
        bytes
    })
}

/// Begins downloads over 64 connections that nobody reads on: what waits for them is the proxy's.
pub(crate) fn of_sleepers(road: &Road, process: u32) -> Crowd {
    crowd(road, process, |_, start, _| {
        thread::sleep(SLEEPING.saturating_sub(start.elapsed()));
        0
    })
}

fn crowd(road: &Road, process: u32, each: impl Fn(&mut Connection, Instant, u64) -> u64 + Sync) -> Crowd {
    let before = resident(process);
    let (start, bytes, most) = (Instant::now(), AtomicU64::new(0), AtomicU64::new(before));
    thread::scope(|scope| {
        let downloads: Vec<_> = (0..DOWNLOADS)
            .map(|_| {
                scope.spawn(|| {
                    let mut connection = Connection::open(road);
                    let (head, first) = connection.begin(&road.archive);
                    let size: u64 = field(&head, "content-length").expect("a length").parse().expect("a number");
                    bytes.fetch_add(first + each(&mut connection, start, size - first), Ordering::Relaxed);
                })
            })
            .collect();
        while downloads.iter().any(|download| !download.is_finished()) {
            most.fetch_max(resident(process), Ordering::Relaxed);
            thread::sleep(Duration::from_millis(20));
        }
    });
    Crowd { memory: (before, most.into_inner()), bytes: bytes.into_inner(), took: start.elapsed() }
}

/// Gives kilobytes of memory (RSS).
fn resident(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("the agent runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// How many at once.
pub(crate) const DOWNLOADS: usize = 64;
const READING: Duration = Duration::from_secs(300);
const SLEEPING: Duration = Duration::from_secs(5);
