//! The agent's socket, asynchronously: who connects, and whether they are ours.
//! A path comes in, streams of callers with our own user number go out.
//! Trusts the kernel alone about who is there.

#[cfg(unix)]
pub(crate) use unix::Listener;
#[cfg(windows)]
pub(crate) use windows::Listener;

#[cfg(unix)]
mod unix {
    use std::io;
    use std::path::Path;

    use credmint_local_machine::{ListenError, Listening, listen, own_uid, peer_uid, withdraw};
    use tokio::net::{UnixListener, UnixStream};

    /// Listens on the one socket.
    pub(crate) struct Listener(UnixListener);

    impl Listener {
        /// Listens on a path; `None` when an agent of ours does already.
        pub(crate) fn on(path: &Path) -> Result<Option<Self>, ListenError> {
            let Listening::Ours(listener) = listen(path)? else { return Ok(None) };
            listener.set_nonblocking(true)?;
            Ok(Some(Self(UnixListener::from_std(listener)?)))
        }

        /// Waits for the next caller of ours, with its process id where the kernel tells it; a stranger's connection is an error.
        pub(crate) async fn accept(&self) -> io::Result<(UnixStream, Option<u32>)> {
            let (stream, _) = self.0.accept().await?;
            if peer_uid(&stream)? != own_uid() {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            let caller = stream.peer_cred()?.pid().and_then(|id| u32::try_from(id).ok());
            Ok((stream, caller))
        }

        /// Takes the socket's name away, while still listening.
        pub(crate) fn withdraw(self, path: &Path) {
            if let Ok(listener) = self.0.into_std() {
                withdraw(&listener, path);
            }
        }
    }
}

#[cfg(windows)]
mod windows {
    use std::io;
    use std::path::Path;

    use credmint_local_machine::{ListenError, pipe_options};
    use interprocess::local_socket::tokio::{Listener as Pipe, Stream};
    use interprocess::local_socket::traits::tokio::Listener as _;

    /// Listens on the one pipe, which only its owner may open.
    pub(crate) struct Listener(Pipe);

    impl Listener {
        /// Listens on a pipe; `None` when an agent of ours does already.
        pub(crate) fn on(path: &Path) -> Result<Option<Self>, ListenError> {
            match pipe_options(path)?.create_tokio() {
                Ok(pipe) => Ok(Some(Self(pipe))),
                Err(error) if matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied) => {
                    Ok(None)
                }
                Err(error) => Err(error.into()),
            }
        }

        /// Waits for the next caller.
        pub(crate) async fn accept(&self) -> io::Result<(Stream, Option<u32>)> {
            Ok((self.0.accept().await?, None))
        }

        /// Does nothing: a pipe's name goes with its last handle.
        pub(crate) fn withdraw(self, _path: &Path) {}
    }
}
