//! One line to the person, when the program that called us hides what we say on standard error.
//! A line comes in and appears on the controlling terminal, if there is one and standard error is not it.
//! Never waits, never stops the process, reads nothing but its size.

/// Says one line to the controlling terminal; does nothing where there is none.
pub fn say(line: &str) {
    let line = format!("{}\n", credmint_vocabulary::printable(line, 1200));
    show(line.as_bytes());
}

/// Gives the columns and lines of the terminal on standard error; `None` where there is none or nobody knows.
#[must_use]
pub fn size() -> Option<(u16, u16)> {
    #[cfg(unix)]
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stderr()).ok().map(|size| (size.ws_col, size.ws_row));
    #[cfg(windows)]
    let size = std::io::IsTerminal::is_terminal(&std::io::stderr()).then_some((80, 50));
    size.filter(|(columns, _)| *columns > 0)
}

#[cfg(unix)]
fn show(line: &[u8]) {
    use rustix::fs::{Mode, OFlags, open};
    if is_controlling_terminal(rustix::stdio::stderr()) {
        return;
    }
    let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(terminal) = open("/dev/tty", flags, Mode::empty()) else { return };
    if may_write(&terminal) {
        rustix::io::write(&terminal, line).unwrap_or_default();
    }
}

/// Asks for the session of a terminal: the kernel tells it only to those whose controlling terminal it is.
#[cfg(unix)]
fn is_controlling_terminal(fd: impl std::os::fd::AsFd) -> bool {
    rustix::termios::tcgetsid(fd).is_ok()
}

/// Tells whether writing would stop us: a background job on a terminal with `stty tostop`.
#[cfg(unix)]
fn may_write(terminal: &std::os::fd::OwnedFd) -> bool {
    use rustix::termios::{LocalModes, tcgetattr, tcgetpgrp};
    let in_front = tcgetpgrp(terminal).is_ok_and(|group| group == rustix::process::getpgrp());
    in_front || tcgetattr(terminal).is_ok_and(|modes| !modes.local_modes.contains(LocalModes::TOSTOP))
}

#[cfg(windows)]
fn show(line: &[u8]) {
    use std::io::{IsTerminal, Write};
    if std::io::stderr().is_terminal() {
        return;
    }
    let path = std::path::Path::new("CONOUT$");
    if let Ok(mut console) = crate::files::open_with(std::fs::OpenOptions::new().read(true).write(true), path) {
        console.write_all(line).unwrap_or_default();
    }
}
