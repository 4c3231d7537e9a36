//! How many files and sockets this process may have open at once.
//! Nothing comes in, the limit goes out.
//! Changes nothing. `getrlimit(2)`.

/// Gives the limit (`ulimit -n`); `None` where there is none.
#[cfg(unix)]
#[must_use]
pub fn most_open_files() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

/// Gives the limit; Windows has none for handles that matters here.
#[cfg(not(unix))]
#[must_use]
pub fn most_open_files() -> Option<u64> {
    None
}
