//! Questions to the person at the controlling terminal: a secret, or yes or no.
//! A prompt comes in, what was typed goes out; without a terminal in front of us there is no answer.
//! Changes the terminal's modes only while it reads, and puts them back whatever happens to the reading.

use std::io;

use credmint_vocabulary::Deadline;
use zeroize::Zeroizing;

/// Asks for a secret, which is not shown while it is typed; `None` when the person gives up.
///
/// # Errors
/// There is no terminal, or another job is in front.
pub fn secret(prompt: &str) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    os::secret(prompt)
}

/// What a person says to a question with two answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// `y` or `yes`.
    Yes,
    /// Anything else, and Ctrl-C.
    No,
    /// Nothing, until the deadline.
    Nothing,
}

/// Asks something that is answered by `y` or `yes`; what was typed before it was asked does not count.
///
/// # Errors
/// There is no terminal, or another job is in front.
pub fn yes_or_no(prompt: &str, deadline: Deadline) -> io::Result<Said> {
    os::yes_or_no(prompt, deadline)
}

fn said(line: &[u8]) -> Said {
    let line = line.trim_ascii();
    let is_yes = line.eq_ignore_ascii_case(b"y") || line.eq_ignore_ascii_case(b"yes");
    if is_yes { Said::Yes } else { Said::No }
}

/// Longest secret that is taken.
const LONGEST: usize = 1024;

/// Says what a key does to the line.
#[derive(Debug, PartialEq, Eq)]
enum Typed {
    More,
    Done,
    GivenUp,
}

/// Takes one byte into the line, as a terminal would in its own mode.
fn take(line: &mut Vec<u8>, byte: u8) -> Typed {
    match byte {
        b'\r' | b'\n' => return Typed::Done,
        // Ctrl-C, Ctrl-D, Ctrl-\, Ctrl-Z: no signal is made of them while nothing is shown.
        0x03 | 0x04 | 0x1c | 0x1a => return Typed::GivenUp,
        0x08 | 0x7f => drop_character(line),
        0x15 => line.clear(),
        _ if line.len() < LONGEST => line.push(byte),
        _ => {}
    }
    Typed::More
}

/// Takes back one character of UTF-8, not one byte.
fn drop_character(line: &mut Vec<u8>) {
    while line.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
}

#[cfg(unix)]
mod os {
    use std::io;
    use std::os::fd::OwnedFd;
    use std::time::Instant;

    use credmint_vocabulary::Deadline;
    use rustix::fs::{Mode, OFlags, open};
    use rustix::io::{read, retry_on_intr, write};
    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr};
    use zeroize::Zeroizing;

    use super::{LONGEST, Said, Typed, said, take};

    pub(super) fn secret(prompt: &str) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
        let terminal = terminal()?;
        let silent = Silent::new(&terminal)?;
        write(&terminal, prompt.as_bytes())?;
        let typed = read_line(&terminal);
        drop(silent);
        write(&terminal, b"\n").unwrap_or_default();
        typed
    }

    pub(super) fn yes_or_no(prompt: &str, deadline: Deadline) -> io::Result<Said> {
        let terminal = terminal()?;
        let silent = Silent::with(&terminal, (0, TENTHS))?;
        write(&terminal, prompt.as_bytes())?;
        let answer = read_answer(&terminal, deadline);
        drop(silent);
        write(&terminal, b"\n").unwrap_or_default();
        answer
    }

    /// Shows what is typed by itself. A read that gives nothing is a tenth of a second without a key, or a terminal that is gone,
    /// which gives nothing at once and for ever.
    fn read_answer(terminal: &OwnedFd, deadline: Deadline) -> io::Result<Said> {
        let (mut line, mut byte, mut empty) = (Vec::new(), [0], 0);
        while empty < MOST_EMPTY && !deadline.remaining(Instant::now()).is_zero() {
            if retry_on_intr(|| read(terminal, &mut byte))? == 0 {
                empty += 1;
                continue;
            }
            let ([typed], before) = (byte, line.len());
            if !typed.is_ascii() || before > 8 && typed.is_ascii_graphic() {
                continue;
            }
            match take(&mut line, typed) {
                Typed::More if line.len() > before => write(terminal, &byte),
                Typed::More => write(terminal, "\u{8} \u{8}".repeat(before - line.len()).as_bytes()),
                Typed::Done => return Ok(said(&line)),
                Typed::GivenUp => return Ok(Said::No),
            }
            .unwrap_or_default();
        }
        Ok(Said::Nothing)
    }

    /// How long one read waits for a key, in tenths of a second.
    const TENTHS: u8 = 1;
    /// More reads than any deadline has time for.
    const MOST_EMPTY: u32 = 1000;

    /// Opens the controlling terminal, if we are in front: a background job would be stopped.
    fn terminal() -> io::Result<OwnedFd> {
        let terminal = open("/dev/tty", OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
        if tcgetpgrp(&terminal)? == rustix::process::getpgrp() {
            Ok(terminal)
        } else {
            Err(io::ErrorKind::WouldBlock.into())
        }
    }

    fn read_line(terminal: &OwnedFd) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
        let (mut line, mut byte) = (Zeroizing::new(Vec::with_capacity(LONGEST)), Zeroizing::new([0]));
        loop {
            if retry_on_intr(|| read(terminal, &mut *byte))? == 0 {
                return Ok(None);
            }
            let [typed] = *byte;
            match take(&mut line, typed) {
                Typed::More => {}
                Typed::Done => return Ok(Some(line)),
                Typed::GivenUp => return Ok(None),
            }
        }
    }

    /// Keeps a terminal from showing what is typed, until it is dropped.
    struct Silent<'a> {
        terminal: &'a OwnedFd,
        before: Termios,
    }

    impl<'a> Silent<'a> {
        fn new(terminal: &'a OwnedFd) -> io::Result<Self> {
            Self::with(terminal, (1, 0))
        }

        /// Sets how many bytes a read waits for, and for how many tenths of a second.
        fn with(terminal: &'a OwnedFd, (bytes, tenths): (u8, u8)) -> io::Result<Self> {
            let before = tcgetattr(terminal)?;
            let mut modes = before.clone();
            modes.local_modes.remove(LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ICANON | LocalModes::ISIG);
            modes.special_codes[SpecialCodeIndex::VMIN] = bytes;
            modes.special_codes[SpecialCodeIndex::VTIME] = tenths;
            tcsetattr(terminal, OptionalActions::Flush, &modes)?;
            Ok(Self { terminal, before })
        }
    }

    impl Drop for Silent<'_> {
        fn drop(&mut self) {
            tcsetattr(self.terminal, OptionalActions::Flush, &self.before).unwrap_or_default();
        }
    }
}

