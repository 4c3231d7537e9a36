//! Unix sockets: connecting to the agent, and being the one agent that listens.
//! A path comes in, a connection or a listener goes out; single instance is kept by the socket itself.
//! Replaces a socket file only when nobody listens on it, under a lock on its directory. `unix(7)`.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::{Duration, Instant};

use credmint_vocabulary::Deadline;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};

use super::connection::Connection;
use super::peer::{own_uid, peer_uid};
use super::{ConnectError, ListenError};
use crate::directory::lock;

/// Says who listens.
#[derive(Debug)]
pub enum Listening {
    /// We do.
    Ours(UnixListener),
    /// An agent of ours did already.
    AlreadyRunning,
}

/// Connects to the agent behind a socket and makes sure that it is ours.
///
/// # Errors
/// [`ConnectError`]; with `Absent` and `Refused` an agent may be started.
pub fn connect(path: &Path, deadline: Deadline) -> Result<Connection, ConnectError> {
    let socket = connected(path, deadline)?;
    let uid = peer_uid(&socket)?;
    if uid != own_uid() {
        return Err(ConnectError::NotOurs { path: path.to_owned(), uid });
    }
    Ok(Connection::over_socket(socket, deadline)?)
}

/// Listens on a path, unless an agent of ours does already; a socket file that nobody serves is replaced.
///
/// # Errors
/// [`ListenError`], when the path is too long, not ours, or cannot be written.
pub fn listen(path: &Path) -> Result<Listening, ListenError> {
    SocketAddrUnix::new(path).map_err(|_| ListenError::TooLong(path.to_owned()))?;
    let _lock = lock(path.parent().unwrap_or(path), PATIENCE)?;
    match connect(path, Deadline::after(Instant::now(), PATIENCE)) {
        Ok(_) | Err(ConnectError::Busy) => return Ok(Listening::AlreadyRunning),
        Err(ConnectError::Absent) => {}
        Err(ConnectError::Refused) => remove_stale(path)?,
        Err(ConnectError::NotOurs { path, .. }) => {
            return Err(ListenError::NotOurs { path, why: "is served by another user" });
        }
        Err(ConnectError::TooLong(path)) => return Err(ListenError::TooLong(path)),
        Err(ConnectError::Io(error)) => return Err(error.into()),
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(Listening::Ours(listener))
}

/// Removes the socket file before the listener is dropped, so that no other agent's file is taken away.
pub fn withdraw(_listener: &UnixListener, path: &Path) {
    if let Ok(_lock) = lock(path.parent().unwrap_or(path), PATIENCE) {
        // The caller still listens, so nobody has replaced the file: `listen` replaces only what refuses.
        fs::remove_file(path).unwrap_or_default();
    }
}

/// Connects without ever blocking: a full queue is asked again until the deadline.
fn connected(path: &Path, deadline: Deadline) -> Result<OwnedFd, ConnectError> {
    let address = SocketAddrUnix::new(path).map_err(|_| ConnectError::TooLong(path.to_owned()))?;
    let socket = new_socket()?;
    loop {
        match rustix::net::connect(&socket, &address) {
            Ok(()) => return Ok(socket),
            Err(Errno::NOENT | Errno::NOTDIR) => return Err(ConnectError::Absent),
            Err(Errno::CONNREFUSED) => return Err(ConnectError::Refused),
            Err(Errno::AGAIN) if deadline.remaining(Instant::now()).is_zero() => return Err(ConnectError::Busy),
            Err(Errno::AGAIN) => std::thread::sleep(Duration::from_millis(1)),
            Err(Errno::INTR) => {}
            Err(error) => return Err(ConnectError::Io(error.into())),
        }
    }
}

#[cfg(target_os = "linux")]
fn new_socket() -> io::Result<OwnedFd> {
    use rustix::net::{SocketFlags, socket_with};
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?)
}

#[cfg(not(target_os = "linux"))]
fn new_socket() -> io::Result<OwnedFd> {
    let made = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&made, rustix::io::FdFlags::CLOEXEC)?;
    rustix::fs::fcntl_setfl(&made, rustix::fs::OFlags::NONBLOCK)?;
    Ok(made)
}

fn remove_stale(path: &Path) -> Result<(), ListenError> {
    if !fs::symlink_metadata(path)?.file_type().is_socket() {
        return Err(ListenError::NotOurs { path: path.to_owned(), why: "is there and is no socket" });
    }
    Ok(fs::remove_file(path)?)
}

