//! The agent's socket: who listens on it, and who is on the other end.
//! A path and a deadline come in, a stream whose peer the kernel vouches for goes out.
//! Reads and writes nothing itself. Unix sockets, or a named pipe on Windows, behind the same names.

use std::io;
use std::path::PathBuf;

#[cfg(unix)]
mod connection;
#[cfg(unix)]
mod peer;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use connection::Connection;
#[cfg(unix)]
pub use peer::{own_uid, peer_uid};
#[cfg(unix)]
pub use unix::{Listening, connect, listen, withdraw};
#[cfg(windows)]
pub use windows::{Connection, Listening, connect, listen, own_uid, pipe_options, withdraw};

/// Says why there is no connection to an agent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// Nothing is there: start an agent.
    #[error("no agent is running")]
    Absent,
    /// A socket file is there and nobody listens: start an agent, which replaces it.
    #[error("the agent that made the socket is gone")]
    Refused,
    /// Somebody else listens: do not speak to them.
    #[error("the socket {path} is served by another user (number {uid})")]
    NotOurs {
        /// Which socket.
        path: PathBuf,
        /// Who listens.
        uid: u32,
    },
    /// The system cannot name a socket by so long a path.
    #[error("the socket's path {0} is too long for this system")]
    TooLong(PathBuf),
    /// The agent takes no connection in time.
    #[error("the agent takes no connection")]
    Busy,
    /// Anything else that the system says.
    #[error("the socket cannot be used")]
    Io(#[from] io::Error),
}

/// Says why an agent cannot listen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// The system cannot name a socket by so long a path.
    #[error("the socket's path {0} is too long for this system")]
    TooLong(PathBuf),
    /// Somebody else listens there, or the file is no socket.
    #[error("the path {path} {why}")]
    NotOurs {
        /// Which path.
        path: PathBuf,
        /// What is wrong.
        why: &'static str,
    },
    /// Anything else that the system says.
    #[error("the socket cannot be made")]
    Io(#[from] io::Error),
}