#[cfg(windows)]
mod os {
    use std::io::{self, BufRead, BufReader, Read, Write};
    use std::path::Path;
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Instant;

    use credmint_vocabulary::Deadline;
    use zeroize::Zeroizing;

    use super::{Said, said};

    /// Reads on a thread of its own, because a console knows no timeout; it ends with the process. Ctrl-C ends that, which is no yes.
    pub(super) fn yes_or_no(prompt: &str, deadline: Deadline) -> io::Result<Said> {
        let console =
            |name| crate::files::open_with(std::fs::OpenOptions::new().read(true).write(true), Path::new(name));
        let keys = console("CONIN$")?;
        console("CONOUT$")?.write_all(prompt.as_bytes())?;
        let (sender, receiver) = channel();
        thread::spawn(move || {
            let mut line = Vec::new();
            let read = BufReader::new(keys.take(64)).read_until(b'\n', &mut line);
            sender.send(read.map(|_| said(&line))).unwrap_or_default();
        });
        receiver.recv_timeout(deadline.remaining(Instant::now())).unwrap_or(Ok(Said::Nothing))
    }

    /// A console shows what is typed unless a system call without a safe form says otherwise.
    pub(super) fn secret(_prompt: &str) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(bytes: &[u8]) -> (Typed, Vec<u8>) {
        let mut line = Vec::new();
        let last = bytes.iter().map(|byte| take(&mut line, *byte)).find(|typed| *typed != Typed::More);
        (last.unwrap_or(Typed::More), line)
    }

    #[test]
    fn a_line_is_corrected_as_at_any_prompt() {
        assert_eq!(typed("aß\u{7f}b\r".as_bytes()), (Typed::Done, b"ab".to_vec()));
        assert_eq!(typed(b"abc\x15d\n"), (Typed::Done, b"d".to_vec()));
        assert_eq!(typed(b"\x7fa\n"), (Typed::Done, b"a".to_vec()));
        assert_eq!(typed(b"abc\x03").0, Typed::GivenUp);
    }

    #[test]
    fn only_a_yes_is_one() {
        for yes in ["y", "Y", "yes", " YES "] {
            assert_eq!(said(yes.as_bytes()), Said::Yes, "{yes}");
        }
        for no in ["", " ", "n", "no", "yess", "ja", "y y", "\u{1b}y"] {
            assert_eq!(said(no.as_bytes()), Said::No, "{no}");
        }
    }
}
