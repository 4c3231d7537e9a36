//! A sign that something is waited for, with the time that is left: it turns on a terminal, elsewhere it is one line.
//! Words and a duration come in, standard error changes until the spinner is dropped.
//! Runs on a thread of its own and leaves an empty line behind.

use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::{life, out};

/// Turns until it is dropped.
pub(crate) struct Spinner(Option<(Sender<()>, JoinHandle<()>)>);

impl Spinner {
    /// Starts turning; without a terminal says once what is waited for.
    pub(crate) fn start(what: &'static str, left: Option<Duration>) -> Self {
        if !out::can_move(std::io::stderr().is_terminal()) {
            let left = left
                .map(|left| format!(", for at most {}", life::words(left.as_secs().next_multiple_of(60))))
                .unwrap_or_default();
            out::aside(&format!("Waiting for {what}{left}.\n"));
            return Self(None);
        }
        let (stop, stopped) = channel();
        let end = left.map(|left| Instant::now() + left);
        Self(Some((stop, thread::spawn(move || turn(what, end, &stopped)))))
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.0.take() {
            drop(stop);
            thread.join().unwrap_or_default();
        }
    }
}

fn turn(what: &str, end: Option<Instant>, stopped: &Receiver<()>) {
    for sign in "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏".chars().cycle() {
        let left = end.map(|end| clock(end.saturating_duration_since(Instant::now()))).unwrap_or_default();
        out::aside(&format!("\r{sign} waiting for {what}{left}\x1b[K"));
        if stopped.recv_timeout(Duration::from_millis(100)) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
    out::aside("\r\x1b[K");
}

fn clock(left: Duration) -> String {
    format!(", {}:{:02} left", left.as_secs() / 60, left.as_secs() % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_told_as_a_clock_does() {
        assert_eq!(clock(Duration::from_secs(161)), ", 2:41 left");
        assert_eq!(clock(Duration::ZERO), ", 0:00 left");
    }
}
