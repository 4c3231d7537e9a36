//! Watches the arguments of every process of ours while something runs: what is in them is seen by everybody.
//! Needles come in; how many processes were looked at, and what was found, goes out.
//! Reads `/proc` on a thread of its own; a system without it is watched in vain, which is said.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use credmint_local_machine::files::read_bounded;

use super::needles::Needle;

/// What was seen.
#[derive(Default)]
pub(crate) struct Seen {
    /// Command lines that were looked at.
    pub(crate) processes: usize,
    /// What was found, and where.
    pub(crate) found: BTreeSet<String>,
}

/// A watch that goes on until it is asked for what it saw.
pub(crate) struct Watch {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Seen>,
}

impl Watch {
    /// Begins.
    pub(crate) fn begin(needles: Vec<Needle>) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&over);
        Self { over, thread: std::thread::spawn(move || watch(&needles, &until)) }
    }

    /// Ends.
    pub(crate) fn end(self) -> Seen {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

fn watch(needles: &[Needle], over: &AtomicBool) -> Seen {
    let (mut lines, mut found) = (BTreeSet::new(), BTreeSet::new());
    while !over.load(Ordering::Relaxed) {
        for line in command_lines() {
            found.extend(needles.iter().filter(|needle| needle.is_in(&line)).map(|needle| needle.name.to_owned()));
            lines.insert(line);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Seen { processes: lines.len(), found }
}

fn command_lines() -> impl Iterator<Item = Vec<u8>> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let read = |pid| read_bounded(Path::new(&format!("/proc/{pid}/cmdline")), 1 << 17).ok().flatten();
    numbers.filter_map(read).filter(|line| !line.is_empty())
}