/// How long the lock on the directory and the test of an old socket may take.
const PATIENCE: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::sync::Barrier;
    use std::thread;

    use super::*;
    use crate::testing::EmptyDirectory;

    fn soon() -> Deadline {
        Deadline::after(Instant::now(), Duration::from_secs(5))
    }

    fn ours(path: &Path) -> UnixListener {
        match listen(path).expect("listens") {
            Listening::Ours(listener) => listener,
            Listening::AlreadyRunning => panic!("somebody else listens"),
        }
    }

    #[test]
    fn bytes_pass_both_ways_and_a_silent_agent_ends_with_the_deadline() {
        let home = EmptyDirectory::new();
        let path = home.path().join("agent.sock");
        let listener = ours(&path);
        let agent = thread::spawn(move || {
            let (mut caller, _) = listener.accept().expect("a caller");
            let mut two = [0; 2];
            caller.read_exact(&mut two).expect("two bytes");
            caller.write_all(&two).expect("back");
            (caller, listener)
        });
        let mut connection =
            connect(&path, Deadline::after(Instant::now(), Duration::from_millis(300))).expect("there");
        connection.write_all(b"ab").expect("writes");
        let mut two = [0; 2];
        connection.read_exact(&mut two).expect("two bytes");
        assert_eq!(&two, b"ab");
        let _silent = agent.join().expect("the agent");
        assert_eq!(connection.read(&mut two).map_err(|e| e.kind()), Err(io::ErrorKind::TimedOut));
    }

    #[test]
    fn of_many_agents_at_once_exactly_one_listens() {
        const MANY: usize = 8;
        for _ in 0..20 {
            let home = EmptyDirectory::new();
            let path = home.path().join("agent.sock");
            drop(UnixListener::bind(&path).expect("a stale socket"));
            let start = Barrier::new(MANY);
            let race = || {
                start.wait();
                listen(&path).expect("one way or the other")
            };
            let all: Vec<_> = thread::scope(|scope| {
                let racers: Vec<_> = (0..MANY).map(|_| scope.spawn(race)).collect();
                racers.into_iter().map(|racer| racer.join().expect("ends")).collect()
            });
            assert_eq!(all.iter().filter(|one| matches!(one, Listening::Ours(_))).count(), 1);
            connect(&path, soon()).expect("the one listens");
        }
    }

    #[test]
    fn a_stale_socket_is_replaced_and_a_file_is_not() {
        let home = EmptyDirectory::new();
        let path = home.path().join("agent.sock");
        assert!(matches!(connect(&path, soon()), Err(ConnectError::Absent)));
        drop(UnixListener::bind(&path).expect("binds"));
        assert!(matches!(connect(&path, soon()), Err(ConnectError::Refused)));
        let listener = ours(&path);
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
        withdraw(&listener, &path);
        assert!(matches!(connect(&path, soon()), Err(ConnectError::Absent)));
        crate::files::write_private(&path, b"mine").expect("writes");
        assert!(matches!(listen(&path), Err(ListenError::NotOurs { .. })));
        assert_eq!(crate::files::read_bounded(&path, 9).expect("reads").as_deref(), Some(&b"mine"[..]));
    }

    #[test]
    fn a_path_that_is_too_long_is_told() {
        let home = EmptyDirectory::new();
        let path = home.path().join("x".repeat(120));
        assert!(matches!(connect(&path, soon()), Err(ConnectError::TooLong(_))));
        assert!(matches!(listen(&path), Err(ListenError::TooLong(_))));
    }

    #[test]
    fn an_agent_that_takes_nobody_ends_with_the_deadline() {
        let home = EmptyDirectory::new();
        let path = home.path().join("agent.sock");
        let listener = ours(&path);
        let waiting: Vec<_> =
            std::iter::from_fn(|| connect(&path, Deadline::after(Instant::now(), Duration::ZERO)).ok())
                .take(10_000)
                .collect();
        let limit = Deadline::after(Instant::now(), Duration::from_millis(20));
        assert!(matches!(connect(&path, limit), Err(ConnectError::Busy)), "{} wait", waiting.len());
        assert!(matches!(listen(&path), Ok(Listening::AlreadyRunning)));
        drop(listener);
    }
}
