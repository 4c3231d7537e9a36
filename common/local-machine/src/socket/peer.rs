//! Who is on the other end of a Unix socket, as the kernel knows it.
//! A connected socket comes in, a user number goes out.
//! Believes nothing that the peer says. `unix(7)` SO_PEERCRED; `getpeereid(3)`.

use std::io;
use std::os::fd::AsFd;

/// Gives the user number of the process that connected or, seen from there, that listens.
///
/// # Errors
/// What the system says when the socket is not connected.
#[cfg(target_os = "linux")]
pub fn peer_uid(socket: impl AsFd) -> io::Result<u32> {
    Ok(rustix::net::sockopt::socket_peercred(socket)?.uid.as_raw())
}

/// Gives the user number of the process that connected or, seen from there, that listens.
///
/// # Errors
/// What the system says when the socket is not connected.
#[cfg(not(target_os = "linux"))]
pub fn peer_uid(socket: impl AsFd) -> io::Result<u32> {
    Ok(nix::unistd::getpeereid(socket)?.0.as_raw())
}

/// Gives our own user number.
#[must_use]
pub fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}
