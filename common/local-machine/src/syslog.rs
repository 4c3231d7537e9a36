//! Lines for the system's log: datagrams to its local socket.
//! A socket and a line come in; whether the system took it goes out.
//! Never waits, and keeps no connection: a log that was away is found again. RFC 3164 as `syslog(3)` has it, without a time of ours.

use std::io;
use std::path::Path;

/// Sends one line to the system's log, as `authpriv.info`; without a socket it is the system's usual one.
///
/// # Errors
/// What the system says; the line is lost then.
pub fn syslog_line(socket: Option<&Path>, line: &str) -> io::Result<()> {
    // No time: who receives it knows better than we which zone its log is in. The local form: every daemon reads it.
    let datagram = format!("<{PRIORITY}>{PROGRAM}[{}]: {line}", std::process::id());
    send(socket, datagram.as_bytes())
}

#[cfg(unix)]
fn send(socket: Option<&Path>, datagram: &[u8]) -> io::Result<()> {
    let path = crate::home::below_home(socket.unwrap_or(Path::new(USUAL)))?;
    let sender = std::os::unix::net::UnixDatagram::unbound()?;
    sender.set_nonblocking(true)?;
    let sent = sender.send_to(datagram, path)?;
    if sent == datagram.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

#[cfg(windows)]
fn send(_socket: Option<&Path>, _datagram: &[u8]) -> io::Result<()> {
    Err(io::Error::other("Windows has no syslog; its event log is not written to"))
}

/// Facility `authpriv` (10), severity `info` (6).
const PRIORITY: u8 = 10 * 8 + 6;
const PROGRAM: &str = "credmint-agent";
#[cfg(all(unix, not(target_os = "macos")))]
const USUAL: &str = "/dev/log";
#[cfg(target_os = "macos")]
const USUAL: &str = "/var/run/syslog";

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::testing::EmptyDirectory;
    use std::os::unix::net::UnixDatagram;

    #[test]
    fn a_log_that_is_away_or_full_is_not_waited_for_and_found_again() {
        let home = EmptyDirectory::new();
        let path = home.path().join("log");
        assert!(syslog_line(Some(&path), "lost").is_err(), "nobody has made the socket");
        let log = UnixDatagram::bind(&path).expect("binds");
        syslog_line(Some(&path), "{\"a\":1}").expect("sends");
        let mut buffer = [0; 200];
        let count = log.recv(&mut buffer).expect("receives");
        let wanted = format!("<86>credmint-agent[{}]: {{\"a\":1}}", std::process::id());
        assert_eq!(std::str::from_utf8(&buffer[..count]), Ok(wanted.as_str()));
        let full = (0..10_000).find_map(|_| syslog_line(Some(&path), "x").err());
        assert_eq!(full.map(|error| error.kind()), Some(io::ErrorKind::WouldBlock), "nobody reads it");
        drop(log);
        assert!(syslog_line(Some(&path), "lost").is_err(), "the socket is left behind");
        std::fs::remove_file(&path).expect("removes");
        let log = UnixDatagram::bind(&path).expect("binds again");
        syslog_line(Some(&path), "found").expect("sends");
        assert!(log.recv(&mut buffer).is_ok());
    }
}
