//! The address that a browser ended at, as the person pastes it on standard input.
//! A deadline comes in, a [`Pasted`] goes out: it holds the authorization code, so it is wiped and never shown.
//! Reads one line; beyond the deadline it waits no longer.

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use credmint_agent_protocol::{Pasted, WireSecret};
use credmint_local_machine::streams;
use credmint_vocabulary::{Failure, FailureKind, Secret};
use zeroize::Zeroizing;

/// Reads the address; lines that are empty are passed over.
pub(crate) fn read(left: Duration) -> Result<Pasted, Failure> {
    let (sender, receiver) = channel();
    thread::spawn(move || drop(sender.send(line())));
    match receiver.recv_timeout(left) {
        Ok(Some(line)) => Ok(Pasted { url: WireSecret::from(line) }),
        Ok(None) => Err(failure("no address was pasted: standard input ended, or the line was no address")),
        Err(_) => Err(failure("no address was pasted in time")),
    }
}

fn line() -> Option<Secret<String>> {
    loop {
        let line = streams::read_line(LONGEST).ok()??;
        if let Some(text) = trimmed(&line)? {
            return Some(text);
        }
    }
}

/// Takes what people paste around an address away: blanks, a carriage return, brackets. An inner `None` is an empty line.
#[expect(clippy::option_option, reason = "no text, an empty line and an address are three things")]
fn trimmed(line: &Zeroizing<Vec<u8>>) -> Option<Option<Secret<String>>> {
    let text = std::str::from_utf8(line).ok()?;
    let text = text.trim_matches(|c: char| c.is_whitespace() || "<>\"'".contains(c));
    Some((!text.is_empty()).then(|| Secret::new(text.to_owned())))
}

fn failure(what: &str) -> Failure {
    Failure::new(FailureKind::Usage, what)
        .hint("credmint login --paste, and paste the whole line from the browser's address bar")
}

/// Longest address that is read.
const LONGEST: usize = 16 * 1024;
