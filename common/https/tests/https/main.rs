//! The faults that a network has, played by a small TLS server of our own: a real one cannot be made to do most of them.
//! Authorities and certificates are made by `client-identity` in memory; each server listens on a port of its own.
//! No test waits for a clock: deadlines are tens of milliseconds where one has to pass.

#[cfg(test)]
mod kit;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod memory;
#[cfg(test)]
mod proxies;
#[cfg(test)]
mod send;
#[cfg(test)]
mod trust;
#[cfg(test)]
mod upstream;
