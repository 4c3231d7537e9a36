//! What a process has in its memory, read from `/proc/<pid>/mem`.
//!
//! A process id and a value come in; where the value lies goes out, never the value. Root may read the memory of a process
//! that made itself not dumpable, which is what the agent does; anybody else may not, and is told so.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use crate::processes;

/// Panics if the value is in the memory of the process; one that has ended has none.
pub fn lacks(pid: u32, what: &str, value: &[u8]) {
    if processes::is_alive(pid)
        && let Some(region) = find(pid, value)
    {
        panic!("{what} is in the memory of process {pid}, in {region}");
    }
}

/// Says whether the value is in the memory of the process; without that, a test that it is gone proves nothing.
pub fn holds(pid: u32, value: &[u8]) -> bool {
    find(pid, value).is_some()
}

/// Says whether the caller may read the memory of the process: root may, others only if it is dumpable. A test that may
/// not is skipped, which is said here.
pub fn is_readable(pid: u32) -> bool {
    let is_readable = File::open(format!("/proc/{pid}/mem")).is_ok();
    if !is_readable {
        eprintln!("skipped: only root may read the memory of process {pid}");
    }
    is_readable
}

/// Finds the first region that holds the value.
fn find(pid: u32, value: &[u8]) -> Option<String> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).expect("the map of a process that the caller may trace");
    let memory = File::open(format!("/proc/{pid}/mem")).expect("the memory of a process that the caller may trace");
    maps.lines().find(|line| is_private(line) && region_holds(&memory, line, value)).map(|line| {
        let name = line.split_whitespace().nth(5).unwrap_or("an anonymous mapping");
        name.to_owned()
    })
}

/// Only what the process may write to can hold what it was given.
fn is_private(line: &str) -> bool {
    line.split_whitespace().nth(1).is_some_and(|rights| rights.starts_with("rw")) && !line.contains("[vvar")
}

fn region_holds(memory: &File, line: &str, value: &[u8]) -> bool {
    const PIECE: u64 = 1 << 20;
    let Some((start, end)) = bounds(line) else { return false };
    let overlap = value.len() as u64;
    let mut buffer = vec![0; (PIECE + overlap) as usize];
    (start..end).step_by(PIECE as usize).any(|at| {
        let length = (end - at).min(PIECE + overlap) as usize;
        // A page that is reserved, guarded or secret to the kernel cannot be read; nor can anybody else read it.
        let count = memory.read_at(&mut buffer[..length], at).unwrap_or(0);
        processes::contains(&buffer[..count], value)
    })
}

fn bounds(line: &str) -> Option<(u64, u64)> {
    let (start, end) = line.split_whitespace().next()?.split_once('-')?;
    Some((u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?))
}
