//! Who runs here: arguments, environments, children and sockets of processes, read from `/proc`.
//!
//! A process id or a directory comes in, what the kernel says about processes goes out. Ends a process by its id only.

use std::collections::HashSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, kill_process};

pub use rustix::process::Signal;

/// A process as the kernel shows it to its owner.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Its name, at most 15 bytes.
    pub name: String,
    /// Its arguments, each ended by a null byte.
    pub arguments: Vec<u8>,
    /// Its environment, each entry ended by a null byte.
    pub environment: Vec<u8>,
}

/// Reads one process; `None` if it has ended.
pub fn read(pid: u32) -> Option<Process> {
    let directory = format!("/proc/{pid}");
    let name = fs::read_to_string(format!("{directory}/comm")).ok()?.trim_end().to_owned();
    let arguments = fs::read(format!("{directory}/cmdline")).unwrap_or_default();
    let environment = fs::read(format!("{directory}/environ")).unwrap_or_default();
    Some(Process { pid, name, arguments, environment })
}

/// Lists the ids of all processes.
pub fn all() -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("/proc");
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Lists a process's children and theirs.
pub fn descendants(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut open = vec![pid];
    while let Some(parent) = open.pop() {
        let Ok(tasks) = fs::read_dir(format!("/proc/{parent}/task")) else { continue };
        for task in tasks.flatten() {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            let ids: Vec<u32> = children.split_whitespace().filter_map(|id| id.parse().ok()).collect();
            found.extend(&ids);
            open.extend(ids);
        }
    }
    found
}

/// Lists the living processes that have to do with a directory: it is in their environment or arguments, or they hold a
/// socket below it. The calling process is left out.
pub fn of_directory(directory: &Path) -> Vec<Process> {
    let path = directory.as_os_str().as_bytes();
    let sockets = sockets_below(directory);
    let mut found = Vec::new();
    for pid in all().into_iter().filter(|&pid| pid != std::process::id()) {
        let Some(process) = read(pid).filter(|_| is_alive(pid)) else { continue };
        if contains(&process.environment, path) || contains(&process.arguments, path) || holds(pid, &sockets) {
            found.push(process);
        }
    }
    found
}

fn sockets_below(directory: &Path) -> HashSet<u64> {
    let prefix = directory.display().to_string();
    let table = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let lines = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let below = lines.filter(|fields| fields.get(7).is_some_and(|path| path.starts_with(&prefix)));
    below.filter_map(|fields| fields[6].parse().ok()).collect()
}

fn holds(pid: u32, sockets: &HashSet<u64>) -> bool {
    !sockets.is_empty() && inodes(pid).iter().any(|inode| sockets.contains(inode))
}

/// The inodes of the sockets that a process has open.
fn inodes(pid: u32) -> Vec<u64> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let links = entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    links.filter_map(|link| link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()).collect()
}

/// Says whether a process listens on a TCP port of this machine.
pub fn listens(pid: u32, port: u16) -> bool {
    // 0A is TCP_LISTEN.
    has_socket(pid, |fields| fields[1].ends_with(&format!(":{port:04X}")) && fields[3] == "0A")
}

/// Says whether a process has a connection to a TCP port of this machine.
pub fn is_connected(pid: u32, port: u16) -> bool {
    // 01 is TCP_ESTABLISHED.
    has_socket(pid, |fields| fields[2].ends_with(&format!(":{port:04X}")) && fields[3] == "01")
}

/// Looks for a TCP socket of a process in the kernel's tables, whose tenth field is the socket's inode.
fn has_socket(pid: u32, is_it: impl Fn(&[&str]) -> bool) -> bool {
    let own = inodes(pid);
    ["/proc/net/tcp", "/proc/net/tcp6"].iter().any(|table| {
        let text = fs::read_to_string(table).unwrap_or_default();
        text.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>()).any(|fields| {
            fields.len() > 9 && is_it(&fields) && fields[9].parse().is_ok_and(|inode| own.contains(&inode))
        })
    })
}

/// Gives the session that a process belongs to; its own number if it leads one.
pub fn session(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Behind the name: state, parent, process group, session.
    stat.rsplit_once(')')?.1.split_whitespace().nth(3)?.parse().ok()
}

/// Lists where the open files of a process lead, by their numbers.
pub fn open_files(pid: u32) -> Vec<(u32, String)> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let file = |entry: fs::DirEntry| {
        let number = entry.file_name().to_str()?.parse().ok()?;
        Some((number, fs::read_link(entry.path()).ok()?.display().to_string()))
    };
    let mut files: Vec<_> = entries.filter_map(file).collect();
    files.sort();
    files
}

/// Says whether a process runs; one that has ended and waits to be collected does not. Its first thread may have ended before the
/// others, which still hold what is open, a socket where somebody listens among it.
pub fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
    match state {
        None | Some('X') => false,
        Some('Z') => fs::read_dir(format!("/proc/{pid}/task")).is_ok_and(|threads| threads.count() > 1),
        Some(_) => true,
    }
}

/// Waits for a process to end; says whether it did.
pub fn wait_for_end(pid: u32, patience: Duration) -> bool {
    let start = Instant::now();
    while is_alive(pid) {
        if start.elapsed() > patience {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

/// Sends a signal to one process by its id; one that has ended is no error.
pub fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

/// Ends one process by its id: asks first, then insists.
pub fn end(pid: u32) {
    signal(pid, Signal::TERM);
    if !wait_for_end(pid, Duration::from_secs(2)) {
        signal(pid, Signal::KILL);
        wait_for_end(pid, Duration::from_secs(2));
    }
}

/// Says whether the bytes hold the others somewhere.
pub fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    let Some(&first) = wanted.first() else { return false };
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|&byte| byte == first) {
        if rest[at..].starts_with(wanted) {
            return true;
        }
        rest = &rest[at + 1..];
    }
    false
}
