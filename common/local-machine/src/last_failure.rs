//! The last failures of the programs that Terraform silences, so that `credmint status` can show them.
//! A failure comes in and becomes a line of a private file; the newest lines come out.
//! Holds what `Failure` holds, never a secret. A home that cannot be written is no reason to fail.

use std::path::Path;

use credmint_vocabulary::{Failure, Timestamp};
use serde::{Deserialize, Serialize};

use crate::files::{read_bounded, write_private};
use crate::places::state_directory;

/// Tells one failure of the past.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LastFailure {
    /// When, RFC 3339.
    pub time: String,
    /// Which program.
    pub program: String,
    /// For which host, if it was about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// Word of the kind.
    pub kind: String,
    /// What failed.
    pub what: String,
    /// The next thing to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Keeps a failure, if there is a place for it.
pub fn record(program: &str, hostname: Option<&str>, failure: &Failure, now: Timestamp) {
    if let Some(directory) = state_directory() {
        record_in(&directory, &line_of(program, hostname, failure, now));
    }
}

/// Gives the failures that are kept, newest first.
#[must_use]
pub fn read() -> Vec<LastFailure> {
    state_directory().map(|directory| read_in(&directory)).unwrap_or_default()
}

fn line_of(program: &str, hostname: Option<&str>, failure: &Failure, now: Timestamp) -> LastFailure {
    LastFailure {
        time: now.to_string(),
        program: program.to_owned(),
        hostname: hostname.map(str::to_owned),
        kind: failure.kind.word().to_owned(),
        what: failure.what.clone(),
        hint: failure.hint.clone(),
    }
}

/// Adds a line to the newest that are there; they stay as they are, whoever wrote them.
fn record_in(directory: &Path, newest: &LastFailure) {
    let _one_at_a_time = lock(directory);
    let kept = text_in(directory);
    let lines: Vec<&[u8]> = lines(&kept).filter(|line| !repeats(line, newest)).collect();
    let older = lines.get(lines.len().saturating_sub(KEPT - 1)..).unwrap_or_default();
    let newest = serde_json::to_vec(newest).unwrap_or_default();
    let mut text = Vec::new();
    for line in older.iter().copied().chain([newest.as_slice()]) {
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    write_private(&directory.join(FILE), &text).unwrap_or_default();
}

/// Tells the same failure at another time: who can make one happen often must not push the others out by it.
fn repeats(line: &[u8], newest: &LastFailure) -> bool {
    serde_json::from_slice(line)
        .is_ok_and(|old: LastFailure| LastFailure { time: newest.time.clone(), ..old } == *newest)
}

fn read_in(directory: &Path) -> Vec<LastFailure> {
    let text = text_in(directory);
    let mut failures: Vec<LastFailure> = lines(&text).filter_map(|line| serde_json::from_slice(line).ok()).collect();
    failures.reverse();
    failures
}

fn text_in(directory: &Path) -> Vec<u8> {
    read_bounded(&directory.join(FILE), MAXIMUM_FILE).ok().flatten().unwrap_or_default()
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

/// Two failures at once are rare and small: wait a little, then go on without the lock.
#[cfg(unix)]
fn lock(directory: &Path) -> Option<crate::directory::Lock> {
    crate::directory::make_private(directory).ok()?;
    crate::directory::lock(directory, std::time::Duration::from_millis(100)).ok()
}

#[cfg(windows)]
fn lock(_directory: &Path) {}

const FILE: &str = "last-failures.jsonl";
const KEPT: usize = 20;
const MAXIMUM_FILE: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::EmptyDirectory;
    use credmint_vocabulary::FailureKind;

    fn failure(number: usize) -> LastFailure {
        let failure = Failure::new(FailureKind::Refused, format!("no {number}")).hint("ask");
        line_of("test", Some("a.example"), &failure, Timestamp::from_unix(0))
    }

    #[test]
    fn the_newest_are_kept_and_come_first() {
        let home = EmptyDirectory::new();
        (0..KEPT + 5).for_each(|number| record_in(home.path(), &failure(number)));
        let kept = read_in(home.path());
        assert_eq!(kept.len(), KEPT);
        assert_eq!(kept.first(), Some(&failure(KEPT + 4)));
    }

    #[test]
    fn a_failure_that_repeats_pushes_no_other_out() {
        let home = EmptyDirectory::new();
        record_in(home.path(), &failure(1));
        (0..2 * KEPT as i64).for_each(|second| {
            let again = Failure::new(FailureKind::Refused, "again");
            record_in(home.path(), &line_of("test", None, &again, Timestamp::from_unix(second)));
        });
        assert_eq!(read_in(home.path()).iter().map(|f| f.what.as_str()).collect::<Vec<_>>(), ["again", "no 1"]);
    }

    #[test]
    fn lines_that_are_none_of_ours_are_skipped() {
        let home = EmptyDirectory::new();
        write_private(&home.path().join(FILE), b"not JSON\n{\"what\":\"old\",\"new\":1}\n\xff\n").expect("writes");
        record_in(home.path(), &failure(1));
        assert_eq!(read_in(home.path()).iter().map(|f| f.what.as_str()).collect::<Vec<_>>(), ["no 1", "old"]);
    }

    #[test]
    fn a_place_that_cannot_be_written_is_silently_none() {
        record_in(Path::new("/proc/self/none"), &failure(1));
        assert!(read_in(Path::new("/proc/self/none")).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn the_file_is_private() {
        use std::os::unix::fs::PermissionsExt;
        let home = EmptyDirectory::new();
        record_in(home.path(), &failure(1));
        let mode = std::fs::metadata(home.path().join(FILE)).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
