//! A process, as the kernel knows it: its name, who started it, its terminal.
//! A process id that the kernel gave comes in, what it says of it goes out; elsewhere than on Linux it says nothing.
//! Reads `/proc` and nothing else (`proc_pid_stat(5)`). The name is what the process calls itself, 15 bytes at most.

/// Describes a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Id of the process that started it.
    pub parent: u32,
    /// Number of its controlling terminal; 0 where it has none.
    pub terminal: i32,
    /// When it started, in ticks since the system did: tells it from another one with its id.
    pub started: u64,
}

/// Looks at a process that runs.
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "files are read in local-machine: this is the kernel's")]
#[must_use]
pub fn look(id: u32) -> Option<Process> {
    parse(&std::fs::read(format!("/proc/{id}/stat")).ok()?)
}

/// Looks at nothing here.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub const fn look(_id: u32) -> Option<Process> {
    None
}

/// Gives the id of the process that started this one.
#[cfg(unix)]
#[must_use]
pub fn parent() -> Option<u32> {
    Some(std::os::unix::process::parent_id())
}

/// Gives none here: the one that started this one may be gone, and its id another's.
#[cfg(not(unix))]
#[must_use]
pub const fn parent() -> Option<u32> {
    None
}

/// Reads the line; the name is in parentheses and may hold any byte.
#[cfg(any(target_os = "linux", test))]
fn parse(line: &[u8]) -> Option<Process> {
    let line = String::from_utf8_lossy(line);
    let (id, rest) = line.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    Some(Process {
        id: id.parse().ok()?,
        name: credmint_vocabulary::printable(name, 64),
        parent: fields.get(1)?.parse().ok()?,
        terminal: fields.get(4)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything_and_is_made_printable() {
        let line = b"4711 (ev) S 1 (\x1b[2J) S 4000 4711 4000 34816 4711 4194304 1 2 3 4 5 6 7 8 20 0 1 0 123456 9";
        let process = parse(line).expect("a line of the kernel's");
        assert!(!process.name.contains('\u{1b}') && process.name.starts_with("ev) S 1 ("), "{}", process.name);
        assert_eq!((process.id, process.parent, process.terminal, process.started), (4711, 4000, 34816, 123_456));
        assert_eq!(parse(b"4711 (cut"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn our_own_is_found_and_nobodys_is_not() {
        let own = look(std::process::id()).expect("ourselves");
        assert_eq!(Some(own.parent), parent());
        assert!(own.started > 0 && !own.name.is_empty());
        assert_eq!(look(0), None);
    }
}
