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
