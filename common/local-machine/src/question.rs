//! Questions to the person at the controlling terminal.
//! A prompt comes in, what was typed goes out; without a terminal in front of us there is no answer.
//! Changes the terminal's modes only while it reads, and puts them back whatever happens to the reading.

use std::io;

use zeroize::Zeroizing;

/// Asks for a secret, which is not shown while it is typed; `None` when the person gives up.
///
/// # Errors
/// There is no terminal, or another job is in front.
pub fn secret(prompt: &str) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    os::secret(prompt)
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

    use rustix::fs::{Mode, OFlags, open};
    use rustix::io::{read, retry_on_intr, write};
    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr};
    use zeroize::Zeroizing;

    use super::{LONGEST, Typed, take};

    pub(super) fn secret(prompt: &str) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
        let terminal = terminal()?;
        let silent = Silent::new(&terminal)?;
        write(&terminal, prompt.as_bytes())?;
        let typed = read_line(&terminal);
        drop(silent);
        write(&terminal, b"\n").unwrap_or_default();
        typed
    }

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
            let before = tcgetattr(terminal)?;
            let mut modes = before.clone();
            modes.local_modes.remove(LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ICANON | LocalModes::ISIG);
            modes.special_codes[SpecialCodeIndex::VMIN] = 1;
            modes.special_codes[SpecialCodeIndex::VTIME] = 0;
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
    use std::io;

    use zeroize::Zeroizing;

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
}
